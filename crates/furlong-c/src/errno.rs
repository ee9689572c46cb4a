//! The error numbers of all errors of the library.
//!
//! Within one function, different errors have different numbers, with two exceptions: all invalid
//! arguments are `EINVAL`, and every lack of memory is `ENOMEM`.
#![forbid(unsafe_code)]

use core::ffi::c_int;

use furlong::addr::Address;
use furlong::error::NoMemory;
use furlong::{bounce, iova, maple, phys, rcu};

/// The number of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(c_int);

impl Errno {
    /// An argument is missing or invalid.
    pub(crate) const INVALID: Self = Self(libc::EINVAL);
    /// Out of memory.
    pub(crate) const NO_MEMORY: Self = Self(libc::ENOMEM);
    /// No such object.
    pub(crate) const NOT_FOUND: Self = Self(libc::ENOENT);
    /// No room for the request.
    pub(crate) const NO_SPACE: Self = Self(libc::ENOSPC);
    /// The caller's array is too short.
    pub(crate) const SHORT: Self = Self(libc::ENOBUFS);
    /// The object is in use.
    pub(crate) const BUSY: Self = Self(libc::EBUSY);
    /// The reader has not entered.
    pub(crate) const OUTSIDE: Self = Self(libc::EPERM);
    /// The object is of a kind that this call does not accept.
    pub(crate) const OTHER_KIND: Self = Self(libc::EPERM);
    /// An invariant is broken.
    pub(crate) const BROKEN: Self = Self(libc::ENOTRECOVERABLE);

    /// The number in C, positive.
    pub(crate) fn number(self) -> c_int {
        self.0
    }
}

impl<A: Address, E> From<maple::InsertError<A, E>> for Errno {
    fn from(error: maple::InsertError<A, E>) -> Self {
        Self(match error {
            maple::InsertError::Occupied { .. } => libc::EEXIST,
            maple::InsertError::NoMemory { .. } => libc::ENOMEM,
        })
    }
}

impl<E> From<maple::StoreError<E>> for Errno {
    fn from(error: maple::StoreError<E>) -> Self {
        match error {
            // A word is split without memory, so the second error never occurs.
            maple::StoreError::NoMemory { .. } | maple::StoreError::NoSplit { .. } => {
                Self::NO_MEMORY
            }
        }
    }
}

impl From<maple::EraseError> for Errno {
    fn from(error: maple::EraseError) -> Self {
        match error {
            // As for a store.
            maple::EraseError::NoMemory | maple::EraseError::NoSplit => Self::NO_MEMORY,
        }
    }
}

impl<A: Address> From<maple::ResizeError<A>> for Errno {
    fn from(error: maple::ResizeError<A>) -> Self {
        Self(match error {
            maple::ResizeError::Vacant => libc::ENOENT,
            maple::ResizeError::Occupied(_) => libc::EEXIST,
            maple::ResizeError::NoMemory => libc::ENOMEM,
        })
    }
}

impl From<NoMemory> for Errno {
    fn from(_: NoMemory) -> Self {
        Self::NO_MEMORY
    }
}

impl<X> From<maple::DuplicateError<X>> for Errno {
    fn from(_: maple::DuplicateError<X>) -> Self {
        // Words are copied: only memory for nodes can be missing.
        Self::NO_MEMORY
    }
}

impl From<iova::GeometryError> for Errno {
    fn from(error: iova::GeometryError) -> Self {
        match error {
            iova::GeometryError::Granule(_) | iova::GeometryError::Ragged(_) => Self::INVALID,
        }
    }
}

impl From<iova::ReserveError> for Errno {
    fn from(error: iova::ReserveError) -> Self {
        Self(match error {
            iova::ReserveError::ZeroSize
            | iova::ReserveError::Align(_)
            | iova::ReserveError::Offset(_)
            | iova::ReserveError::Boundary(_)
            | iova::ReserveError::Window { .. } => libc::EINVAL,
            iova::ReserveError::CrossesBoundary { .. } => libc::E2BIG,
            iova::ReserveError::TooLarge(_) => libc::EOVERFLOW,
            iova::ReserveError::NoSpace { .. } | iova::ReserveError::GaveUp(_) => libc::ENOSPC,
            iova::ReserveError::NoMemory => libc::ENOMEM,
        })
    }
}

impl From<iova::ReserveAtError> for Errno {
    fn from(error: iova::ReserveAtError) -> Self {
        Self(match error {
            iova::ReserveAtError::Ragged(_) => libc::EINVAL,
            iova::ReserveAtError::Outside(_) => libc::ERANGE,
            iova::ReserveAtError::Occupied(_) => libc::EEXIST,
            iova::ReserveAtError::NoMemory => libc::ENOMEM,
        })
    }
}

impl From<iova::ReleaseError> for Errno {
    fn from(error: iova::ReleaseError) -> Self {
        Self(match error {
            iova::ReleaseError::NotReserved => libc::ENOENT,
            iova::ReleaseError::Partial(_) | iova::ReleaseError::Granted => libc::EBUSY,
            iova::ReleaseError::Ragged(_) => libc::EINVAL,
        })
    }
}

impl From<iova::RangeError> for Errno {
    fn from(error: iova::RangeError) -> Self {
        Self(match error {
            iova::RangeError::Ragged(_) => libc::EINVAL,
            iova::RangeError::Outside(_) => libc::ERANGE,
            iova::RangeError::NoMemory => libc::ENOMEM,
        })
    }
}

impl From<phys::PlugError> for Errno {
    fn from(error: phys::PlugError) -> Self {
        Self(match error {
            phys::PlugError::Beyond(_) => libc::EFBIG,
            phys::PlugError::Overlap(_) => libc::EEXIST,
            phys::PlugError::Avail { .. } => libc::EINVAL,
            phys::PlugError::Full(_) => libc::ENOSPC,
            phys::PlugError::NoMemory => libc::ENOMEM,
            phys::PlugError::TooSmall(_) => libc::EMSGSIZE,
            phys::PlugError::NotStarted => libc::ENXIO,
        })
    }
}

impl From<phys::UnplugError> for Errno {
    fn from(error: phys::UnplugError) -> Self {
        Self(match error {
            phys::UnplugError::Unknown(_) => libc::ENOENT,
            phys::UnplugError::Crosses(_) => libc::ERANGE,
            phys::UnplugError::LastSegment => libc::EPERM,
            phys::UnplugError::Isolated(_) => libc::EALREADY,
            phys::UnplugError::Pinned(_) => libc::EBUSY,
            phys::UnplugError::Bookkeeping(_) => libc::EADDRINUSE,
            phys::UnplugError::Readers => libc::EAGAIN,
            phys::UnplugError::NotStarted => libc::ENXIO,
            phys::UnplugError::StaleToken => libc::ESTALE,
            phys::UnplugError::Full(_) => libc::ENOSPC,
            phys::UnplugError::NoMemory => libc::ENOMEM,
        })
    }
}

impl From<phys::RemoveError> for Errno {
    fn from(error: phys::RemoveError) -> Self {
        error.cause.into()
    }
}

impl From<phys::StaleToken> for Errno {
    fn from(_: phys::StaleToken) -> Self {
        Self(libc::ESTALE)
    }
}

impl From<phys::Stale> for Errno {
    fn from(_: phys::Stale) -> Self {
        Self(libc::ESTALE)
    }
}

impl From<phys::StartError> for Errno {
    fn from(error: phys::StartError) -> Self {
        Self(match error {
            phys::StartError::Started => libc::EALREADY,
            phys::StartError::Full(_) => libc::ENOSPC,
            phys::StartError::NoMemory => libc::ENOMEM,
        })
    }
}

impl From<phys::StealError> for Errno {
    fn from(error: phys::StealError) -> Self {
        Self(match error {
            phys::StealError::Started => libc::EALREADY,
            phys::StealError::Nothing => libc::ENOENT,
            phys::StealError::LastFrame => libc::EPERM,
            phys::StealError::NoMemory => libc::ENOMEM,
            phys::StealError::Stale(_) => libc::ESTALE,
        })
    }
}

impl From<phys::SetError> for Errno {
    fn from(error: phys::SetError) -> Self {
        Self(match error {
            phys::SetError::Stale(_) => libc::ESTALE,
            phys::SetError::Avail => libc::EINVAL,
            phys::SetError::Hint(_) => libc::ERANGE,
        })
    }
}

impl From<rcu::NoFreeSlot> for Errno {
    fn from(_: rcu::NoFreeSlot) -> Self {
        Self(libc::EUSERS)
    }
}

impl From<bounce::LimitsError> for Errno {
    fn from(error: bounce::LimitsError) -> Self {
        match error {
            bounce::LimitsError::MinAlignMask(_)
            | bounce::LimitsError::AlignMask(_)
            | bounce::LimitsError::BoundaryMask(_)
            | bounce::LimitsError::NoQuota => Self::INVALID,
        }
    }
}

impl From<bounce::PlanError> for Errno {
    fn from(error: bounce::PlanError) -> Self {
        Self(match error {
            bounce::PlanError::Empty
            | bounce::PlanError::Areas(_)
            | bounce::PlanError::Uneven { .. }
            | bounce::PlanError::Restricted => libc::EINVAL,
            bounce::PlanError::TooLarge(_) => libc::EOVERFLOW,
        })
    }
}

impl From<bounce::GrowError> for Errno {
    fn from(error: bounce::GrowError) -> Self {
        Self(match error {
            bounce::GrowError::Never => libc::EPERM,
            bounce::GrowError::Limit(_) => libc::ENOSPC,
            bounce::GrowError::NoMemory => libc::ENOMEM,
            bounce::GrowError::Misplaced => libc::EADDRNOTAVAIL,
            bounce::GrowError::NotShared => libc::EACCES,
            bounce::GrowError::Busy => libc::EAGAIN,
        })
    }
}

impl<M> From<bounce::NoPool<M>> for Errno {
    fn from(refused: bounce::NoPool<M>) -> Self {
        match refused.cause {
            bounce::PoolError::Plan(error) => error.into(),
            bounce::PoolError::Block(error) => error.into(),
            bounce::PoolError::NoMemory => Self::NO_MEMORY,
        }
    }
}

impl From<bounce::MapError> for Errno {
    fn from(error: bounce::MapError) -> Self {
        Self(match error {
            bounce::MapError::ZeroSize => libc::EINVAL,
            bounce::MapError::TooLarge { .. } => libc::EOVERFLOW,
            bounce::MapError::Align(_) => libc::EOPNOTSUPP,
            bounce::MapError::CrossesBoundary { .. } => libc::E2BIG,
            bounce::MapError::Quota { .. } => libc::EDQUOT,
            bounce::MapError::Unreachable(_) => libc::EADDRNOTAVAIL,
            bounce::MapError::Full { .. } => libc::ENOSPC,
            bounce::MapError::NotAdmitted(_) => libc::EACCES,
            bounce::MapError::TooManyWaiters(_) => libc::EUSERS,
            bounce::MapError::TimedOut => libc::ETIMEDOUT,
        })
    }
}

impl From<bounce::Misuse> for Errno {
    fn from(error: bounce::Misuse) -> Self {
        Self(match error {
            bounce::Misuse::NotMapped(_) => libc::ENOENT,
            bounce::Misuse::NotStart(_) => libc::EDOM,
            bounce::Misuse::Foreign(_) => libc::EPERM,
            bounce::Misuse::Direction(_) => libc::EPROTOTYPE,
            bounce::Misuse::Guarded => libc::EBUSY,
            bounce::Misuse::Kind => libc::EBADF,
            bounce::Misuse::Original => libc::EXDEV,
            bounce::Misuse::Unclaimed => libc::ESTALE,
        })
    }
}

impl From<bounce::SyncError> for Errno {
    fn from(error: bounce::SyncError) -> Self {
        match error {
            bounce::SyncError::Misuse(misuse) => misuse.into(),
            bounce::SyncError::ZeroSize => Self::INVALID,
            bounce::SyncError::Outside { .. } => Self(libc::ERANGE),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use furlong::addr::{Extent, Iova, Pfn};
    use furlong::bounce::{Direction, GrowError, MapError, Misuse, SyncError};
    use furlong::iova::{RangeError, ReleaseError, ReserveAtError, ReserveError};
    use furlong::phys::{PlugError, StartError, UnplugError};

    use super::Errno;

    fn extent() -> Extent<Iova> {
        Extent::from_last(Iova::new(0), Iova::new(1)).expect("they are in order")
    }

    /// Asserts that these errors have different numbers, none of which stands for an invalid
    /// argument.
    #[track_caller]
    fn differ<E: Into<Errno>, const N: usize>(errors: [E; N]) {
        let numbers: BTreeSet<i32> = errors.map(|error| error.into().number()).into();
        assert_eq!(numbers.len(), N, "{numbers:?}");
        assert!(!numbers.contains(&Errno::INVALID.number()), "{numbers:?}");
    }

    #[test]
    fn errors_of_a_reservation_differ() {
        let (size, boundary) = (2, 1);
        let (wanted, largest) = (2, 1);
        differ([
            ReserveError::CrossesBoundary { size, boundary },
            ReserveError::TooLarge(1),
            ReserveError::NoSpace { wanted, largest },
            ReserveError::NoMemory,
        ]);
        differ([
            ReserveAtError::Outside(extent()),
            ReserveAtError::Occupied(extent()),
            ReserveAtError::NoMemory,
        ]);
        differ([RangeError::Outside(extent()), RangeError::NoMemory]);
        differ([ReleaseError::NotReserved, ReleaseError::Partial(extent())]);
    }

    #[test]
    fn errors_of_plugging_differ() {
        let frame = Pfn::new(0);
        differ([
            PlugError::Beyond(frame),
            PlugError::Full(1),
            PlugError::NoMemory,
            PlugError::TooSmall(1),
            PlugError::NotStarted,
        ]);
        let frames = Extent::from_last(frame, frame).expect("they are in order");
        differ([
            UnplugError::Unknown(frame),
            UnplugError::LastSegment,
            UnplugError::Isolated(frames),
            UnplugError::Pinned(frame),
            UnplugError::Bookkeeping(frames),
            UnplugError::Readers,
            UnplugError::NotStarted,
            UnplugError::StaleToken,
            UnplugError::Full(1),
            UnplugError::NoMemory,
        ]);
        differ([
            StartError::Started,
            StartError::Full(1),
            StartError::NoMemory,
        ]);
    }

    #[test]
    fn errors_of_mapping_differ() {
        let (len, longest, boundary_mask) = (1, 1, 1);
        let (quota, used, wanted, free) = (1, 1, 1, 1);
        differ([
            MapError::TooLarge { len, longest },
            MapError::Align(1),
            MapError::CrossesBoundary { len, boundary_mask },
            MapError::Quota {
                quota,
                used,
                wanted,
            },
            MapError::Unreachable(Iova::new(0)),
            MapError::Full { wanted, free },
            MapError::NotAdmitted(1),
            MapError::TooManyWaiters(1),
            MapError::TimedOut,
        ]);
        let (start, outside) = (Iova::new(0), 1);
        differ([
            SyncError::Misuse(Misuse::NotMapped(start)),
            SyncError::Misuse(Misuse::NotStart(start)),
            SyncError::Misuse(Misuse::Foreign(1)),
            SyncError::Misuse(Misuse::Direction(Direction::Both)),
            SyncError::Misuse(Misuse::Guarded),
            SyncError::Misuse(Misuse::Kind),
            SyncError::Misuse(Misuse::Original),
            SyncError::Misuse(Misuse::Unclaimed),
            SyncError::Outside {
                start,
                len: outside,
            },
        ]);
        differ([
            GrowError::Never,
            GrowError::Limit(1),
            GrowError::NoMemory,
            GrowError::Misplaced,
            GrowError::NotShared,
            GrowError::Busy,
        ]);
    }
}
