//! A request to a space: a size, and constraints on its place.

use crate::addr::Iova;
use crate::forms::setters;

/// A request to a space. A driver keeps one per device as a constant and changes the size.
///
/// # Example
/// ```
/// use furlong::addr::Iova;
/// use furlong::iova::{Guard, Request};
///
/// // A device with 32 address lines whose transfers may not cross 64 KiB.
/// const NIC: Request = Request::new(2048)
///     .window(Iova::new(0), Iova::new(0xffff_ffff))
///     .boundary(1 << 16)
///     .guard(Guard::ONE);
/// assert_eq!(NIC.size(9000).size, 9000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Bytes of data, at least 1.
    pub size: u64,
    /// Offset of the data in its first granule, in bytes; less than a granule.
    pub offset: u64,
    /// Alignment of the grant's start, in bytes, a power of two. A value below a granule has no
    /// effect: grants begin at granules.
    pub align: u64,
    /// The lowest start of the grant.
    pub low: Iova,
    /// The highest last byte of the data.
    pub high: Iova,
    /// `(lowaddr, highaddr)`: the data ends at or below the first, or the grant starts above the
    /// second, as in FreeBSD's bus tags. A grant that starts at or below the second is refused even
    /// if its [`offset`](Self::offset) puts the data above. If the first is not below the second,
    /// nothing is excluded.
    pub exclusion: Option<(Iova, Iova)>,
    /// Data may not cross a multiple of this, in bytes, a power of two.
    pub boundary: Option<u64>,
    /// Response if no place respects the boundary.
    pub split: Split,
    /// Granules that stay free on both sides.
    pub guard: Guard,
}

/// Response if no place respects the boundary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// The request is refused.
    #[default]
    Never,
    /// The grant is shorter: its data ends at the boundary that it would cross.
    AtBoundary,
}

/// Granules beside a grant that are free when it is made. They are not reserved: two neighbours
/// share the ones between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// Granules before the grant.
    pub before: u64,
    /// Granules after the grant.
    pub after: u64,
}

impl Guard {
    /// No guard: grants may abut, as guests' memory does.
    pub const NONE: Self = Self {
        before: 0,
        after: 0,
    };
    /// One granule on each side, which neighbours share, as in FreeBSD's `iommu_gas`: a device that
    /// overruns the end of a buffer faults.
    pub const ONE: Self = Self {
        before: 1,
        after: 1,
    };
}

impl Request {
    /// A request for `size` bytes anywhere, with no guard.
    #[must_use]
    pub const fn new(size: u64) -> Self {
        Self {
            size,
            offset: 0,
            align: 1,
            low: Iova::new(0),
            high: Iova::new(u64::MAX),
            exclusion: None,
            boundary: None,
            split: Split::Never,
            guard: Guard::NONE,
        }
    }

    setters! {
        /// Sets the size, in bytes.
        size: u64;
        /// Makes data begin `offset` bytes into its first granule.
        offset: u64;
        /// Makes the grant start at a multiple of `align` bytes, a power of two.
        align: u64;
        /// Sets the response if no place respects the boundary.
        split: Split;
        /// Sets the granules that stay free on both sides.
        guard: Guard;
    }

    /// Makes the grant start at `low` or above, and its data end at `high` or below.
    #[must_use]
    pub const fn window(mut self, low: Iova, high: Iova) -> Self {
        self.low = low;
        self.high = high;
        self
    }

    /// Makes the data end at `lowaddr` or below, or the grant start above `highaddr`.
    #[must_use]
    pub const fn exclude(mut self, lowaddr: Iova, highaddr: Iova) -> Self {
        self.exclusion = Some((lowaddr, highaddr));
        self
    }

    /// Makes data cross no multiple of `boundary` bytes, a power of two.
    #[must_use]
    pub const fn boundary(mut self, boundary: u64) -> Self {
        self.boundary = Some(boundary);
        self
    }
}
