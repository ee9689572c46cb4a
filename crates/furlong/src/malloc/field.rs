//! Fields of shared records that one holder writes at a time, and links between records that live
//! for ever.
//!
//! Records of the allocator are never unmapped, so a reference to one is `'static`. Which fields
//! may be read without holding the record says the record; whoever reads such a field sees an old
//! or a new value, never a torn one.

use core::{cell::UnsafeCell, ptr};

use crate::sync::{
    atomic::{AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    const_unless_loom,
};

/// Defines fields that hold a number.
macro_rules! number_fields {
    ($($(#[$meta:meta])* $name:ident: $atomic:ident of $number:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Debug)]
        #[repr(transparent)]
        pub(crate) struct $name($atomic);

        impl $name {
            const_unless_loom! {
                pub(crate) const fn new(value: $number) -> Self {
                    Self($atomic::new(value))
                }
            }

            /// The value.
            #[inline(always)]
            pub(crate) fn get(&self) -> $number {
                // Relaxed: the record's latch, or its only holder, orders what matters.
                self.0.load(Ordering::Relaxed)
            }

            /// Puts a value there.
            #[inline(always)]
            pub(crate) fn set(&self, value: $number) {
                // Relaxed: as in get.
                self.0.store(value, Ordering::Relaxed);
            }
        }
    )*};
}

number_fields! {
    /// Eight bits.
    Byte: AtomicU8 of u8;
    /// Sixteen bits.
    Short: AtomicU16 of u16;
    /// Thirty-two bits.
    Half: AtomicU32 of u32;
    /// A set of up to 64.
    Bits: AtomicU64 of u64;
    /// An address or a count.
    Word: AtomicUsize of usize;
}

/// A link to a record that lives for ever, or to none.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Link<T: 'static>(AtomicPtr<T>);

impl<T> Link<T> {
    const_unless_loom! {
        pub(crate) const fn none() -> Self {
            Self(AtomicPtr::new(ptr::null_mut()))
        }
    }

    /// The record.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&'static T> {
        // Acquire: pairs with the Release in set and replace, so that the record is seen as made.
        let record = self.0.load(Ordering::Acquire);
        // SAFETY: what was stored is null or came from a 'static reference.
        unsafe { record.as_ref() }
    }

    /// Whether it leads to this very record.
    #[inline(always)]
    pub(crate) fn is(&self, record: &'static T) -> bool {
        // Relaxed: an address is compared and nothing is read through it.
        ptr::eq(self.0.load(Ordering::Relaxed), record)
    }

    /// Leads to another record from now on.
    #[inline]
    pub(crate) fn set(&self, record: Option<&'static T>) {
        // Release: pairs with the Acquire in get.
        self.0.store(address(record), Ordering::Release);
    }

    /// Takes everything: leads to none from now on.
    #[inline]
    pub(crate) fn take(&self) -> Option<&'static T> {
        // SeqCst: a heap that ends and a thread that pushes to it must not miss each other.
        let record = self.0.swap(ptr::null_mut(), Ordering::SeqCst);
        // SAFETY: as in get.
        unsafe { record.as_ref() }
    }

    /// Puts `record` in front, after `before` has been given what was there; again until nobody
    /// else came in between.
    #[inline]
    pub(crate) fn push(&self, record: &'static T, before: impl Fn(Option<&'static T>)) {
        // Relaxed: a guess, which the exchange below confirms.
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            // SAFETY: as in get.
            before(unsafe { seen.as_ref() });
            let new = ptr::from_ref(record).cast_mut();
            // SeqCst: as in take. Relaxed: a failure only gives another guess.
            let done = self
                .0
                .compare_exchange_weak(seen, new, Ordering::SeqCst, Ordering::Relaxed);
            match done {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }
}

fn address<T>(record: Option<&'static T>) -> *mut T {
    record.map_or(ptr::null_mut(), |record| ptr::from_ref(record).cast_mut())
}

/// A number that stays the same as long as anybody may rightly read it: it is written while nobody
/// knows of the record, and read through an unordered access that one instruction can do.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Fixed<T>(UnsafeCell<T>);

// SAFETY: writers have the record to themselves, as `set` demands, so all accesses at the same
// time are reads.
unsafe impl<T: Copy + Send> Sync for Fixed<T> {}

impl<T: Copy> Fixed<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// The value.
    #[inline(always)]
    pub(crate) fn get(&self) -> T {
        // SAFETY: nobody writes while somebody may read.
        unsafe { *self.0.get() }
    }

    /// Puts a value there, while nobody reads: under the pool's latch, before the record is given
    /// to anybody.
    pub(crate) fn set(&self, value: T) {
        // SAFETY: nobody reads.
        unsafe { *self.0.get() = value };
    }
}
