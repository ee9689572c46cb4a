//! Blocks of the allocator under measurement, each with a word at its start that says whose it is.

use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

use crate::said::die;

/// Bytes of the word that each block begins with; no block is shorter.
pub(crate) const WORD: usize = 8;

/// Bytes of the smallest page.
const PAGE: usize = 4096;

/// Bytes of a block whose pages are touched; more is asked for in advance and filled in part.
const TOUCHED_MAX: usize = 64 << 20;

/// An odd number whose multiples have little in common.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Bytes of the largest block that [`Nothing`] hands out.
const NOTHING_MAX: usize = 2048;

/// What `dladdr` says of an address.
#[repr(C)]
struct Symbol {
    file: *const c_char,
    base: *mut c_void,
    name: *const c_char,
    address: *mut c_void,
}

unsafe extern "C" {
    fn malloc(len: usize) -> *mut c_void;
    fn free(block: *mut c_void);
    fn calloc(count: usize, len: usize) -> *mut c_void;
    fn realloc(block: *mut c_void, len: usize) -> *mut c_void;
    fn aligned_alloc(align: usize, len: usize) -> *mut c_void;
    fn mmap(
        at: *mut c_void,
        len: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn dladdr(address: *const c_void, found: *mut Symbol) -> c_int;
}

/// Where blocks come from.
pub(crate) trait Source: Sized {
    /// Whether what is written to a block stays there.
    const KEEPS: bool;

    /// Memory of at least so many bytes, or null.
    fn allocate(len: usize) -> *mut u8;

    /// Takes a block back.
    ///
    /// # Safety
    /// It came from this source, and nobody uses it any more.
    unsafe fn release(block: *mut u8);
}

/// The allocator of this process, whichever it is.
pub(crate) struct Process;

impl Source for Process {
    const KEEPS: bool = true;

    #[inline(always)]
    fn allocate(len: usize) -> *mut u8 {
        // SAFETY: any length may be asked for.
        unsafe { malloc(len) }.cast()
    }

    #[inline(always)]
    unsafe fn release(block: *mut u8) {
        // SAFETY: it came from malloc, and the caller gives it away.
        unsafe { free(block.cast()) }
    }
}

/// An allocator that does nothing: every block of a thread is the same. What remains of a work with
/// it is the work's own.
pub(crate) struct Nothing;

impl Source for Nothing {
    const KEEPS: bool = false;

    #[inline(never)]
    fn allocate(len: usize) -> *mut u8 {
        type Area = UnsafeCell<[u8; NOTHING_MAX]>;
        thread_local! {
            static AREA: Area = const { Area::new([0; NOTHING_MAX]) };
        }
        if len > NOTHING_MAX {
            return ptr::null_mut();
        }
        AREA.with(|area| area.get().cast())
    }

    #[inline(never)]
    unsafe fn release(block: *mut u8) {
        std::hint::black_box(block);
    }
}

/// A block, and its length as it was asked for.
pub(crate) struct Block<S: Source = Process> {
    start: NonNull<u8>,
    len: usize,
    source: PhantomData<S>,
}

// SAFETY: memory that one owner at a time reaches; an allocator takes it back from any thread.
unsafe impl Send for Block<Process> {}

impl<S: Source> Block<S> {
    /// A block of at least [`WORD`] bytes with this word at its start. Without memory the program
    /// ends.
    #[inline(always)]
    pub(crate) fn new(len: usize, word: u64) -> Self {
        let len = len.max(WORD);
        let Some(start) = NonNull::new(S::allocate(len)) else {
            die(&format!("no memory for {len} bytes"));
        };
        // SAFETY: there are at least so many bytes, of this program alone.
        unsafe { start.cast::<u64>().write_unaligned(word) };
        Self {
            start,
            len,
            source: PhantomData,
        }
    }

    /// Its length.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Gives it back, if the word is still at its start; otherwise the program ends.
    #[inline(always)]
    pub(crate) fn free(self, word: u64) {
        // SAFETY: the word was written when the block was made.
        let found = unsafe { self.start.cast::<u64>().read_unaligned() };
        if S::KEEPS && found != word {
            die(&format!("a block of {} bytes has lost its word", self.len));
        }
        // SAFETY: it came from there, and this was its owner.
        unsafe { S::release(self.start.as_ptr()) };
    }
}

impl Block {
    /// As [`Block::new`], at an address that is a multiple of a power of two; otherwise the program
    /// ends.
    pub(crate) fn aligned(len: usize, align: usize, word: u64) -> Self {
        let len = len.max(WORD);
        // SAFETY: any length and alignment may be asked for.
        let block = Self::of(unsafe { aligned_alloc(align, len) }, len, word);
        if block.start.addr().get() % align != 0 {
            die(&format!("a block of {len} bytes is not aligned to {align}"));
        }
        block
    }

    /// As [`Block::new`], with zeros; where its first or last word is none the program ends.
    pub(crate) fn zeroed(len: usize, word: u64) -> Self {
        let len = len.max(WORD);
        // SAFETY: any length may be asked for.
        let found = unsafe { calloc(1, len) };
        if !found.is_null() {
            for place in [0, len - WORD] {
                // SAFETY: a place inside the block.
                let at = unsafe { found.byte_add(place) };
                // SAFETY: a whole word, which the allocator has written.
                if unsafe { at.cast::<u64>().read_unaligned() } != 0 {
                    die(&format!(
                        "a block of {len} bytes from calloc is not of zeros"
                    ));
                }
            }
        }
        Self::of(found, len, word)
    }

    /// Another length, and another word; if the old one was still there, otherwise the program
    /// ends.
    pub(crate) fn resized(self, len: usize, word: u64, next: u64) -> Self {
        let len = len.max(WORD);
        // SAFETY: it came from malloc, and this was its owner.
        let found = unsafe { realloc(self.start.as_ptr().cast(), len) };
        if !found.is_null() {
            // SAFETY: the old block's first word, which was written when that was made.
            let kept = unsafe { found.cast::<u64>().read_unaligned() };
            if kept != word {
                die(&format!(
                    "a block of {} bytes lost its word as it was resized",
                    self.len
                ));
            }
        }
        Self::of(found, len, next)
    }

    fn of(found: *mut c_void, len: usize, word: u64) -> Self {
        let Some(start) = NonNull::new(found.cast()) else {
            die(&format!("no memory for {len} bytes"));
        };
        // SAFETY: there are at least so many bytes, of this program alone.
        unsafe { start.cast::<u64>().write_unaligned(word) };
        Self {
            start,
            len,
            source: PhantomData,
        }
    }
}

impl<S: Source> Block<S> {
    /// Writes to each page of it, as far as programs as a rule fill what they ask for at once.
    pub(crate) fn touch(&mut self) {
        for place in (WORD..self.len.min(TOUCHED_MAX)).step_by(PAGE) {
            // SAFETY: a place inside the block.
            let byte = unsafe { self.start.add(place) };
            // SAFETY: the block's owner is borrowed.
            unsafe { byte.write(1) };
        }
    }
}

/// A block with a word that no other block has.
pub(crate) struct Marked {
    block: Block,
    word: u64,
}

impl Marked {
    /// A block of at least [`WORD`] bytes.
    pub(crate) fn new(len: usize) -> Self {
        thread_local! {
            static NEXT: Cell<u64> = const { Cell::new(0) };
        }
        let word = NEXT.with(|next| {
            let number = next.replace(next.get() + 1);
            number.wrapping_mul(SPREAD) ^ ptr::from_ref(next).addr() as u64
        });
        let block = Block::new(len, word);
        Self { block, word }
    }

    /// Its length.
    pub(crate) fn len(&self) -> usize {
        self.block.len()
    }

    /// As [`Block::touch`].
    pub(crate) fn touch(&mut self) {
        self.block.touch();
    }

    /// As [`Block::free`].
    pub(crate) fn free(self) {
        self.block.free(self.word);
    }
}

/// A block of which every byte is written from the start.
pub(crate) struct Bytes(Block);

impl Bytes {
    /// So many bytes, at least [`WORD`], all of them this.
    pub(crate) fn new(len: usize, byte: u8) -> Self {
        let block = Block::new(len, 0);
        // SAFETY: the block has so many bytes, and nobody else has it.
        unsafe { block.start.as_ptr().write_bytes(byte, block.len) };
        Self(block)
    }

    /// Gives it back.
    pub(crate) fn free(self) {
        // SAFETY: it came from there, and this was its owner.
        unsafe { Process::release(self.0.start.as_ptr()) };
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: so many bytes, all written when it was made.
        unsafe { slice::from_raw_parts(self.0.start.as_ptr(), self.0.len) }
    }
}

impl DerefMut for Bytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the owner is borrowed for it.
        unsafe { slice::from_raw_parts_mut(self.0.start.as_ptr(), self.0.len) }
    }
}

/// What stands on standard input, if that is a file; not a block of any allocator.
pub(crate) fn input() -> &'static [u8] {
    let len = fs::metadata("/proc/self/fd/0").map_or(0, |data| data.len() as usize);
    if len == 0 {
        return &[];
    }
    const READ: c_int = 1;
    const PRIVATE: c_int = 2;
    // SAFETY: a new mapping anywhere.
    let at = unsafe { mmap(ptr::null_mut(), len, READ, PRIVATE, 0, 0) };
    if at.addr() == usize::MAX {
        die("standard input is no file that can be mapped");
    }
    // SAFETY: so many bytes that stay, and that nobody writes.
    unsafe { slice::from_raw_parts(at.cast(), len) }
}

/// The file that this process has its `malloc` from.
pub(crate) fn origin() -> String {
    // SAFETY: a structure of three pointers and one more, which may be null.
    let mut symbol: Symbol = unsafe { mem::zeroed() };
    // SAFETY: an address, and a structure for what is said of it.
    let found = unsafe { dladdr(malloc as *const c_void, &raw mut symbol) };
    if found == 0 || symbol.file.is_null() {
        die("the loader does not know where malloc is");
    }
    // SAFETY: the loader's own text, which stays.
    let file = unsafe { CStr::from_ptr(symbol.file) };
    file.to_string_lossy().into_owned()
}
