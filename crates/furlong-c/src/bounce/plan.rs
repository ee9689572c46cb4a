//! The size of a pool, and its growth.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use furlong::addr::Iova;
use furlong::bounce::{Access, Cpu, Growth, Plan};

use crate::answer::answer_in;
use crate::errno::Errno;

/// The pool never gets more than its first block.
pub const FURLONG_BOUNCE_GROW_NEVER: u32 = 0;
/// The pool grows in furlong_bounce_tend.
pub const FURLONG_BOUNCE_GROW_DEFERRED: u32 = 1;
/// The pool grows in a map that finds no room.
pub const FURLONG_BOUNCE_GROW_INLINE: u32 = 2;

/// The size of a pool, and its growth. Initialise it with furlong_bounce_plan, then change single
/// fields.
#[repr(C)]
pub struct BouncePlan {
    /// Slots of the first block, of 2 KiB each.
    pub slots: usize,
    /// Areas of the first block, a power of two: one for each CPU.
    pub areas: usize,
    /// The largest number of blocks at a time, including the first.
    pub blocks: usize,
    /// Slots of a further block.
    pub block_slots: usize,
    /// If there is no memory for a block, its size is halved, down to this number of slots.
    pub block_min: usize,
    /// The largest number of mappings that may have a block of their own at a time, used if no
    /// area has room.
    pub transients: usize,
    /// The highest address that the memory may have.
    pub reach: u64,
    /// The number of times in a row that a further block must be found empty before it is freed.
    pub patience: u32,
    /// FURLONG_BOUNCE_GROW_NEVER or another growth.
    pub growth: u32,
    /// Not 0: only devices made for this pool may use it, it has one area, and it does not grow.
    pub is_restricted: u32,
    /// Returns the number of the CPU that calls it, from 0. The number selects the area that is
    /// tried first, and may be stale. NULL: all callers begin with the same area.
    pub cpu: Option<extern "C" fn() -> usize>,
}

/// The CPU number from a C program.
pub struct CallersCpu(Option<extern "C" fn() -> usize>);

impl Cpu for CallersCpu {
    fn number(&self) -> usize {
        self.0.map_or(0, |cpu| cpu())
    }
}

impl BouncePlan {
    /// Converts the plan, if its numbers are valid.
    pub(crate) fn read(&self) -> Result<(Plan, CallersCpu), Errno> {
        let growth = match self.growth {
            FURLONG_BOUNCE_GROW_NEVER => Growth::Never,
            FURLONG_BOUNCE_GROW_DEFERRED => Growth::Deferred,
            FURLONG_BOUNCE_GROW_INLINE => Growth::Inline,
            _ => return Err(Errno::INVALID),
        };
        let access = match self.is_restricted {
            0 => Access::Everyone,
            _ => Access::Restricted,
        };
        let plan = Plan {
            growth,
            access,
            blocks: self.blocks,
            block_slots: self.block_slots,
            block_min: self.block_min,
            transients: self.transients,
            // No caller waits: a map without room is refused.
            waiters: 0,
            patience: self.patience,
            reach: Iova::new(self.reach),
            ..Plan::new(self.slots, self.areas)
        };
        Ok((plan, CallersCpu(self.cpu)))
    }
}

/// Initialises plan to a pool of so many slots in so many areas that does not grow, and gives no
/// mapping a block of its own.
///
/// Returns 0, or -EINVAL (plan is NULL).
/// Threads: any thread.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_plan(
    plan: Option<&mut MaybeUninit<BouncePlan>>,
    slots: usize,
    areas: usize,
) -> c_int {
    answer_in(plan, || {
        let usual = Plan::new(slots, areas);
        Ok(BouncePlan {
            slots,
            areas,
            blocks: usual.blocks,
            block_slots: usual.block_slots,
            block_min: usual.block_min,
            transients: usual.transients,
            reach: u64::MAX,
            patience: usual.patience,
            growth: FURLONG_BOUNCE_GROW_NEVER,
            is_restricted: 0,
            cpu: None,
        })
    })
}
