//! The slots of the naive pool: which are free, where a run may lie, and when the pool grows.
#![forbid(unsafe_code)]

use furlong::addr::Address;
use furlong::bounce::{GrowError, Growth, Limits, MapError, SLOT, Tended};

use super::rules::Rules;
use super::world::{Path, World};

/// Memory for runs: a block, or a transient block, which has no areas.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Device address of its first byte; `None` while it has no memory.
    pub(super) base: Option<u64>,
    pub(super) areas: usize,
    /// The name of the mapping that owns each slot.
    pub(super) slots: Vec<Option<u64>>,
    pub(super) bytes: Vec<u8>,
    idle: u32,
}

impl Block {
    fn new(base: u64, slots: usize, areas: usize) -> Self {
        Self {
            base: Some(base),
            areas,
            slots: vec![None; slots],
            bytes: vec![0; slots * SLOT as usize],
            idle: 0,
        }
    }

    fn free(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_none()).count()
    }

    pub(super) fn holds(&self, at: u64) -> bool {
        let end = |base: u64| base + self.bytes.len() as u64;
        self.base.is_some_and(|base| base <= at && at < end(base))
    }
}

/// The location of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    Block(usize),
    Transient(usize),
}

/// The segment of an area where CPU turn `turn` begins its search: the first one, the middle one,
/// the middles of both halves, and so on.
fn begin(segments: usize, turn: usize) -> usize {
    let (mut begin, mut stretch, mut left) = (0, 1, turn);
    while 2 * stretch <= segments {
        stretch *= 2;
    }
    while stretch > 1 {
        stretch /= 2;
        begin += stretch * (left % 2);
        left /= 2;
    }
    begin
}

/// All blocks of the naive pool.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    pub(super) world: World,
    path: Path,
    pub(super) cpu: usize,
    pub(super) blocks: Vec<Block>,
    pub(super) transients: Vec<Option<Block>>,
    wants_growth: bool,
}

impl Slots {
    pub(super) fn new(world: &World, path: Path) -> Self {
        let mut slots = Self {
            world: world.clone(),
            path,
            cpu: 0,
            blocks: Vec::new(),
            transients: vec![None; world.plan.transients],
            wants_growth: false,
        };
        let plan = world.plan;
        let first = slots.add_block(plan.slots, plan.block_min, u64::MAX);
        first.expect("the first block has a place");
        slots
    }

    /// The blocks that have memory, without transient blocks.
    pub(super) fn awake(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(|block| block.base.is_some())
    }

    /// All blocks that have memory, transient blocks last.
    pub(super) fn all(&self) -> impl Iterator<Item = &Block> {
        self.awake().chain(self.transients.iter().flatten())
    }

    /// The number of free slots, without those of transient blocks.
    pub(super) fn free(&self) -> usize {
        self.awake().map(Block::free).sum()
    }

    /// Pairs of a block and a distance from the CPU's own area, in search order.
    fn path(&self) -> Vec<(usize, usize)> {
        let blocks = self.blocks.iter().enumerate();
        let steps =
            blocks.flat_map(|(index, block)| (0..block.areas).map(move |step| (index, step)));
        let mut path: Vec<_> = steps.collect();
        if self.path == Path::AreaFirst {
            // Steps of one distance stay in the order of their blocks.
            path.sort_by_key(|(_, step)| *step);
        }
        path
    }

    /// The first place that the rules allow.
    fn find(&self, limits: &Limits, rules: &Rules) -> Option<(usize, usize)> {
        let reach = limits.reach.raw();
        let slots = rules.slots as usize;
        for (index, step) in self.path() {
            let block = &self.blocks[index];
            let Some(base) = block.base else { continue };
            if base + (block.bytes.len() as u64 - 1) > reach {
                continue;
            }
            let each = block.slots.len() / block.areas;
            let segment = self.world.segment.min(each);
            let area = (self.cpu + step) % block.areas;
            let begin = segment * begin(each / segment, self.cpu / block.areas + step);
            let slots_of_area = (begin..each).chain(0..begin);
            for slot in slots_of_area.map(|slot| area * each + slot) {
                let in_segment = slot % each % segment + slots <= segment;
                let free = || block.slots[slot..slot + slots].iter().all(Option::is_none);
                if in_segment && free() && rules.allow(base + slot as u64 * SLOT) {
                    return Some((index, slot));
                }
            }
        }
        None
    }

    /// Takes a run for a mapping, from new memory if necessary.
    pub(super) fn take(
        &mut self,
        limits: &Limits,
        rules: &Rules,
    ) -> Result<(Home, usize), MapError> {
        let block = |(index, slot)| (Home::Block(index), slot);
        if let Some(found) = self.find(limits, rules) {
            return Ok(block(found));
        }
        let reach = limits.reach.raw();
        match self.world.plan.growth {
            Growth::Never => {}
            Growth::Deferred => self.wants_growth = true,
            Growth::Inline => {
                let _ = self.grow(reach, rules.slots as usize);
                if let Some(found) = self.find(limits, rules) {
                    return Ok(block(found));
                }
            }
        }
        if let Some(found) = self.take_transient(reach, rules) {
            return Ok(found);
        }
        let reached = |block: &&Block| {
            let last = block.base.map(|base| base + (block.bytes.len() as u64 - 1));
            last.is_some_and(|last| last <= reach)
        };
        match self.blocks.iter().find(reached) {
            Some(_) => Err(MapError::Full {
                wanted: rules.slots as u32,
                free: self.free(),
            }),
            None => Err(MapError::Unreachable(limits.reach)),
        }
    }

    fn take_transient(&mut self, reach: u64, rules: &Rules) -> Option<(Home, usize)> {
        let place = self.transients.iter().position(Option::is_none)?;
        let before = rules.slots_before() as usize;
        let slots = before + rules.slots as usize;
        // No run has more than a segment's slots, so no memory is obtained for it.
        if slots > 128 {
            return None;
        }
        let len = slots * SLOT as usize;
        let reach = reach.min(self.world.plan.reach.raw());
        let base = self.world.addresses.place(len, rules.stride(), reach)?;
        let first =
            (0..=slots - rules.slots as usize).find(|slot| rules.allow(base + *slot as u64 * SLOT));
        if first != Some(before) {
            return None;
        }
        self.transients[place] = Some(Block::new(base, slots, 0));
        Some((Home::Transient(place), before))
    }

    pub(super) fn home(&mut self, home: Home) -> &mut Block {
        match home {
            Home::Block(index) => &mut self.blocks[index],
            Home::Transient(index) => self.transients[index].as_mut().expect("it exists"),
        }
    }

    pub(super) fn grow(&mut self, reach: u64, slots: usize) -> Result<usize, GrowError> {
        let plan = self.world.plan;
        if plan.growth == Growth::Never {
            return Err(GrowError::Never);
        }
        self.add_block(plan.block_slots, plan.block_min.max(slots), reach)
    }

    fn areas_of(&self, slots: usize) -> usize {
        let plan = self.world.plan;
        let least = self.world.segment.min(plan.slots / plan.areas);
        let mut areas = plan.areas;
        while areas > 1 && slots / areas < least {
            areas /= 2;
        }
        areas
    }

    fn add_block(&mut self, slots: usize, min: usize, reach: u64) -> Result<usize, GrowError> {
        let plan = self.world.plan;
        if self.awake().count() >= plan.blocks {
            return Err(GrowError::Limit(plan.blocks));
        }
        let reach = reach.min(plan.reach.raw());
        let mut slots = slots;
        loop {
            let sleeping = |block: &Block| block.base.is_none() && block.slots.len() == slots;
            let place = self.blocks.iter().position(sleeping);
            let refused = if place.is_none() && self.blocks.len() == plan.blocks {
                GrowError::Limit(plan.blocks)
            } else {
                let len = slots * SLOT as usize;
                let align = (len as u64).next_power_of_two().min(128 * SLOT);
                if let Some(base) = self.world.addresses.place(len, align, reach) {
                    let block = Block::new(base, slots, self.areas_of(slots));
                    match place {
                        Some(index) => self.blocks[index] = block,
                        None => self.blocks.push(block),
                    }
                    return Ok(slots);
                }
                GrowError::NoMemory
            };
            if slots / 2 < min.max(1) {
                return Err(refused);
            }
            slots /= 2;
        }
    }

    pub(super) fn tend(&mut self) -> Tended {
        let mut tended = Tended::default();
        if core::mem::take(&mut self.wants_growth) {
            let plan = self.world.plan;
            let added = self.add_block(plan.block_slots, plan.block_min, u64::MAX);
            tended.grown = added.unwrap_or(0);
        }
        if tended.grown > 0 {
            return tended;
        }
        let patience = self.world.plan.patience.max(1);
        let slots: usize = self.awake().map(|block| block.slots.len()).sum();
        let free = self.free();
        let mut gone = None;
        for index in (1..self.blocks.len()).rev() {
            let block = &mut self.blocks[index];
            let own = block.slots.len();
            if block.base.is_none() {
                continue;
            }
            let empty = block.free() == own;
            block.idle = if empty { block.idle + 1 } else { 0 };
            let roomy = empty && 2 * (free - own) >= slots - own;
            if gone.is_none() && block.idle >= patience && roomy {
                gone = Some(index);
            }
        }
        if let Some(index) = gone {
            self.blocks[index].base = None;
            tended.given_back = self.blocks[index].slots.len();
        }
        tended
    }

    /// Forgets sleeping blocks, and how often each block was found empty.
    ///
    /// Returns a function from each old location to the new one.
    pub(super) fn save_restore(&mut self) -> impl Fn(Home) -> Home + use<> {
        let awake: Vec<bool> = self
            .blocks
            .iter()
            .map(|block| block.base.is_some())
            .collect();
        let used: Vec<bool> = self.transients.iter().map(Option::is_some).collect();
        self.blocks.retain(|block| block.base.is_some());
        self.blocks.iter_mut().for_each(|block| block.idle = 0);
        // Used ones come first, in their order.
        self.transients.sort_by_key(Option::is_none);
        self.wants_growth = false;
        let before = |all: &[bool], index: usize| all[..index].iter().filter(|is| **is).count();
        move |home| match home {
            Home::Block(index) => Home::Block(before(&awake, index)),
            Home::Transient(index) => Home::Transient(before(&used, index)),
        }
    }
}
