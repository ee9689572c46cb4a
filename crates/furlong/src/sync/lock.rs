//! The caller's lock: a raw lock of two methods, its guard, and a value under it.

use core::marker::PhantomData;
use core::mem::ManuallyDrop;

use super::UnsafeCell;
use super::guard::Guard;
use crate::forms::debug_as;

/// A lock without a value.
///
/// The shared shells of this library take their lock as a type that implements this trait. So a
/// kernel can use its own: one that turns interrupts or preemption off, a ticket lock, a lock of
/// the operating system. State to restore at the end (saved flags, a preemption guard) is carried
/// by the [`Token`](RawLock::Token).
///
/// # Safety
///
/// An implementer promises:
///
/// - From the return of `lock` to the call of `unlock` with its token, no other call of `lock` on
///   the same lock returns, in any thread or interrupt handler.
/// - Everything that happened before a call of `unlock` happens before the return of every later
///   `lock`.
/// - Moving or dropping the lock while no call runs on it is harmless, even if it is held: its
///   guard may have been forgotten. A held one stays held when it is moved.
///
/// # Example
///
/// ```
/// use furlong::sync::{Lock, RawLock, SpinLock};
/// # struct Flags;
/// # fn save_and_disable_interrupts() -> Flags { Flags }
/// # fn restore_interrupts(_: Flags) {}
///
/// /// Spins with interrupts off, and restores their state on unlock.
/// struct IrqLock(SpinLock);
///
/// // SAFETY: SpinLock excludes and orders; interrupts are off before it is taken and until it has
/// // been released, so a handler on this CPU cannot meet it held.
/// unsafe impl RawLock for IrqLock {
///     type Token<'a> = Flags;
///
///     fn lock(&self) -> Flags {
///         let flags = save_and_disable_interrupts();
///         self.0.lock();
///         flags
///     }
///
///     unsafe fn unlock(&self, flags: Flags) {
///         // SAFETY: the caller holds the lock, and a SpinLock's token is ().
///         unsafe { self.0.unlock(()) };
///         restore_interrupts(flags);
///     }
/// }
///
/// static PAGES: Lock<IrqLock, u64> = Lock::new(IrqLock(SpinLock::new()), 0);
/// *PAGES.lock() += 3;
/// assert_eq!(*PAGES.lock(), 3);
/// ```
pub unsafe trait RawLock {
    /// State that [`lock`](RawLock::lock) returns and [`unlock`](RawLock::unlock) takes back.
    type Token<'a>
    where
        Self: 'a;

    /// Takes the lock, waiting while it is held.
    ///
    /// It should not panic: a call that releases a lock temporarily takes it again on every exit
    /// path, and a panic there may abort the program.
    fn lock(&self) -> Self::Token<'_>;

    /// Releases the lock.
    ///
    /// # Safety
    ///
    /// `token` comes from `lock` on this same lock, in this same thread or on this same CPU.
    unsafe fn unlock<'a>(&'a self, token: Self::Token<'a>);
}

/// A raw lock that is held; dropping it releases the lock.
///
/// Forgetting it leaves the lock held for good, which is safe.
#[must_use = "the lock is released as soon as this is dropped"]
pub struct Held<'a, L: RawLock> {
    raw: &'a L,
    token: ManuallyDrop<L::Token<'a>>,
    /// Not `Send`: a token may be the state of one CPU.
    here: PhantomData<*const ()>,
}

impl<'a, L: RawLock> Held<'a, L> {
    /// Takes `raw`, waiting while it is held.
    #[inline]
    pub fn lock(raw: &'a L) -> Self {
        let token = ManuallyDrop::new(raw.lock());
        Self {
            raw,
            token,
            here: PhantomData,
        }
    }
}

impl<L: RawLock> Drop for Held<'_, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the token is taken here only, and nothing uses it after `drop`.
        let token = unsafe { ManuallyDrop::take(&mut self.token) };
        // SAFETY: the token is the one that `raw.lock()` returned in `lock`, on this thread, since
        // this type is not `Send`.
        unsafe { self.raw.unlock(token) };
    }
}

debug_as! { Held<'_, L> where [L: RawLock]: Held { .. } }

/// A value under a raw lock.
///
/// # Example
///
/// ```
/// use furlong::sync::{Lock, SpinLock};
///
/// let pages = Lock::new(SpinLock::new(), vec![1, 2]);
/// pages.lock().push(3);
/// assert_eq!(pages.into_inner(), [1, 2, 3]);
/// ```
pub struct Lock<L, T> {
    raw: L,
    value: UnsafeCell<T>,
}

// SAFETY: `lock` gives one thread at a time access to the value (I1), which therefore only has to
// be `Send`; the raw lock itself is shared.
unsafe impl<L: RawLock + Sync, T: Send> Sync for Lock<L, T> {}

// SAFETY: the parts are owned, and both may go to another thread.
unsafe impl<L: Send, T: Send> Send for Lock<L, T> {}

impl<L, T> Lock<L, T> {
    const_unless_loom! {
        /// `value` under `raw`.
        pub const fn new(raw: L, value: T) -> Self {
            Self { raw, value: UnsafeCell::new(value) }
        }
    }

    /// The value, without locking: the exclusive borrow shows that the lock is free.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.with_mut(|value| {
            // SAFETY: `&mut self` excludes every other access for as long as the result lives.
            unsafe { &mut *value }
        })
    }

    /// The value; consumes the lock.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<L: RawLock, T> Lock<L, T> {
    /// Takes the lock, waiting while it is held.
    #[inline]
    pub fn lock(&self) -> LockGuard<'_, L, T> {
        let held = Held::lock(&self.raw);
        // SAFETY: the cell lives in this lock, which `held` borrows, and while it is held (I1)
        // nobody else reaches the value.
        unsafe { Guard::new(self.value.get_mut(), held) }
    }
}

debug_as! { Lock<L, T> where [L, T]: Lock { .. } }

/// Access to the value of a [`Lock`]; dropping it releases the lock.
pub type LockGuard<'a, L, T> = Guard<T, Held<'a, L>>;

#[cfg(all(feature = "std", not(loom)))]
// SAFETY: a std mutex excludes and orders. Its guard is the token: dropping it unlocks, and it is
// not `Send`. Poisoning is ignored, since a structure is consistent after each of its own calls.
unsafe impl RawLock for std::sync::Mutex<()> {
    type Token<'a> = std::sync::MutexGuard<'a, ()>;

    fn lock(&self) -> Self::Token<'_> {
        Self::lock(self).unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    unsafe fn unlock<'a>(&'a self, token: Self::Token<'a>) {
        drop(token);
    }
}
