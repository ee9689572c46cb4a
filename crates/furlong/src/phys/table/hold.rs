//! The writer's access to the data under the lock, with a way to drop the lock for a while.

use core::ops::{Deref, DerefMut};

use super::segment_table::Core;
use crate::phys::Config;
use crate::sync::{Lock, LockGuard};

/// The lock with the data that it protects.
pub(super) type Locked<'a, D, C, const N: usize> =
    Lock<<C as Config>::Lock, Core<D, <C as Config>::Lookup, N>>;

type Guard<'a, D, C, const N: usize> =
    LockGuard<'a, <C as Config>::Lock, Core<D, <C as Config>::Lookup, N>>;

/// Access to the data under the lock.
pub(crate) enum Hold<'a, D, C: Config, const N: usize> {
    /// The guard is `None` only while the lock is dropped.
    Locked(&'a Locked<'a, D, C, N>, Option<Guard<'a, D, C, N>>),
    /// Exclusive access by `&mut`: there is no other writer, and no reader.
    Alone(&'a mut Core<D, C::Lookup, N>),
}

/// Takes the lock again when it is dropped.
struct Relock<'h, 'a, D, C: Config, const N: usize>(&'h mut Hold<'a, D, C, N>);

impl<'h, 'a, D, C: Config, const N: usize> Relock<'h, 'a, D, C, N> {
    fn let_go(hold: &'h mut Hold<'a, D, C, N>) -> Self {
        hold.let_go();
        Self(hold)
    }
}

impl<D, C: Config, const N: usize> Drop for Relock<'_, '_, D, C, N> {
    fn drop(&mut self) {
        if let Hold::Locked(lock, guard) = self.0 {
            *guard = Some(lock.lock());
        }
    }
}

impl<'a, D, C: Config, const N: usize> Hold<'a, D, C, N> {
    #[inline]
    pub(super) fn locked(lock: &'a Locked<'a, D, C, N>) -> Self {
        Self::Locked(lock, Some(lock.lock()))
    }

    /// Drops the lock, if there is one.
    #[inline]
    pub(super) fn let_go(&mut self) {
        if let Self::Locked(_, guard) = self {
            *guard = None;
        }
    }

    /// The data, unless access is lost for good: taking the lock again has panicked.
    #[inline]
    pub(super) fn held(&mut self) -> Option<&mut Core<D, C::Lookup, N>> {
        match self {
            Self::Locked(_, guard) => guard.as_deref_mut(),
            Self::Alone(core) => Some(core),
        }
    }

    /// Runs `work` without the lock, then takes the lock again.
    pub(crate) fn unlocked<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let _relock = Relock::let_go(self);
        work()
    }
}

const HELD: &str = "releasing the lock gives up access until it is taken again";

impl<D, C: Config, const N: usize> Deref for Hold<'_, D, C, N> {
    type Target = Core<D, C::Lookup, N>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        match self {
            Self::Locked(_, guard) => guard.as_ref().expect(HELD),
            Self::Alone(core) => core,
        }
    }
}

impl<D, C: Config, const N: usize> DerefMut for Hold<'_, D, C, N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.held().expect(HELD)
    }
}
