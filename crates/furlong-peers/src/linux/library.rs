//! Loads the library: the one place where names become functions.
//!
//! All that the library exports is written in `crates/furlong-peers/linux` for callers that need no
//! `unsafe`: what is made stays until its owner drops it, no function keeps what it is lent, and
//! locks are taken where threads may meet. Its file's name is a hash of those sources, so that a
//! library of other functions is not found.
#![expect(unsafe_code, reason = "loads a library and names its functions")]

use std::ffi::{CStr, CString, c_int, c_void};
use std::mem::transmute_copy;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use furlong_lab::error::Error;
use furlong_lab::experiments::Failure;

use super::place;

/// A tree of areas, which is the library's: only its address means anything here.
#[repr(C)]
pub(super) struct RawAreas([u8; 0]);

/// Likewise a red-black tree with its nodes.
#[repr(C)]
pub(super) struct RawNodes([u8; 0]);

/// Likewise a domain of device addresses.
#[repr(C)]
pub(super) struct RawDomain([u8; 0]);

/// Likewise what is reserved in one.
#[repr(C)]
pub(super) struct RawPages([u8; 0]);

/// Which areas a copy keeps, by their numbers.
pub(super) type Keeps<'a> = &'a dyn Fn(u32) -> bool;

extern "C" fn keeps(context: &Keeps<'_>, number: u32) -> bool {
    context(number)
}

type Kept = extern "C" fn(&Keeps<'_>, u32) -> bool;

/// `maple.c`.
pub(super) struct Maple {
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

/// `rbtree.c`.
pub(super) struct Rbtree {
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

/// `iova.c`.
pub(super) struct Iova {
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

impl Maple {
    /// The numbers of the areas that have these addresses, each and 1, added up.
    #[inline]
    pub(super) fn look_up(&self, areas: &RawAreas, addresses: &[u64]) -> u64 {
        // SAFETY: so many words are at that address, and it only reads them.
        unsafe { (self.look_up)(areas, addresses.as_ptr(), addresses.len()) }
    }

    /// A copy of all areas.
    pub(super) fn duplicate(&self, areas: &RawAreas) -> Option<&'static RawAreas> {
        let all: Keeps<'_> = &|_| true;
        (self.duplicate)(areas, None, &all)
    }

    /// A copy of those of which the closure says so.
    pub(super) fn duplicate_part(
        &self,
        areas: &RawAreas,
        kept: Keeps<'_>,
    ) -> Option<&'static RawAreas> {
        (self.duplicate)(areas, Some(keeps), &kept)
    }
}

impl Rbtree {
    /// The nodes that are in, in order; none where the tree is broken.
    pub(super) fn list(&self, nodes: &RawNodes, count: usize) -> Option<Vec<u32>> {
        let mut listed = vec![0; count];
        // SAFETY: it writes so many words at most at that address.
        let found = unsafe { (self.list)(nodes, listed.as_mut_ptr(), count) };
        listed.truncate(found);
        (found <= count).then_some(listed)
    }
}

impl Iova {
    /// First and last page of what is reserved, ascending, once nobody keeps any for later.
    pub(super) fn list(&self, domain: &RawDomain) -> Vec<[u64; 2]> {
        let mut listed = Vec::new();
        loop {
            // SAFETY: it writes so many pairs at most at that address.
            let found = unsafe { (self.list)(domain, listed.as_mut_ptr(), listed.len()) };
            if found <= listed.len() {
                listed.truncate(found);
                return listed;
            }
            listed.resize(found, [0; 2]);
        }
    }
}

/// All of it.
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
        // SAFETY: the name ends with a zero, and nothing runs when the library is loaded.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(format!("{} cannot be loaded", path.display()));
        }
        Ok(Self(handle))
    }

    /// The function of that name.
    ///
    /// # Safety
    /// It is of type `F`, the type of a pointer to a function.
    unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: the library is loaded, and the name ends with a zero.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if found.is_null() {
            return Err(format!("the library has no {}", name.to_string_lossy()));
        }
        // SAFETY: it is as large as a pointer, and the caller says that the function is of it.
        Ok(unsafe { transmute_copy::<*mut c_void, F>(&found) })
    }
}

/// Functions by their names, each a field.
macro_rules! functions {
    ($handle:ident, $table:ident { $($field:ident: $name:literal,)* }) => {
        $table {
            $($field: {
                // SAFETY: the library is compiled from the sources that this binary was compiled
                // with, in which the function is declared as the field is here.
                unsafe { $handle.function($name) }?
            },)*
        }
    };
}

impl Library {
    fn load(path: &Path) -> Result<Self, String> {
        let handle = Handle::open(path)?;
        let begin = Begin::of(&handle)?;
        let maple = functions!(
            handle,
            Maple {
                new: c"furlong_linux_maple_new",
                drop: c"furlong_linux_maple_drop",
                store: c"furlong_linux_maple_store",
                erase: c"furlong_linux_maple_erase",
                find: c"furlong_linux_maple_find",
                look_up: c"furlong_linux_maple_look_up",
                sum: c"furlong_linux_maple_sum",
                duplicate: c"furlong_linux_maple_duplicate",
                lock: c"furlong_linux_maple_lock",
                unlock: c"furlong_linux_maple_unlock",
                gap: c"furlong_linux_maple_gap",
            }
        );
        let rbtree = functions!(
            handle,
            Rbtree {
                new: c"furlong_linux_rbtree_new",
                drop: c"furlong_linux_rbtree_drop",
                place: c"furlong_linux_rbtree_place",
                insert: c"furlong_linux_rbtree_insert",
                remove: c"furlong_linux_rbtree_remove",
                find: c"furlong_linux_rbtree_find",
                clear: c"furlong_linux_rbtree_clear",
                copy: c"furlong_linux_rbtree_copy",
                list: c"furlong_linux_rbtree_list",
            }
        );
        let iova = functions!(
            handle,
            Iova {
                new: c"furlong_linux_iova_new",
                drop: c"furlong_linux_iova_drop",
                reserve_at: c"furlong_linux_iova_reserve_at",
                reserve: c"furlong_linux_iova_reserve",
                first: c"furlong_linux_iova_first",
                release: c"furlong_linux_iova_release",
                reserve_fast: c"furlong_linux_iova_reserve_fast",
                release_fast: c"furlong_linux_iova_release_fast",
                list: c"furlong_linux_iova_list",
            }
        );
        match (begin.begin)() {
            0 => Ok(Self {
                maple,
                rbtree,
                iova,
            }),
            error => Err(format!("the library does not begin: error {error}")),
        }
    }
}

/// `kernel.c`.
struct Begin {
    begin: extern "C" fn() -> c_int,
}

impl Begin {
    fn of(handle: &Handle) -> Result<Self, String> {
        Ok(functions!(
            handle,
            Begin {
                begin: c"furlong_linux_begin",
            }
        ))
    }
}

/// The library that goes with this binary, once it is loaded.
///
/// # Errors
/// It is not there, or cannot be loaded.
pub(super) fn library() -> Result<&'static Library, Failure> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    let loaded = LIBRARY.get_or_init(|| match place::library() {
        Some(path) => Library::load(&path),
        None => Err("nothing says where it is".to_owned()),
    });
    let missing = |why: &String| Failure(format!("{why}: `furlong peers linux` builds it"));
    loaded.as_ref().map_err(missing)
}

/// Whether the library that goes with this binary is there.
#[must_use]
pub fn is_there() -> bool {
    place::library().is_some_and(|path| path.is_file())
}

/// Whether a library that was just built can be loaded.
///
/// # Errors
/// Why it cannot.
pub(super) fn try_out(path: &Path) -> Result<(), Error> {
    let loaded = Library::load(path).map(drop);
    loaded.map_err(|why| Error::failed(format!("what was built does not work: {why}")))
}
