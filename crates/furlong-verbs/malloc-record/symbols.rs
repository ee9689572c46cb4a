//! The functions of the C library that allocate, map memory or end the process.
//!
//! Blocks come from the arena while calls are recorded, and otherwise from the C library.

use core::ffi::{c_char, c_int, c_long, c_void};
use core::{mem, ptr};

use crate::log::{self, Kind, put};
use crate::system::{AT_FDCWD, EXIT_GROUP, MMAP, MUNMAP, NEWFSTATAT, dlsym, syscall};
use crate::{arena, sample};

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn getpagesize() -> c_int;
    fn dladdr(address: *const c_void, found: *mut [*const c_char; 4]) -> c_int;
}

/// Handle of the libraries behind this one.
const RTLD_NEXT: *mut c_void = ptr::without_provenance_mut(usize::MAX);

const EINVAL: c_int = 22;
const ENOMEM: c_int = 12;

/// Device and number of the file whose `malloc` would serve this program without the recorder.
pub(crate) fn allocator() -> Option<[u64; 2]> {
    // SAFETY: a name that ends with a zero.
    let malloc = unsafe { dlsym(RTLD_NEXT, c"malloc".as_ptr()) };
    let mut symbol = [ptr::null(); 4];
    // SAFETY: a place for the four pointers of the answer, whose first one names the file.
    let found = unsafe { dladdr(malloc, &raw mut symbol) };
    // Device and number are the first two words of the answer, which has at most 18.
    let mut file = [0_u64; 32];
    let is_told = found != 0
        // SAFETY: a name that ends with a zero, and a place for the answer.
        && unsafe { syscall(NEWFSTATAT, AT_FDCWD, symbol[0], file.as_mut_ptr(), 0) } == 0;
    is_told.then_some([file[0], file[1]])
}

/// Records an allocation if it succeeded.
fn allocated(kind: Kind, size: usize, align: usize, block: *mut c_void) -> *mut c_void {
    if !block.is_null() {
        put(kind, size, align, block, ptr::null_mut());
    }
    block
}

/// A block of the arena and whether it holds zeros; null if the C library has to serve the call.
fn served(size: usize, align: usize) -> (*mut c_void, bool) {
    if log::is_on() {
        arena::allocate(size, align)
    } else {
        (ptr::null_mut(), false)
    }
}

fn unrecorded(align: usize, size: usize) -> *mut c_void {
    let (block, _) = served(size, align);
    if !block.is_null() {
        return block;
    }
    if align <= 16 {
        // SAFETY: malloc accepts any size.
        return unsafe { __libc_malloc(size) };
    }
    // SAFETY: memalign accepts any sizes.
    unsafe { __libc_memalign(align, size) }
}

fn aligned(align: usize, size: usize) -> *mut c_void {
    allocated(Kind::Allocated, size, align, unrecorded(align, size))
}

/// Replaces the C library's function.
// SAFETY: the library exists to take this name over.
#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    allocated(Kind::Allocated, size, 1, unrecorded(1, size))
}

/// Replaces the C library's function.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    let whole = count.checked_mul(size);
    let (block, is_zero) = whole.map_or((ptr::null_mut(), false), |len| served(len, 1));
    let block = if block.is_null() {
        // SAFETY: calloc accepts any sizes.
        unsafe { __libc_calloc(count, size) }
    } else {
        if !is_zero {
            // SAFETY: a new block of this length.
            unsafe { ptr::write_bytes(block.cast::<u8>(), 0, count * size) };
        }
        block
    };
    allocated(Kind::Zeroed, count.wrapping_mul(size), 1, block)
}

/// Gives a block back to whoever it came from.
///
/// # Safety
/// The block came from here and was not freed.
unsafe fn release(block: *mut c_void) {
    if arena::owns(block) {
        arena::free(block);
    } else {
        // SAFETY: the caller's promise.
        unsafe { __libc_free(block) };
    }
}

/// Replaces the C library's function.
///
/// # Safety
/// The block came from here and was not freed.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    if !block.is_null() {
        sample::report(block);
        put(Kind::Freed, 0, 1, ptr::null_mut(), block);
        // SAFETY: the caller's promise.
        unsafe { release(block) };
    }
}

/// Replaces the C library's function.
///
/// # Safety
/// As for [`free`].
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return malloc(size);
    }
    if size == 0 {
        // SAFETY: the caller's promise; the C library also frees the block at size 0.
        unsafe { free(block) };
        return ptr::null_mut();
    }
    sample::report(block);
    put(Kind::Resizing, 0, 1, ptr::null_mut(), block);
    // SAFETY: the caller's promise.
    let new = unsafe { resized(block, size) };
    put(Kind::Resized, size, 1, new, block);
    new
}

/// # Safety
/// As for [`free`].
unsafe fn resized(block: *mut c_void, size: usize) -> *mut c_void {
    if !arena::owns(block) {
        // SAFETY: the caller's promise.
        return unsafe { __libc_realloc(block, size) };
    }
    if arena::resize(block, size) {
        return block;
    }
    let new = unrecorded(1, size);
    if !new.is_null() {
        arena::copy(block, new, arena::bytes(block).min(size));
        // SAFETY: the caller's promise.
        unsafe { release(block) };
    }
    new
}

/// Replaces the C library's function.
///
/// # Safety
/// As for [`free`], or null.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    if block.is_null() {
        return 0;
    }
    if arena::owns(block) {
        return arena::bytes(block);
    }
    // SAFETY: a name that ends with a zero.
    let own = unsafe { dlsym(RTLD_NEXT, c"malloc_usable_size".as_ptr()) };
    // SAFETY: the C library's function of this type, or null.
    let own: Option<unsafe extern "C" fn(*mut c_void) -> usize> = unsafe { mem::transmute(own) };
    // SAFETY: the caller's promise.
    own.map_or(0, |own| unsafe { own(block) })
}

/// Replaces the C library's function.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
extern "C" fn mmap(
    at: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: c_long,
) -> *mut c_void {
    sample::mapping(len);
    // SAFETY: the kernel checks everything.
    let at = unsafe { syscall(MMAP, at, len, protection, flags, file, offset) };
    ptr::with_exposed_provenance_mut(at as usize)
}

/// Replaces the C library's function.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
extern "C" fn mmap64(
    at: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: c_long,
) -> *mut c_void {
    mmap(at, len, protection, flags, file, offset)
}

/// Replaces the C library's function.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
extern "C" fn munmap(at: *mut c_void, len: usize) -> c_int {
    sample::mapping(len);
    // SAFETY: the kernel checks everything.
    let done = unsafe { syscall(MUNMAP, at, len) };
    done as c_int
}

/// Replaces the C library's function.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
extern "C" fn _exit(code: c_int) -> ! {
    ended();
    loop {
        // SAFETY: no contract.
        unsafe { syscall(EXIT_GROUP, code) };
    }
}

/// Replaces the C library's function.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
extern "C" fn _Exit(code: c_int) -> ! {
    _exit(code)
}

extern "C" fn ended() {
    if log::is_known() {
        sample::ended();
    }
}

/// Called by `exit`, after the program's own functions.
#[used]
#[unsafe(link_section = ".fini_array")]
// SAFETY: an entry of this section is a function without arguments.
static ENDED: extern "C" fn() = ended;

/// Replaces the C library's function.
///
/// # Safety
/// `out` points to a place for a pointer.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || align < size_of::<usize>() {
        return EINVAL;
    }
    let block = aligned(align, size);
    if block.is_null() {
        return ENOMEM;
    }
    // SAFETY: the caller's promise.
    unsafe { out.write(block) };
    0
}

/// Replaces the C library's function.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    aligned(align, size)
}

/// Replaces the C library's function.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    aligned(align, size)
}

/// Replaces the C library's function.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
extern "C" fn valloc(size: usize) -> *mut c_void {
    // SAFETY: no contract.
    let page = unsafe { getpagesize() } as usize;
    aligned(page, size)
}

/// Replaces the C library's function.
// SAFETY: as for malloc.
#[unsafe(no_mangle)]
extern "C" fn pvalloc(size: usize) -> *mut c_void {
    // SAFETY: no contract.
    let page = unsafe { getpagesize() } as usize;
    aligned(
        page,
        size.checked_next_multiple_of(page).unwrap_or(usize::MAX),
    )
}
