//! Fields of shared records with one writer at a time, and links between records that live for
//! ever.
//!
//! Records of the allocator are never unmapped, so a reference to one is `'static`. Each record
//! documents which fields may be read without holding it. Such a read sees an old or a new value,
//! never a torn one.

use core::cell::UnsafeCell;
use core::ptr;

use crate::sync::atomic::{
    AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use crate::sync::const_unless_loom;

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
                // Relaxed: the record's latch, or its only holder, gives the order that matters.
                self.0.load(Ordering::Relaxed)
            }

            /// Sets the value.
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
    /// A set of up to 64 members.
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

    /// The record, if any.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&'static T> {
        // Acquire: pairs with the Release in set and the SeqCst in push, so that the record's
        // contents are visible.
        let record = self.0.load(Ordering::Acquire);
        // SAFETY: every stored pointer is null or came from a 'static reference.
        unsafe { record.as_ref() }
    }

    /// True if it leads to this record.
    #[inline(always)]
    pub(crate) fn is(&self, record: &'static T) -> bool {
        // Relaxed: only the address is compared; nothing is read through it.
        ptr::eq(self.0.load(Ordering::Relaxed), record)
    }

    /// Sets the link.
    #[inline]
    pub(crate) fn set(&self, record: Option<&'static T>) {
        // Release: pairs with the Acquire in get.
        self.0.store(address(record), Ordering::Release);
    }

    /// Takes the record and leaves none.
    #[inline]
    pub(crate) fn take(&self) -> Option<&'static T> {
        // SeqCst: an ending heap and a thread that pushes to its queue must not miss each other.
        let record = self.0.swap(ptr::null_mut(), Ordering::SeqCst);
        // SAFETY: as in get.
        unsafe { record.as_ref() }
    }

    /// Puts `record` in front, after `before` was called with the old front; retries if another
    /// thread changed it in between.
    #[inline]
    pub(crate) fn push(&self, record: &'static T, before: impl Fn(Option<&'static T>)) {
        // Relaxed: a guess, which the exchange below confirms.
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            // SAFETY: as in get.
            before(unsafe { seen.as_ref() });
            let new = ptr::from_ref(record).cast_mut();
            // SeqCst: as in take. Relaxed: a failure only gives a new guess.
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

/// A number that does not change while anybody may read it. It is written while no other thread can
/// reach the record, so a plain, unordered load suffices: one instruction.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Fixed<T>(UnsafeCell<T>);

// SAFETY: a writer has the record to itself, as `set` demands, so all concurrent accesses are
// reads.
unsafe impl<T: Copy + Send> Sync for Fixed<T> {}

impl<T: Copy> Fixed<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// The value.
    #[inline(always)]
    pub(crate) fn get(&self) -> T {
        // SAFETY: nobody writes while another thread may read.
        unsafe { *self.0.get() }
    }

    /// Sets the value while nobody reads: under the pool's latch, before the record is handed out.
    pub(crate) fn set(&self, value: T) {
        // SAFETY: nobody reads.
        unsafe { *self.0.get() = value };
    }
}
