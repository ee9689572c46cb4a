//! A cell whose accesses loom tracks.
//!
//! [`UnsafeCell`] is `core`'s with the interface of loom's: a pointer is lent to a closure, or held
//! for the lifetime of a [`MutPtr`]. Under loom, two unordered accesses of which one writes fail
//! the model.
#![forbid(unsafe_code)]

#[cfg(loom)]
pub use loom::cell::{MutPtr, UnsafeCell};

#[cfg(not(loom))]
pub use real::{MutPtr, UnsafeCell};

#[cfg(not(loom))]
mod real {
    /// `core::cell::UnsafeCell`, accessed through closures.
    #[derive(Debug, Default)]
    #[repr(transparent)]
    pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// A cell holding `value`.
        pub const fn new(value: T) -> Self {
            Self(core::cell::UnsafeCell::new(value))
        }

        /// Moves the value out of the cell.
        pub fn into_inner(self) -> T {
            self.0.into_inner()
        }

        /// Lends a pointer for reading to `f`. It must not leave the closure.
        #[inline]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Lends a pointer for writing to `f`. It must not leave the closure.
        #[inline]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }

        /// A pointer for writing; the access lasts until the [`MutPtr`] is dropped.
        #[inline]
        pub fn get_mut(&self) -> MutPtr<T> {
            MutPtr(self.0.get())
        }
    }

    /// A pointer for writing to the value of an [`UnsafeCell`].
    #[derive(Debug)]
    pub struct MutPtr<T>(*mut T);

    impl<T> MutPtr<T> {
        /// Lends the pointer to `f`. References made from it must not outlive this `MutPtr`.
        #[inline]
        pub fn with<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0)
        }
    }
}
