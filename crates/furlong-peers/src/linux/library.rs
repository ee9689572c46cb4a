//! Loads the library: the only file that turns names into functions.
//!
//! Everything that the library exports is written in `crates/furlong-peers/linux` for callers
//! without `unsafe`. Objects live until their owner drops them, no function keeps a borrowed
//! argument, and functions that threads may share take locks. The file's name is a hash of those
//! sources, so a library with other functions is not found.
#![expect(unsafe_code, reason = "loads a library and names its functions")]

use std::ffi::{CString, c_int, c_void};
use std::mem::transmute_copy;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use furlong_lab::error::Error;
use furlong_lab::model::Failure;

use super::place;

/// A tree of areas in the library; only its address is used here.
#[repr(C)]
pub(super) struct RawAreas([u8; 0]);

/// A red-black tree with its nodes, likewise.
#[repr(C)]
pub(super) struct RawNodes([u8; 0]);

/// A domain of device addresses, likewise.
#[repr(C)]
pub(super) struct RawDomain([u8; 0]);

/// A reserved range of a domain, likewise.
#[repr(C)]
pub(super) struct RawPages([u8; 0]);

/// Selects the areas that a copy keeps, by their numbers.
pub(super) type Keeps<'a> = &'a dyn Fn(u32) -> bool;

extern "C" fn keeps(context: &Keeps<'_>, number: u32) -> bool {
    context(number)
}

type Kept = extern "C" fn(&Keeps<'_>, u32) -> bool;

/// Declares the functions of one of the library's files, one a field, and looks them up. A
/// function's name is the file's prefix and the field's name.
macro_rules! functions {
    ($(#[$about:meta])* $table:ident, $prefix:literal {
        $($visible:vis $field:ident: $function:ty,)*
    }) => {
        $(#[$about])*
        pub(super) struct $table {
            $($visible $field: $function,)*
        }

        impl $table {
            fn of(handle: &Handle) -> Result<Self, String> {
                Ok(Self {
                    $($field: {
                        // SAFETY: the library is compiled from the sources that this binary was
                        // compiled with, in which the function is declared with the field's type.
                        unsafe { handle.function(concat!($prefix, stringify!($field))) }?
                    },)*
                })
            }
        }
    };
}

functions! {
    /// `kernel.c`.
    Begin, "furlong_linux_" {
        begin: extern "C" fn() -> c_int,
    }
}

functions! {
    /// `maple.c`.
    Maple, "furlong_linux_maple_" {
        pub(super) new: extern "C" fn(bool) -> Option<&'static RawAreas>,
        pub(super) drop: extern "C" fn(&RawAreas),
        pub(super) store: extern "C" fn(&RawAreas, u64, u64, u32) -> bool,
        pub(super) erase: extern "C" fn(&RawAreas, u64) -> u64,
        pub(super) find: extern "C" fn(&RawAreas, u64) -> u64,
        look_up: unsafe extern "C" fn(&RawAreas, *const u64, usize) -> u64,
        pub(super) sum: extern "C" fn(&RawAreas) -> u64,
        duplicate: extern "C" fn(&RawAreas, Option<Kept>, &Keeps<'_>) -> Option<&'static RawAreas>,
        pub(super) lock: extern "C" fn(&RawAreas),
        pub(super) unlock: extern "C" fn(&RawAreas),
        pub(super) gap: extern "C" fn(&RawAreas, u64, u64, u64, bool) -> u64,
    }
}

functions! {
    /// `rbtree.c`.
    Rbtree, "furlong_linux_rbtree_" {
        pub(super) new: extern "C" fn(usize, bool) -> Option<&'static RawNodes>,
        pub(super) drop: extern "C" fn(&RawNodes),
        pub(super) place: extern "C" fn(&RawNodes, usize, u64, u64),
        pub(super) insert: extern "C" fn(&RawNodes, usize),
        pub(super) remove: extern "C" fn(&RawNodes, usize),
        pub(super) find: extern "C" fn(&RawNodes, u64) -> usize,
        pub(super) clear: extern "C" fn(&RawNodes),
        pub(super) copy: extern "C" fn(&RawNodes, &RawNodes),
        list: unsafe extern "C" fn(&RawNodes, *mut u32, usize) -> usize,
    }
}

functions! {
    /// `iova.c`.
    Iova, "furlong_linux_iova_" {
        pub(super) new: extern "C" fn(u64, u64, bool) -> Option<&'static RawDomain>,
        pub(super) drop: extern "C" fn(&RawDomain),
        pub(super) reserve_at: extern "C" fn(&RawDomain, u64, u64) -> Option<&'static RawPages>,
        pub(super) reserve: extern "C" fn(&RawDomain, u64, u64, bool) -> Option<&'static RawPages>,
        pub(super) first: extern "C" fn(&RawPages) -> u64,
        pub(super) release: extern "C" fn(&RawDomain, &RawPages),
        pub(super) reserve_fast: extern "C" fn(&RawDomain, u32, u64) -> u64,
        pub(super) release_fast: extern "C" fn(&RawDomain, u32, u64, u64),
        list: unsafe extern "C" fn(&RawDomain, *mut [u64; 2], usize) -> usize,
    }
}

impl Maple {
    /// The sum, over these addresses, of the areas' numbers plus 1.
    #[inline]
    pub(super) fn look_up(&self, areas: &RawAreas, addresses: &[u64]) -> u64 {
        // SAFETY: the pointer leads to as many words, and the function only reads them.
        unsafe { (self.look_up)(areas, addresses.as_ptr(), addresses.len()) }
    }

    /// A copy of all areas.
    pub(super) fn duplicate(&self, areas: &RawAreas) -> Option<&'static RawAreas> {
        let all: Keeps<'_> = &|_| true;
        (self.duplicate)(areas, None, &all)
    }

    /// A copy of the areas that the closure selects.
    pub(super) fn duplicate_part(
        &self,
        areas: &RawAreas,
        kept: Keeps<'_>,
    ) -> Option<&'static RawAreas> {
        (self.duplicate)(areas, Some(keeps), &kept)
    }
}

impl Rbtree {
    /// The linked nodes in order; `None` if the tree is broken.
    pub(super) fn list(&self, nodes: &RawNodes, count: usize) -> Option<Vec<u32>> {
        let mut listed = vec![0; count];
        // SAFETY: it writes at most this many words at that address.
        let found = unsafe { (self.list)(nodes, listed.as_mut_ptr(), count) };
        listed.truncate(found);
        (found <= count).then_some(listed)
    }
}

impl Iova {
    /// First and last page of each reserved range, ascending. Empties the magazines first.
    pub(super) fn list(&self, domain: &RawDomain) -> Vec<[u64; 2]> {
        let mut listed = Vec::new();
        loop {
            // SAFETY: it writes at most this many pairs at that address.
            let found = unsafe { (self.list)(domain, listed.as_mut_ptr(), listed.len()) };
            if found <= listed.len() {
                listed.truncate(found);
                return listed;
            }
            listed.resize(found, [0; 2]);
        }
    }
}

/// All functions of the library.
pub(super) struct Library {
    pub(super) maple: Maple,
    pub(super) rbtree: Rbtree,
    pub(super) iova: Iova,
}

/// A library that is never closed.
struct Handle(*mut c_void);

impl Handle {
    fn open(path: &Path) -> Result<Self, String> {
        let name = CString::new(path.as_os_str().as_bytes());
        let name = name.map_err(|_| "a path has no zero byte".to_owned())?;
        // SAFETY: the name ends with a zero, and no code runs when the library is loaded.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(format!("{} cannot be loaded", path.display()));
        }
        Ok(Self(handle))
    }

    /// The function of that name.
    ///
    /// # Safety
    /// `F` is the type of a pointer to that function.
    unsafe fn function<F: Copy>(&self, name: &str) -> Result<F, String> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let symbol = CString::new(name).expect("a name in the code has no zero byte");
        // SAFETY: the library is loaded, and the name ends with a zero.
        let found = unsafe { libc::dlsym(self.0, symbol.as_ptr()) };
        if found.is_null() {
            return Err(format!("the library has no {name}"));
        }
        // SAFETY: `F` has the size of a pointer, and the caller promises that it is the function's
        // type.
        Ok(unsafe { transmute_copy::<*mut c_void, F>(&found) })
    }
}

impl Library {
    fn load(path: &Path) -> Result<Self, String> {
        let handle = Handle::open(path)?;
        let begin = Begin::of(&handle)?;
        let library = Self {
            maple: Maple::of(&handle)?,
            rbtree: Rbtree::of(&handle)?,
            iova: Iova::of(&handle)?,
        };
        match (begin.begin)() {
            0 => Ok(library),
            error => Err(format!("the library does not begin: error {error}")),
        }
    }
}

/// The library for this binary, loaded once.
///
/// # Errors
/// If it does not exist, or cannot be loaded.
pub(super) fn library() -> Result<&'static Library, Failure> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    let loaded = LIBRARY.get_or_init(|| match place::library() {
        Some(path) => Library::load(&path),
        None => Err("its location is unknown".to_owned()),
    });
    let missing = |why: &String| Failure(format!("{why}: `furlong peers linux` builds it"));
    loaded.as_ref().map_err(missing)
}

/// True if the library for this binary exists.
#[must_use]
pub fn is_there() -> bool {
    place::library().is_some_and(|path| path.is_file())
}

/// Tests that a library that was just built can be loaded.
///
/// # Errors
/// The reason that it cannot.
pub(super) fn try_out(path: &Path) -> Result<(), Error> {
    let loaded = Library::load(path).map(drop);
    loaded.map_err(|why| Error::failed(format!("the built library does not work: {why}")))
}
