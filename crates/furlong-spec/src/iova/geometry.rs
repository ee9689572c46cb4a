//! The extent of a small space: a few granules anywhere in the 64-bit range.

use furlong::addr::{Extent, Iova};

/// A few granules in the 64-bit range, possibly at its beginning or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The first address.
    pub start: u64,
    /// Bytes in a granule.
    pub granule: u64,
    /// The number of granules.
    pub granules: usize,
}

impl Geometry {
    /// `granules` granules from address 0 on.
    #[must_use]
    pub const fn low(granules: usize, granule: u64) -> Self {
        Self {
            start: 0,
            granule,
            granules,
        }
    }

    /// `granules` granules up to the last 64-bit address.
    #[must_use]
    pub const fn high(granules: usize, granule: u64) -> Self {
        Self {
            start: (granules as u64).wrapping_mul(granule).wrapping_neg(),
            granule,
            granules,
        }
    }

    /// The first address of granule `index`. With the number of granules as the index, one past the
    /// last address.
    #[must_use]
    pub fn byte(&self, index: usize) -> u128 {
        u128::from(self.start) + index as u128 * u128::from(self.granule)
    }

    /// The extent of `len` granules from granule `index` on; `None` if it leaves the 64-bit range.
    #[must_use]
    pub fn granules(&self, index: usize, len: usize) -> Option<Extent<Iova>> {
        let last = self.byte(index + len).checked_sub(1)?;
        let (start, last) = (u64::try_from(self.byte(index)), u64::try_from(last));
        Extent::from_last(Iova::new(start.ok()?), Iova::new(last.ok()?))
    }

    /// The extent of the whole space.
    ///
    /// # Panics
    /// If there are no granules, or they leave the 64-bit range.
    #[must_use]
    pub fn extent(&self) -> Extent<Iova> {
        let all = self.granules(0, self.granules);
        all.expect("a space has granules, all of them in 64 bits")
    }
}
