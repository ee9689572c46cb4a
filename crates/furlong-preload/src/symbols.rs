//! The names under which a library exports its allocator.

/// Makes an allocator of its parts, and exports it under the names of the C library.
///
/// # Example
/// See the libraries under `examples/`.
#[macro_export]
macro_rules! symbols {
    ($hardening:ty, $gate:ty, $tier:ty) => {
        struct Preloaded;

        // SAFETY: a library exports these names once, so it has one allocator with its one
        // variable.
        static ALLOCATOR: $crate::Malloc<Preloaded> = unsafe { $crate::Malloc::new($crate::Linux) };

        impl $crate::Config for Preloaded {
            type Source = $crate::Linux;
            type Current = $crate::Thread<Self>;
            type Hardening = $hardening;
            type Gate = $gate;
            type Tier = $tier;

            fn profile() -> $crate::Profile {
                $crate::start::profile()
            }

            const SAMPLER: Option<&'static dyn $crate::Sampler> = Some(&$crate::profile::PROFILE);
        }

        impl $crate::Kind for Preloaded {
            #[inline(always)]
            fn allocator() -> &'static $crate::Malloc<Self> {
                &ALLOCATOR
            }
        }

        // SAFETY: a function of the type that the loader calls from there.
        #[used]
        #[unsafe(link_section = ".init_array")]
        static LOADED: extern "C" fn() = $crate::start::loaded::<Preloaded>;

        $crate::exported! {
            plain::malloc: [malloc, __libc_malloc] (size: usize) -> *mut c_void;
            plain::free: [free, cfree, __libc_free, __libc_cfree] (block: *mut c_void) -> ();
            plain::calloc: [calloc, __libc_calloc] (count: usize, size: usize) -> *mut c_void;
            plain::realloc: [realloc, __libc_realloc]
                (block: *mut c_void, size: usize) -> *mut c_void;
            plain::reallocarray: [reallocarray]
                (block: *mut c_void, count: usize, size: usize) -> *mut c_void;
            plain::malloc_usable_size: [malloc_usable_size] (block: *mut c_void) -> usize;
            plain::free_sized: [free_sized] (block: *mut c_void, size: usize) -> ();
            plain::free_aligned_sized: [free_aligned_sized]
                (block: *mut c_void, align: usize, size: usize) -> ();
            aligned::posix_memalign: [posix_memalign, __posix_memalign]
                (out: *mut *mut c_void, align: usize, size: usize) -> i32;
            aligned::aligned_alloc: [aligned_alloc] (align: usize, size: usize) -> *mut c_void;
            aligned::memalign: [memalign, __libc_memalign]
                (align: usize, size: usize) -> *mut c_void;
            aligned::valloc: [valloc, __libc_valloc] (size: usize) -> *mut c_void;
            aligned::pvalloc: [pvalloc, __libc_pvalloc] (size: usize) -> *mut c_void;
            start::register_atfork: [__register_atfork]
                (before: $crate::Handler, after: $crate::Handler, in_child: $crate::Handler,
                 library: *mut c_void) -> i32;
            heap::create: [furlong_heap_create] () -> *mut c_void;
            heap::destroy: [furlong_heap_destroy] (heap: *mut c_void) -> ();
            heap::malloc: [furlong_heap_malloc] (heap: *mut c_void, size: usize) -> *mut c_void;
            heap::calloc: [furlong_heap_calloc]
                (heap: *mut c_void, count: usize, size: usize) -> *mut c_void;
            heap::aligned_alloc: [furlong_heap_aligned_alloc]
                (heap: *mut c_void, align: usize, size: usize) -> *mut c_void;
            heap::realloc: [furlong_heap_realloc]
                (heap: *mut c_void, block: *mut c_void, size: usize) -> *mut c_void;
            heap::free: [furlong_heap_free] (heap: *mut c_void, block: *mut c_void) -> ();
            hook::on_trouble: [furlong_malloc_on_trouble] (hook: $crate::hook::Hook) -> ();
            profile::furlong_heap_profile: [furlong_heap_profile]
                (name: *const $crate::libc::c_char) -> i32;
            report::furlong_malloc_statistics: [furlong_malloc_statistics]
                (now: *mut c_void, len: usize) -> ();
            report::malloc_trim: [malloc_trim] (keep: usize) -> i32;
            report::mallopt: [mallopt] (parameter: i32, value: i32) -> i32;
            report::mallinfo: [mallinfo] () -> $crate::libc::mallinfo;
            report::mallinfo2: [mallinfo2] () -> $crate::libc::mallinfo2;
            report::malloc_stats: [malloc_stats] () -> ();
            report::malloc_info: [malloc_info] (options: i32, file: *mut c_void) -> i32;
        }

        // Elsewhere the C++ library's own operators call malloc and free.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        const _: () = {
            $crate::exported! {
                cxx::delete: [_ZdlPv] (block: *mut c_void) -> ();
                cxx::delete_aligned: [_ZdlPvSt11align_val_t]
                    (block: *mut c_void, align: usize) -> ();
            }
            $crate::deleted! {
                Delete: _ZdaPv() => 0, None;
                Delete: _ZdlPvm(size) => 0, Some(size);
                Delete: _ZdlPvRKSt9nothrow_t(nothrow) => 0, None;
                DeleteRow: _ZdaPvm(size) => 0, Some(size);
                DeleteRow: _ZdaPvRKSt9nothrow_t(nothrow) => 0, None;
                DeleteAt: _ZdaPvSt11align_val_t(align) => align, None;
                DeleteAt: _ZdlPvmSt11align_val_t(size, align) => align, None;
                DeleteAt: _ZdlPvSt11align_val_tRKSt9nothrow_t(align, nothrow) => align, None;
                DeleteRowAt: _ZdaPvmSt11align_val_t(size, align) => align, None;
                DeleteRowAt: _ZdaPvSt11align_val_tRKSt9nothrow_t(align, nothrow) => align, None;
            }
            $crate::thrown! {
                new: [_Znwm] (size: usize);
                new_row: [_Znam] (size: usize);
                new_aligned: [_ZnwmSt11align_val_t] (size: usize, align: usize);
                new_row_aligned: [_ZnamSt11align_val_t] (size: usize, align: usize);
                new_or_null: [_ZnwmRKSt9nothrow_t] (size: usize, nothrow: *const c_void);
                new_row_or_null: [_ZnamRKSt9nothrow_t] (size: usize, nothrow: *const c_void);
                new_aligned_or_null: [_ZnwmSt11align_val_tRKSt9nothrow_t]
                    (size: usize, align: usize, nothrow: *const c_void);
                new_row_aligned_or_null: [_ZnamSt11align_val_tRKSt9nothrow_t]
                    (size: usize, align: usize, nothrow: *const c_void);
            }
        };
    };
}

/// Exports the functions of the C library that write to blocks, with a check of the block's end.
///
/// # Example
/// See the libraries under `examples/`.
#[macro_export]
macro_rules! checked_writes {
    () => {
        $crate::exported! {
            plain::memcpy: [memcpy]
                (to: *mut c_void, from: *const c_void, len: usize) -> *mut c_void;
        }
    };
}

/// Exports functions of this crate for an allocator, each under one or more names of C.
#[doc(hidden)]
#[macro_export]
macro_rules! exported {
    ($($group:ident::$body:ident: [$($name:ident),+] $arguments:tt -> $answer:ty;)*) => {$(
        $($crate::exported! { @one $group $body $name $arguments $answer })+
    )*};
    (@one $group:ident $body:ident $name:ident ($($argument:ident: $of:ty),*) $answer:ty) => {
        #[doc(hidden)]
        // SAFETY: the library's purpose is to replace this name, and it behaves as documented.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $of),*) -> $answer {
            // SAFETY: the caller obeys the C library's contract.
            unsafe { $crate::$group::$body::<Preloaded>($($argument),*) }
        }
    };
}

/// As `exported`, for the forms of `delete` that call another one: which, with which alignment, and
/// with which size.
#[doc(hidden)]
#[macro_export]
macro_rules! deleted {
    ($($basic:ident: $name:ident($($more:ident),*) => $align:expr, $size:expr;)*) => {$(
        #[doc(hidden)]
        // SAFETY: as in exported.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(block: *mut c_void $(, $more: usize)*) {
            $(let _ = $more;)*
            let basic = $crate::cxx::Basic::$basic;
            // SAFETY: the caller obeys the contract of C++.
            unsafe { $crate::cxx::delete_derived::<Preloaded>(basic, block, $align, $size) }
        }
    )*};
}

/// As `exported`, for operators whose handlers may throw: a single jump, so that an exception meets
/// no Rust frame.
#[doc(hidden)]
#[macro_export]
macro_rules! thrown {
    ($($body:ident: [$($name:ident),+] $arguments:tt;)*) => {$(
        $($crate::thrown! { @one $body $name $arguments })+
    )*};
    (@one $body:ident $name:ident ($($argument:ident: $of:ty),*)) => {
        #[doc(hidden)]
        // SAFETY: as in exported.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name($($argument: $of),*) -> *mut c_void {
            ::core::arch::naked_asm!($crate::jump!(), sym $crate::cxx::$body::<Preloaded>)
        }
    };
}

/// The instruction of a jump.
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
#[macro_export]
macro_rules! jump {
    () => {
        "jmp {}"
    };
}

/// The instruction of a jump.
#[cfg(target_arch = "aarch64")]
#[doc(hidden)]
#[macro_export]
macro_rules! jump {
    () => {
        "b {}"
    };
}
