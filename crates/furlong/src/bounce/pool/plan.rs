//! The size of a pool, and the limits of its growth.

use crate::error::messages;
use crate::forms::setters;

use crate::addr::Iova;
use crate::bounce::{SEGMENT, Shape};

/// Slots of the smallest block that a kernel would call a pool: 1 MiB.
pub const BLOCK_MIN: usize = 512;

/// The size of a pool, and the limits of its growth.
///
/// # Example
/// ```
/// use furlong::bounce::{Growth, Plan};
///
/// // 1 MiB in 4 areas, and up to three times as much on demand.
/// let plan = Plan::new(512, 4).growth(Growth::Inline).blocks(4);
/// assert_eq!(plan.block_slots, 512);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Slots of the first block.
    pub slots: usize,
    /// Areas of the first block, a power of two; further blocks have as many or fewer.
    pub areas: usize,
    /// The time of growth.
    pub growth: Growth,
    /// The most blocks at a time, the first included.
    pub blocks: usize,
    /// Slots of a further block.
    pub block_slots: usize,
    /// Without memory for a block, its size is halved, down to this number of slots.
    pub block_min: usize,
    /// The most mappings with a transient block at a time.
    pub transients: usize,
    /// The most maps that may wait for room at a time.
    pub waiters: usize,
    /// Successive times that a further block must be found empty before it is given back.
    pub patience: u32,
    /// The devices that may map.
    pub access: Access,
    /// The highest address that the memory may have.
    pub reach: Iova,
}

/// The time at which a pool grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Never: there is only the first block.
    Never,
    /// In a call of `tend`: a map that finds no room requests growth and does not wait for memory.
    Deferred,
    /// In the map that finds no room.
    Inline,
}

/// The devices that may map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Every device that belongs to no restricted pool.
    Everyone,
    /// Only admitted devices, which can then use no other pool.
    Restricted,
}

impl Plan {
    /// A pool of `slots` slots in `areas` areas that neither grows nor has transient blocks.
    pub const fn new(slots: usize, areas: usize) -> Self {
        Self {
            slots,
            areas,
            growth: Growth::Never,
            blocks: 1,
            block_slots: slots,
            block_min: if slots < BLOCK_MIN { slots } else { BLOCK_MIN },
            transients: 0,
            waiters: 64,
            patience: 2,
            access: Access::Everyone,
            reach: Iova::new(u64::MAX),
        }
    }

    /// A pool of one area for admitted devices. It neither grows nor has transient blocks, so that
    /// its devices take nothing from others.
    pub const fn restricted(slots: usize) -> Self {
        let access = Access::Restricted;
        Self {
            access,
            ..Self::new(slots, 1)
        }
    }

    setters! {
        /// Sets the time of growth.
        growth: Growth;
        /// Sets the most blocks, the first included.
        blocks: usize;
        /// Sets the most transient blocks at a time.
        transients: usize;
        /// Sets the most waiting maps at a time.
        waiters: usize;
        /// Sets the successive times that a further block must be found empty before it is given
        /// back.
        patience: u32;
        /// Sets the highest address of the memory.
        reach: Iova;
    }

    /// Sets the slots of further blocks; without memory they are halved, down to `min`.
    #[must_use]
    pub const fn block_slots(self, block_slots: usize, min: usize) -> Self {
        Self {
            block_slots,
            block_min: min,
            ..self
        }
    }

    /// The areas of a block of `slots` slots. None is smaller than a segment of the first block.
    pub(super) fn areas_of(&self, slots: usize, segment: usize) -> usize {
        let least = segment.min(self.slots / self.areas);
        let most = (slots / least).max(1);
        self.areas.min(1 << most.ilog2())
    }
}

messages! {
    /// Error of a plan.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PlanError {
        /// There is no slot, no area, or no block.
        Empty => "slots, areas and blocks must be at least 1";
        /// The number of areas is not a power of two.
        Areas(n: usize) => "the number of areas, {n}, is not a power of two";
        /// An area does not have whole segments. Each of several areas must have a power of two of
        /// slots; a single one a multiple of [`SEGMENT`] or a smaller power of two.
        Uneven {
            /// Slots.
            slots: usize,
            /// Areas.
            areas: usize,
        } => "{slots} slots in {areas} areas are not whole segments of {}", SEGMENT;
        /// A restricted pool must have one area, no growth and no transient blocks.
        Restricted => "a restricted pool must have one area, no growth and no transients";
        /// There are more slots than slot numbers.
        TooLarge(n: usize) => "{n} slots exceed the range of slot numbers";
    }
}

/// The shape of each of `areas` areas with `slots` slots in total.
pub(crate) fn shape(slots: usize, areas: usize, segment: usize) -> Result<Shape, PlanError> {
    if slots == 0 || areas == 0 {
        return Err(PlanError::Empty);
    }
    if !areas.is_power_of_two() {
        return Err(PlanError::Areas(areas));
    }
    if u32::try_from(slots).is_err() {
        return Err(PlanError::TooLarge(slots));
    }
    let each = slots / areas;
    let whole = each.is_multiple_of(segment) || (each < segment && each.is_power_of_two());
    let even = areas == 1 || each.is_power_of_two();
    if each == 0 || each * areas != slots || !whole || !even {
        return Err(PlanError::Uneven { slots, areas });
    }
    Ok(Shape::new(each, segment.min(each)))
}

impl Plan {
    /// Validates the plan for segments of `segment` slots. Returns the shape of the first block's
    /// areas.
    pub(super) fn validate(&self, segment: usize) -> Result<Shape, PlanError> {
        let first = shape(self.slots, self.areas, segment)?;
        if self.blocks == 0 {
            return Err(PlanError::Empty);
        }
        let grows = self.growth != Growth::Never && self.blocks > 1;
        if self.access == Access::Restricted && (self.areas > 1 || grows || self.transients > 0) {
            return Err(PlanError::Restricted);
        }
        if grows {
            for slots in [self.block_slots, self.block_min] {
                shape(slots, self.areas_of(slots.max(1), segment), segment)?;
            }
        }
        Ok(first)
    }
}
