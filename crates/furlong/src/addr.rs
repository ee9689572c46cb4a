//! Addresses and extents: one type per address space, half-open ranges, correct at 0 and at the
//! last byte.
#![forbid(unsafe_code)]

use core::fmt;

use crate::forms::Sealed;

#[cfg(any(all(test, not(loom)), prove))]
pub mod proofs;

/// A number that names a location in one address space.
///
/// The integers of up to 64 bits are addresses too: for the keys of a database, or anything else
/// that has ranges. The number of a signed one counts from its least value.
pub trait Address: Sealed + Copy + Ord + fmt::Debug {
    /// The last address.
    const LAST: Self;

    /// The address whose number is `raw`; the last one if there is none.
    fn from_raw(raw: u64) -> Self;
    /// The number, which is 0 for the first address.
    fn raw(self) -> u64;

    /// The address `len` above; `None` beyond the last one.
    fn checked_add(self, len: u64) -> Option<Self> {
        numbered(self.raw().checked_add(len)?)
    }

    /// The address `len` below; `None` below 0.
    fn checked_sub(self, len: u64) -> Option<Self> {
        self.raw().checked_sub(len).map(Self::from_raw)
    }

    /// Returns true if the address is a multiple of `align`, a power of two.
    fn is_aligned(self, align: u64) -> bool {
        debug_assert!(align.is_power_of_two(), "an alignment is a power of two");
        self.raw() & (align - 1) == 0
    }

    /// The greatest multiple of `align`, a power of two, that is not above the address.
    #[must_use]
    fn align_down(self, align: u64) -> Self {
        debug_assert!(align.is_power_of_two(), "an alignment is a power of two");
        Self::from_raw(self.raw() & !(align - 1))
    }

    /// The least multiple of `align`, a power of two, that is not below the address; `None` beyond
    /// the last one.
    fn align_up(self, align: u64) -> Option<Self> {
        debug_assert!(align.is_power_of_two(), "an alignment is a power of two");
        let up = self.raw().checked_add(align - 1)?;
        numbered(up & !(align - 1))
    }
}

/// The address whose number is `raw`, if there is one.
fn numbered<A: Address>(raw: u64) -> Option<A> {
    (raw <= A::LAST.raw()).then(|| A::from_raw(raw))
}

/// Makes addresses of integers; `$unsigned` has as many bits as `$int`, `$wide` makes 64 of them.
macro_rules! integer {
    ($wide:path: $($int:ty as $unsigned:ty),*) => {$(
        impl Sealed for $int {}

        impl Address for $int {
            const LAST: Self = Self::MAX;

            #[inline]
            fn from_raw(raw: u64) -> Self {
                let raw = <$unsigned>::try_from(raw).unwrap_or(<$unsigned>::MAX);
                (raw as Self).wrapping_add(Self::MIN)
            }

            #[inline]
            fn raw(self) -> u64 {
                $wide(self.wrapping_sub(Self::MIN) as $unsigned)
            }
        }
    )*};
}

integer!(u64::from: u8 as u8, u16 as u16, u32 as u32, u64 as u64);
integer!(u64::from: i8 as u8, i16 as u16, i32 as u32, i64 as u64);
integer!(wide: usize as usize, isize as usize);

const fn wide(size: usize) -> u64 {
    size as u64
}

macro_rules! address {
    ($(#[$doc:meta])* $name:ident, $tag:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[repr(transparent)]
        pub struct $name(u64);

        impl Sealed for $name {}

        impl Address for $name {
            const LAST: Self = Self(u64::MAX);

            #[inline]
            fn from_raw(raw: u64) -> Self {
                Self(raw)
            }

            #[inline]
            fn raw(self) -> u64 {
                self.0
            }
        }

        impl $name {
            /// The address whose number is `raw`.
            #[inline]
            #[must_use]
            pub const fn new(raw: u64) -> Self {
                Self(raw)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($tag, "{:#x}"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    };
}

address!(
    /// A byte of a device's address space.
    Iova,
    "iova:"
);
address!(
    /// A byte of physical memory.
    PhysAddr,
    "phys:"
);
address!(
    /// A byte of a virtual address space.
    VirtAddr,
    "virt:"
);
address!(
    /// A frame of physical memory: its address divided by the page size.
    Pfn,
    "pfn:"
);

/// A non-empty range of one address space, from its first to its last address.
///
/// Its interface is half-open where it uses ends. It stores the last address, so that an extent may
/// reach the end of the space; its `end` is then `None`. Extents are ordered by their starts.
///
/// # Example
/// ```
/// use furlong::addr::{Extent, Iova};
///
/// let page = Extent::from_len(Iova::new(0x1000), 0x1000).unwrap();
/// assert_eq!(page.last(), Iova::new(0x1fff));
/// assert_eq!(page.end(), Some(Iova::new(0x2000)));
///
/// let top = Extent::from_len(Iova::new(u64::MAX - 0xfff), 0x1000).unwrap();
/// assert_eq!(top.end(), None);
/// assert!(!page.overlaps(&top));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent<A> {
    start: A,
    last: A,
}

impl<A: Address> Extent<A> {
    /// From `start` to `last`, both inclusive; `None` if `last` is below `start`.
    pub fn from_last(start: A, last: A) -> Option<Self> {
        (start <= last).then_some(Self { start, last })
    }

    /// The same for addresses known to be in order.
    #[cfg(feature = "alloc")]
    pub(crate) fn in_order(start: A, last: A) -> Self {
        debug_assert!(start <= last);
        Self { start, last }
    }

    /// `start..end`, half-open; `None` if that is empty or reversed.
    pub fn from_end(start: A, end: A) -> Option<Self> {
        Self::from_last(start, end.checked_sub(1)?)
    }

    /// `len` addresses from `start`; `None` if `len` is 0 or the last one is beyond the space.
    pub fn from_len(start: A, len: u64) -> Option<Self> {
        Some(Self {
            start,
            last: start.checked_add(len.checked_sub(1)?)?,
        })
    }

    /// The first address.
    pub fn start(&self) -> A {
        self.start
    }

    /// The last address.
    pub fn last(&self) -> A {
        self.last
    }

    /// The first address after it; `None` if it ends with the space.
    pub fn end(&self) -> Option<A> {
        self.last.checked_add(1)
    }

    /// The number of addresses; `None` for the whole space, whose 2^64 do not fit.
    pub fn len(&self) -> Option<u64> {
        (self.last.raw() - self.start.raw()).checked_add(1)
    }

    /// Always false: an extent has at least one address.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns true if `address` is in the extent.
    pub fn contains(&self, address: A) -> bool {
        self.start <= address && address <= self.last
    }

    /// Returns true if the extents share an address.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start <= other.last && other.start <= self.last
    }

    /// The addresses in both extents.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        Self::from_last(self.start.max(other.start), self.last.min(other.last))
    }

    /// The parts below `at` and from `at` on; `None` if one of them would be empty.
    pub fn split_at(&self, at: A) -> Option<(Self, Self)> {
        let below = Self::from_last(self.start, at.checked_sub(1)?)?;
        Some((below, Self::from_last(at, self.last)?))
    }
}

impl<A: Address> fmt::Debug for Extent<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}..={:?}", self.start, self.last)
    }
}

/// Implements `Debug` for an error that returns a value: reason and extent, but not the value,
/// whose type may lack `Debug`.
pub(crate) fn debug_without_value<A: Address>(
    f: &mut fmt::Formatter<'_>,
    why: &str,
    at: Option<Extent<A>>,
) -> fmt::Result {
    let mut shown = f.debug_tuple(why);
    if let Some(at) = at {
        shown.field(&at);
    }
    shown.finish_non_exhaustive()
}

impl<A: Address + fmt::Display> fmt::Display for Extent<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..={}", self.start, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, Extent, Iova};

    const LAST: Iova = Iova::new(u64::MAX);

    #[test]
    fn an_extent_may_be_the_whole_space() {
        let all = Extent::from_last(Iova::new(0), LAST).unwrap();
        assert_eq!(all.len(), None);
        assert_eq!(all.end(), None);
        assert!(all.contains(LAST));
    }

    #[test]
    fn an_empty_extent_is_refused() {
        assert_eq!(Extent::from_len(Iova::new(7), 0), None);
        assert_eq!(Extent::from_end(Iova::new(7), Iova::new(7)), None);
        assert_eq!(Extent::from_end(Iova::new(0), Iova::new(0)), None);
    }

    #[test]
    fn an_extent_beyond_the_space_is_refused() {
        assert_eq!(Extent::from_len(LAST, 2), None);
        assert_eq!(Extent::from_len(LAST, 1).unwrap().start(), LAST);
    }

    #[test]
    fn abutting_extents_do_not_overlap() {
        let low = Extent::from_len(Iova::new(0), 10).unwrap();
        let high = Extent::from_len(Iova::new(10), 1).unwrap();
        assert!(!low.overlaps(&high) && !high.overlaps(&low));
        assert_eq!(low.intersection(&high), None);
    }

    #[test]
    fn a_split_has_no_empty_part() {
        let extent = Extent::from_len(Iova::new(4), 4).unwrap();
        assert_eq!(extent.split_at(Iova::new(4)), None);
        assert_eq!(extent.split_at(Iova::new(8)), None);
        let (low, high) = extent.split_at(Iova::new(7)).unwrap();
        assert_eq!((low.len(), high.len()), (Some(3), Some(1)));
    }

    /// Checks every address of a small space beside its neighbours.
    fn counts<A: Address + TryFrom<i64>>(first: i64, last: i64) {
        let at = |number: i64| A::try_from(number).ok().expect("it is in the space");
        for number in first..=last {
            let address = at(number);
            assert_eq!(address.raw(), (number - first) as u64);
            assert_eq!(A::from_raw(address.raw()), address);
            let left = (last - number) as u64;
            assert_eq!(address.checked_add(left), Some(at(last)));
            assert_eq!(address.checked_add(left + 1), None);
            assert_eq!(
                address.checked_sub((number - first) as u64),
                Some(at(first))
            );
            assert_eq!(address.checked_sub((number - first) as u64 + 1), None);
            let up = (number + 15).div_euclid(16) * 16;
            assert_eq!(address.align_up(16), (up <= last).then(|| at(up)));
            assert_eq!(address.align_down(16), at(number.div_euclid(16) * 16));
        }
        assert_eq!((A::LAST, A::from_raw(u64::MAX)), (at(last), at(last)));
        let all = Extent::from_last(at(first), A::LAST).unwrap();
        assert_eq!(
            (all.len(), all.end()),
            (Some((last - first + 1) as u64), None)
        );
        assert_eq!(Extent::from_len(at(last), 2), None);
    }

    #[test]
    fn integers_are_addresses_from_their_least_to_their_greatest() {
        counts::<u8>(0, 255);
        counts::<i8>(-128, 127);
        counts::<u16>(0, 0xffff);
        counts::<i16>(-0x8000, 0x7fff);
        let ends = [
            (i64::MIN, 0),
            (-1, (1 << 63) - 1),
            (0, 1 << 63),
            (i64::MAX, u64::MAX),
        ];
        for (number, raw) in ends {
            assert_eq!((number.raw(), i64::from_raw(raw)), (raw, number));
        }
    }

    #[test]
    fn aligning_up_near_the_last_address_is_refused() {
        assert_eq!(LAST.align_up(4096), None);
        let top = u64::MAX - 4095;
        assert_eq!(Iova::new(top).align_up(4096), Some(Iova::new(top)));
        assert_eq!(LAST.align_down(4096), Iova::new(top));
    }
}
