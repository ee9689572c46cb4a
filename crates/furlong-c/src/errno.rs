//! The error numbers of all errors of the library.
//!
//! Within one function, different errors have different numbers, with two exceptions: all invalid
//! arguments are `EINVAL`, and every lack of memory is `ENOMEM`. Those of `vmspace` are Linux's,
//! which has few numbers for many errors.
#![forbid(unsafe_code)]

use core::ffi::c_int;

use furlong::addr::Address;
use furlong::error::NoMemory;
use furlong::{bounce, iova, maple, phys, rcu, vmspace};

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
    /// Another thread is about to remove the object.
    pub(crate) const LEAVING: Self = Self(libc::EINPROGRESS);
    /// The object is in use.
    pub(crate) const BUSY: Self = Self(libc::EBUSY);
    /// The reader has not entered.
    pub(crate) const OUTSIDE: Self = Self(libc::EPERM);
    /// The object is of a kind that this call does not accept.
    pub(crate) const OTHER_KIND: Self = Self(libc::EPERM);
    /// An invariant is broken.
    pub(crate) const BROKEN: Self = Self(libc::ENOTRECOVERABLE);

    /// The number of an answer of the caller's, which is not 0. Numbers that Linux does not have
    /// are invalid.
    pub(crate) fn of_caller(answer: c_int) -> Self {
        match answer {
            -4095..0 => Self(-answer),
            _ => Self::INVALID,
        }
    }

    /// The number in C, positive.
    pub(crate) fn number(self) -> c_int {
        self.0
    }
}

/// True if each row of a table has a number of its own.
const fn distinct(numbers: &[c_int]) -> bool {
    let (mut one, mut other) = (0, 1);
    while other < numbers.len() {
        if numbers[one] == numbers[other] {
            return false;
        }
        one += 1;
        if one == other {
            (one, other) = (0, other + 1);
        }
    }
    true
}

/// The number of each error, in one row for each number: two rows with the same do not compile.
macro_rules! errnos {
    ($($error:ty {
        $($($variant:ident $(($($item:tt)*))? $({$($field:tt)*})?)|+ => $number:ident;)+
    })+) => {$(
        impl From<$error> for Errno {
            fn from(error: $error) -> Self {
                type Error = $error;
                Self(match error {
                    $($(Error::$variant $(($($item)*))? $({$($field)*})?)|+ => libc::$number,)+
                })
            }
        }

        const _: () = assert!(distinct(&[$(libc::$number),+]));
    )+};
}

errnos! {
    maple::EraseError {
        // As for a store.
        NoMemory | NoSplit => ENOMEM;
    }
    iova::GeometryError {
        Granule(_) | Ragged(_) => EINVAL;
    }
    iova::ReserveError {
        ZeroSize | Align(_) | Offset(_) | Boundary(_) | Window { .. } => EINVAL;
        CrossesBoundary { .. } => E2BIG;
        TooLarge(_) => EOVERFLOW;
        NoSpace { .. } => ENOSPC;
        GaveUp(_) => ETIMEDOUT;
        NoMemory => ENOMEM;
    }
    iova::ReserveAtError {
        Ragged(_) => EINVAL;
        Outside(_) => ERANGE;
        Occupied(_) => EEXIST;
        NoMemory => ENOMEM;
    }
    iova::ReleaseError {
        NotReserved => ENOENT;
        Partial(_) | Granted => EBUSY;
        Ragged(_) => EINVAL;
    }
    iova::RangeError {
        Ragged(_) => EINVAL;
        Outside(_) => ERANGE;
        NoMemory => ENOMEM;
    }
    phys::PlugError {
        Beyond(_) => EFBIG;
        Overlap(_) => EEXIST;
        Leaving(_) => EINPROGRESS;
        Avail { .. } => EINVAL;
        Full(_) => ENOSPC;
        NoMemory => ENOMEM;
        TooSmall(_) => EMSGSIZE;
        NotStarted => ENXIO;
    }
    phys::UnplugError {
        Unknown(_) => ENOENT;
        Crosses(_) => ERANGE;
        LastSegment => EPERM;
        Isolated(_) => EALREADY;
        Pinned(_) => EBUSY;
        Bookkeeping(_) => EADDRINUSE;
        Readers => EAGAIN;
        NotStarted => ENXIO;
        StaleToken => ESTALE;
        Full(_) => ENOSPC;
        NoMemory => ENOMEM;
    }
    phys::StartError {
        Started => EALREADY;
        Full(_) => ENOSPC;
        NoMemory => ENOMEM;
    }
    phys::StealError {
        Started => EALREADY;
        Nothing => ENOENT;
        LastFrame => EPERM;
        NoMemory => ENOMEM;
        Stale(_) => ESTALE;
    }
    phys::SetError {
        Stale(_) => ESTALE;
        Avail => EINVAL;
        Hint(_) => ERANGE;
    }
    bounce::LimitsError {
        MinAlignMask(_) | AlignMask(_) | BoundaryMask(_) | NoQuota => EINVAL;
    }
    bounce::PlanError {
        Empty | Areas(_) | Uneven { .. } | Restricted => EINVAL;
        TooLarge(_) => EOVERFLOW;
    }
    bounce::GrowError {
        Never => EPERM;
        Limit(_) => ENOSPC;
        NoMemory => ENOMEM;
        Misplaced => EADDRNOTAVAIL;
        NotShared => EACCES;
        Busy => EAGAIN;
    }
    bounce::MapError {
        ZeroSize => EINVAL;
        TooLarge { .. } => EOVERFLOW;
        Align(_) => EOPNOTSUPP;
        CrossesBoundary { .. } => E2BIG;
        Quota { .. } => EDQUOT;
        Unreachable(_) => EADDRNOTAVAIL;
        Full { .. } => ENOSPC;
        NotAdmitted(_) => EACCES;
        TooManyWaiters(_) => EUSERS;
        TimedOut => ETIMEDOUT;
    }
    bounce::Misuse {
        NotMapped(_) => ENOENT;
        NotStart(_) => EDOM;
        Foreign(_) => EPERM;
        Direction(_) => EPROTOTYPE;
        Guarded => EBUSY;
        Kind => EBADF;
        Original => EXDEV;
        Unclaimed => ESTALE;
    }
}

/// Errors that are one value, each with its number.
macro_rules! single {
    ($($error:ty => $number:ident;)+) => {$(
        impl From<$error> for Errno {
            fn from(_: $error) -> Self {
                Self(libc::$number)
            }
        }
    )+};
}

single! {
    NoMemory => ENOMEM;
    phys::StaleToken => ESTALE;
    phys::Stale => ESTALE;
    rcu::NoFreeSlot => EUSERS;
}

/// Errors that already have a number of Linux's.
macro_rules! linux {
    ($($error:ident)+) => {$(
        impl From<vmspace::$error> for Errno {
            fn from(error: vmspace::$error) -> Self {
                Self(error.errno().number())
            }
        }
    )+};
}

linux! {
    MapError UnmapError ProtectError AdviseError UpdateError RemapError BrkError FaultError
    LayoutError
}

impl<A> From<vmspace::Refused<A>> for Errno {
    fn from(refused: vmspace::Refused<A>) -> Self {
        refused.cause.into()
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

impl<A: Address> From<maple::ResizeError<A>> for Errno {
    fn from(error: maple::ResizeError<A>) -> Self {
        Self(match error {
            maple::ResizeError::Vacant => libc::ENOENT,
            maple::ResizeError::Occupied(_) => libc::EEXIST,
            maple::ResizeError::NoMemory => libc::ENOMEM,
        })
    }
}

impl<X> From<maple::DuplicateError<X>> for Errno {
    fn from(_: maple::DuplicateError<X>) -> Self {
        // Words are copied: only memory for nodes can be missing.
        Self::NO_MEMORY
    }
}

impl From<phys::RemoveError> for Errno {
    fn from(error: phys::RemoveError) -> Self {
        error.cause.into()
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
    use furlong::bounce::{Direction, GrowError, Misuse, SyncError};
    use furlong::phys::{StartError, UnplugError};

    use super::{Errno, distinct};

    #[test]
    fn a_number_that_two_rows_have_is_found() {
        assert!(distinct(&[]) && distinct(&[1]) && distinct(&[1, 2, 3, 4]));
        for at in 0..4 {
            for other in (0..4).filter(|other| *other != at) {
                let mut numbers = [1, 2, 3, 4];
                numbers[at] = numbers[other];
                assert!(!distinct(&numbers), "{numbers:?}");
            }
        }
    }

    #[test]
    fn an_answer_that_is_no_error_number_is_invalid() {
        assert_eq!(Errno::of_caller(-1), Errno(1));
        assert_eq!(Errno::of_caller(-4095), Errno(4095));
        for answer in [1, -4096, i32::MIN, i32::MAX] {
            assert_eq!(Errno::of_caller(answer), Errno::INVALID);
        }
    }

    /// Linux's numbers are those of the C library.
    #[test]
    fn numbers_of_spaces_are_those_of_c() {
        use furlong::vmspace::Errno as Linux;

        let pairs = [
            (Linux::Eperm, libc::EPERM),
            (Linux::Eagain, libc::EAGAIN),
            (Linux::Enomem, libc::ENOMEM),
            (Linux::Eacces, libc::EACCES),
            (Linux::Efault, libc::EFAULT),
            (Linux::Eexist, libc::EEXIST),
            (Linux::Enodev, libc::ENODEV),
            (Linux::Einval, libc::EINVAL),
            (Linux::Eoverflow, libc::EOVERFLOW),
            (Linux::Eopnotsupp, libc::EOPNOTSUPP),
        ];
        assert_eq!(pairs.map(|(own, _)| own), Linux::ALL);
        assert!(pairs.iter().all(|(own, number)| own.number() == *number));
    }

    fn none_is_invalid<E: Into<Errno>, const N: usize>(errors: [E; N]) {
        assert!(
            errors
                .into_iter()
                .all(|error| error.into() != Errno::INVALID)
        );
    }

    /// The rows of the other errors differ from one that is an invalid argument.
    #[test]
    fn errors_that_no_argument_causes_are_no_invalid_arguments() {
        let frame = Pfn::new(0);
        let frames = Extent::from_last(frame, frame).expect("they are in order");
        none_is_invalid([
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
        none_is_invalid([
            StartError::Started,
            StartError::Full(1),
            StartError::NoMemory,
        ]);
        none_is_invalid([
            GrowError::Never,
            GrowError::Limit(1),
            GrowError::NoMemory,
            GrowError::Misplaced,
            GrowError::NotShared,
            GrowError::Busy,
        ]);
    }

    #[test]
    fn errors_of_a_sync_differ() {
        let (start, outside) = (Iova::new(0), 1);
        let errors = [
            SyncError::ZeroSize,
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
        ];
        let numbers: BTreeSet<i32> = errors.map(|error| Errno::from(error).number()).into();
        assert_eq!(numbers.len(), errors.len(), "{numbers:?}");
    }
}
