//! The writer's access to what is under the lock, and how it is let go of for a while.
#![forbid(unsafe_code)]

use core::ops::{Deref, DerefMut};

use super::Config;
use super::table::Core;
use crate::sync::{Lock, LockGuard};

/// What a lock is around.
pub(super) type Locked<'a, D, C, const N: usize> =
    Lock<<C as Config>::Lock, Core<D, <C as Config>::Lookup, N>>;

type Guard<'a, D, C, const N: usize> =
    LockGuard<'a, <C as Config>::Lock, Core<D, <C as Config>::Lookup, N>>;

/// Access to what is under the lock.
pub(super) enum Hold<'a, D, C: Config, const N: usize> {
    /// The guard is there but while the lock has been let go of.
    Locked(&'a Locked<'a, D, C, N>, Option<Guard<'a, D, C, N>>),
    /// Nobody else is there, no reader either.
    Alone(&'a mut Core<D, C::Lookup, N>),
}

/// Takes the lock again when it is dropped.
struct Relock<'h, 'a, D, C: Config, const N: usize>(&'h mut Hold<'a, D, C, N>);

impl<'h, 'a, D, C: Config, const N: usize> Relock<'h, 'a, D, C, N> {
    fn let_go(hold: &'h mut Hold<'a, D, C, N>) -> Self {
        if let Hold::Locked(_, guard) = hold {
            *guard = None;
        }
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
    pub(super) fn locked(lock: &'a Locked<'a, D, C, N>) -> Self {
        Self::Locked(lock, Some(lock.lock()))
    }

    /// Whether there is access; not after a lock has panicked.
    pub(super) fn is_held(&self) -> bool {
        !matches!(self, Self::Locked(_, None))
    }

    /// Runs `work` without the lock, and takes it again.
    pub(super) fn unlocked<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let _relock = Relock::let_go(self);
        work()
    }
}

const HELD: &str = "whoever lets go of the lock has no access meanwhile";

impl<D, C: Config, const N: usize> Deref for Hold<'_, D, C, N> {
    type Target = Core<D, C::Lookup, N>;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Locked(_, guard) => guard.as_ref().expect(HELD),
            Self::Alone(core) => core,
        }
    }
}

impl<D, C: Config, const N: usize> DerefMut for Hold<'_, D, C, N> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Locked(_, guard) => guard.as_mut().expect(HELD),
            Self::Alone(core) => core,
        }
    }
}
