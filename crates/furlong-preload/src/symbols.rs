//! The names under which a library has its allocator.

/// Makes an allocator of its parts, and exports it under the names of the C library.
///
/// # Example
/// See the libraries under `examples/`.
#[macro_export]
macro_rules! symbols {
    ($hardening:ty, $gate:ty, $tier:ty) => {
        struct Preloaded;

        static ALLOCATOR: $crate::Malloc<Preloaded> = $crate::Malloc::new($crate::Linux);

        impl $crate::Config for Preloaded {
            type Source = $crate::Linux;
            type Current = $crate::Thread<Self>;
            type Hardening = $hardening;
            type Gate = $gate;
            type Tier = $tier;
        }

        impl $crate::Kind for Preloaded {
            #[inline(always)]
            fn allocator() -> &'static $crate::Malloc<Self> {
                &ALLOCATOR
            }
        }

        // SAFETY: a function of the kind that the loader calls from there.
        #[used]
        #[unsafe(link_section = ".init_array")]
        static LOADED: extern "C" fn() = $crate::start::loaded::<Preloaded>;

        $crate::exported! {
            plain::malloc: malloc(size: usize) -> *mut c_void;
            plain::free: free(block: *mut c_void);
            plain::free: cfree(block: *mut c_void);
            plain::calloc: calloc(count: usize, size: usize) -> *mut c_void;
            plain::realloc: realloc(block: *mut c_void, size: usize) -> *mut c_void;
            plain::malloc_usable_size: malloc_usable_size(block: *mut c_void) -> usize;
            aligned::posix_memalign:
                posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> i32;
            aligned::memalign: aligned_alloc(align: usize, size: usize) -> *mut c_void;
            aligned::memalign: memalign(align: usize, size: usize) -> *mut c_void;
        }
    };
}

/// Exports functions of this crate for an allocator under names of C.
#[doc(hidden)]
#[macro_export]
macro_rules! exported {
    ($($group:ident::$body:ident:
        $name:ident($($argument:ident: $of:ty),*) $(-> $answer:ty)?;)*) => {$(
        #[doc(hidden)]
        // SAFETY: the library is there to take this name over, and does what its documents say.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $of),*) $(-> $answer)? {
            // SAFETY: the caller keeps to what the C library asks of its callers.
            unsafe { $crate::$group::$body::<Preloaded>($($argument),*) }
        }
    )*};
}
