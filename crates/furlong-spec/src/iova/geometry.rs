//! A few granules somewhere in 64 bits.
#![forbid(unsafe_code)]

use furlong::addr::{Extent, Iova};

/// A few granules somewhere in 64 bits, also at their beginning and at their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The first byte.
    pub start: u64,
    /// Bytes of a granule.
    pub granule: u64,
    /// How many granules there are.
    pub granules: usize,
}

impl Geometry {
    /// `granules` from byte 0 on.
    #[must_use]
    pub const fn low(granules: usize, granule: u64) -> Self {
        Self {
            start: 0,
            granule,
            granules,
        }
    }

    /// `granules` up to the last byte of 64 bits.
    #[must_use]
    pub const fn high(granules: usize, granule: u64) -> Self {
        Self {
            start: (granules as u64).wrapping_mul(granule).wrapping_neg(),
            granule,
            granules,
        }
    }

    /// The byte at which granule `index` begins, which is behind the last one for the number of
    /// them all.
    #[must_use]
    pub fn byte(&self, index: usize) -> u128 {
        u128::from(self.start) + index as u128 * u128::from(self.granule)
    }

    /// `len` granules from granule `index` on; none where that is not in 64 bits.
    #[must_use]
    pub fn granules(&self, index: usize, len: usize) -> Option<Extent<Iova>> {
        let last = self.byte(index + len).checked_sub(1)?;
        let (start, last) = (u64::try_from(self.byte(index)), u64::try_from(last));
        Extent::from_last(Iova::new(start.ok()?), Iova::new(last.ok()?))
    }

    /// All bytes.
    ///
    /// # Panics
    /// If there is no granule, or they go beyond 64 bits.
    #[must_use]
    pub fn extent(&self) -> Extent<Iova> {
        let all = self.granules(0, self.granules);
        all.expect("a space has granules, all of them in 64 bits")
    }
}
