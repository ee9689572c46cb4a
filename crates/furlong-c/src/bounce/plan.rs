//! How large a pool is, and what it may become.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use furlong::addr::Iova;
use furlong::bounce::{Access, Cpu, Growth, Plan};

use crate::answer::{Given, answer};
use crate::errno::Errno;

/// The first block is all there is.
pub const FURLONG_BOUNCE_GROW_NEVER: u32 = 0;
/// The pool grows in furlong_bounce_tend.
pub const FURLONG_BOUNCE_GROW_DEFERRED: u32 = 1;
/// The pool grows in the map that finds no room.
pub const FURLONG_BOUNCE_GROW_INLINE: u32 = 2;

/// How large a pool is, and what it may become. Fill it in with furlong_bounce_plan and change what
/// differs.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BouncePlan {
    /// Slots of 2 KiB of the first block.
    pub slots: usize,
    /// Areas of the first block, a power of two: one a CPU.
    pub areas: usize,
    /// Blocks that there may be at a time, the first included.
    pub blocks: usize,
    /// Slots of a further block.
    pub block_slots: usize,
    /// Where there is no memory for a block it is halved, down to so many slots.
    pub block_min: usize,
    /// Mappings that may have a block of their own at a time, where no area has room.
    pub transients: usize,
    /// The highest address that the memory may have.
    pub reach: u64,
    /// How often in a row a further block must be found empty before it is given back.
    pub patience: u32,
    /// FURLONG_BOUNCE_GROW_NEVER and so on.
    pub growth: u32,
    /// Not 0: for devices that are made for this pool only, with one area and without growth.
    pub is_restricted: u32,
    /// Says on which CPU it is called, from 0; it chooses the area that is asked first, and may be
    /// stale. NULL: all callers begin with the same area.
    pub cpu: Option<extern "C" fn() -> usize>,
}

/// What a C program says of the CPU that it runs on.
#[derive(Clone, Copy, Debug)]
pub struct CallersCpu(Option<extern "C" fn() -> usize>);

impl Cpu for CallersCpu {
    fn number(&self) -> usize {
        self.0.map_or(0, |cpu| cpu())
    }
}

impl BouncePlan {
    /// The plan, if its numbers mean something.
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
            // Nobody waits here: a map is refused.
            waiters: 0,
            patience: self.patience,
            reach: Iova::new(self.reach),
            ..Plan::new(self.slots, self.areas)
        };
        Ok((plan, CallersCpu(self.cpu)))
    }
}

/// Fills plan in: a pool of so many slots in so many areas that neither grows nor gives mappings
/// blocks of their own.
///
/// Answers 0, or -EINVAL (plan is NULL).
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_plan(
    plan: Option<&mut MaybeUninit<BouncePlan>>,
    slots: usize,
    areas: usize,
) -> c_int {
    answer(|| {
        let usual = Plan::new(slots, areas);
        plan.given()?.write(BouncePlan {
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
        });
        Ok(())
    })
}
