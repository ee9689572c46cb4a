//! Names and places of the process's libraries, and `errno`.

use core::ffi::{CStr, c_int, c_void};
use core::ops::Range;
use core::slice;

/// The function or variable of a name that all libraries of the process see; null if there is none.
pub(crate) fn found(name: &CStr) -> *mut c_void {
    // SAFETY: a name that ends with a zero.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// The addresses of the library, or the program, that has a function; empty if none has it. Unlike
/// `dladdr`, this does not look through the library's symbols.
pub(crate) fn library_of(function: *const c_void) -> Range<usize> {
    let mut search = Search {
        address: function.addr(),
        found: 0..0,
    };
    // SAFETY: a function that takes this argument.
    unsafe { libc::dl_iterate_phdr(Some(looked_at), (&raw mut search).cast()) };
    search.found
}

struct Search {
    address: usize,
    found: Range<usize>,
}

/// Looks at a library; ends the search if it is the one.
unsafe extern "C" fn looked_at(
    library: *mut libc::dl_phdr_info,
    _: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: `library_of` has passed it.
    let search = unsafe { &mut *search.cast::<Search>() };
    // SAFETY: the loader's record.
    let library = unsafe { &*library };
    // SAFETY: its array of so many headers.
    let headers = unsafe { slice::from_raw_parts(library.dlpi_phdr, library.dlpi_phnum.into()) };
    let loaded = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD);
    let (first, end) = loaded.fold((usize::MAX, 0), |(first, end): (usize, usize), header| {
        let start = (library.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
        (first.min(start), end.max(start + header.p_memsz as usize))
    });
    let is_it = (first..end).contains(&search.address);
    if is_it {
        search.found = first..end;
    }
    c_int::from(is_it)
}

/// Runs a closure, and restores this thread's `errno` after it.
pub(crate) fn keeping_errno<T>(run: impl FnOnce() -> T) -> T {
    // SAFETY: it always returns this thread's errno.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { errno.read() };
    let done = run();
    // SAFETY: as above.
    unsafe { errno.write(before) };
    done
}
