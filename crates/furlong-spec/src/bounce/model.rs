//! The naive pool: it keeps every slot and every byte separately.
#![forbid(unsafe_code)]

use furlong::addr::Iova;
use furlong::bounce::{Back, Direction, MapError, Misuse, SLOT, SyncError};

use super::machine::RAM;
use super::operation::{Operation, Outcome, Side};
use super::rules::Rules;
use super::slots::{Home, Slots};
use super::world::{Path, World, digest};
use crate::Subject;

#[derive(Clone, Copy, Debug)]
struct Mapping {
    name: u64,
    home: Home,
    slots: usize,
    at: u64,
    len: usize,
    original: Option<u64>,
    direction: Direction,
    device: usize,
}

/// The naive pool, with one of the two search orders.
#[derive(Clone, Debug)]
pub struct Model {
    memory: Slots,
    ram: Vec<u8>,
    mappings: Vec<Mapping>,
    ended: Option<Mapping>,
    names: u64,
}

const PAGE: u64 = 4096;

impl Model {
    /// An empty pool with its first block.
    ///
    /// # Panics
    /// If no address is left for the first block.
    #[must_use]
    pub fn new(world: &World, path: Path) -> Self {
        Self {
            memory: Slots::new(world, path),
            ram: vec![0; world.ram],
            mappings: Vec::new(),
            ended: None,
            names: 0,
        }
    }

    fn used_of(&self, device: usize) -> u64 {
        let own = self
            .mappings
            .iter()
            .filter(|mapping| mapping.device == device);
        own.map(|mapping| mapping.slots as u64).sum()
    }

    fn map(
        &mut self,
        device: usize,
        original: Option<u64>,
        len: usize,
        direction: Direction,
    ) -> Result<u64, MapError> {
        let limits = self.memory.world.devices[device];
        let rules = Rules::new(&limits, original, len, PAGE, self.memory.world.segment)?;
        let used = self.used_of(device);
        if let Some(quota) = limits
            .quota
            .filter(|quota| used + rules.slots > u64::from(*quota))
        {
            return Err(MapError::Quota {
                quota,
                used: used as u32,
                wanted: rules.slots as u32,
            });
        }
        let (home, slot) = self.memory.take(&limits, &rules)?;
        self.names += 1;
        let name = self.names;
        let block = self.memory.home(home);
        let base = block.base.expect("a run was found in it");
        let slots = rules.slots as usize;
        block.slots[slot..slot + slots].fill(Some(name));
        let start = slot * SLOT as usize;
        block.bytes[start..start + slots * SLOT as usize].fill(0);
        let at = base + slot as u64 * SLOT + rules.offset;
        let mapping = Mapping {
            name,
            home,
            slots,
            at,
            len,
            original,
            direction,
            device,
        };
        self.mappings.push(mapping);
        self.copy_in(&mapping, 0, len);
        Ok(at)
    }

    fn bytes_of(&mut self, mapping: &Mapping) -> &mut [u8] {
        let base = self.memory.home(mapping.home).base.expect("it is mapped");
        let start = (mapping.at - base) as usize;
        &mut self.memory.home(mapping.home).bytes[start..start + mapping.len]
    }

    fn copy_in(&mut self, mapping: &Mapping, from: usize, len: usize) {
        if let Some(original) = mapping.original {
            let start = (original - RAM) as usize + from;
            let bytes = self.ram[start..start + len].to_vec();
            self.bytes_of(mapping)[from..from + len].copy_from_slice(&bytes);
        }
    }

    fn copy_back(&mut self, mapping: &Mapping, from: usize, len: usize) {
        if let Some(original) = mapping.original {
            let bytes = self.bytes_of(mapping)[from..from + len].to_vec();
            let start = (original - RAM) as usize + from;
            self.ram[start..start + len].copy_from_slice(&bytes);
        }
    }

    fn end(&mut self, index: usize, back: Back) {
        let mapping = self.mappings.swap_remove(index);
        if mapping.direction.reaches_cpu() {
            let len = match back {
                Back::All => mapping.len,
                Back::First(written) => written.min(mapping.len),
                Back::Nothing => 0,
            };
            self.copy_back(&mapping, 0, len);
        }
        match mapping.home {
            Home::Block(index) => {
                let own = self.memory.blocks[index].slots.iter_mut();
                own.filter(|slot| **slot == Some(mapping.name))
                    .for_each(|slot| *slot = None);
            }
            Home::Transient(index) => self.memory.transients[index] = None,
        }
        self.ended = Some(mapping);
    }

    /// Index of the mapping that owns the slot at this address.
    fn at(&self, at: u64) -> Option<usize> {
        let block = self.memory.all().find(|block| block.holds(at))?;
        let slot = ((at - block.base?) / SLOT) as usize;
        let transient = block.areas == 0;
        let name = if transient {
            block.slots.iter().flatten().next()
        } else {
            block.slots[slot].as_ref()
        };
        self.mappings
            .iter()
            .position(|mapping| Some(&mapping.name) == name)
    }

    /// Index of the mapping at this address, or the mistake of a caller that does not own it.
    fn own(&self, at: u64, device: usize, direction: Direction) -> Result<usize, Misuse> {
        let index = self.at(at).ok_or(Misuse::NotMapped(Iova::new(at)))?;
        let mapping = self.mappings[index];
        if mapping.device != device {
            return Err(Misuse::Foreign(mapping.device as u32));
        }
        if mapping.original.is_none() {
            return Err(Misuse::Kind);
        }
        if mapping.direction != direction {
            return Err(Misuse::Direction(mapping.direction));
        }
        Ok(index)
    }

    /// Unmaps at `at`, or returns the caller's mistake.
    fn unmap_at(
        &mut self,
        at: u64,
        device: usize,
        direction: Direction,
        back: Back,
    ) -> Result<(), Misuse> {
        let index = self.own(at, device, direction)?;
        let start = self.mappings[index].at;
        if start != at {
            return Err(Misuse::NotStart(Iova::new(start)));
        }
        self.end(index, back);
        Ok(())
    }

    fn sync(&mut self, index: usize, delta: u64, len: usize, side: Side) -> Result<(), SyncError> {
        if len == 0 {
            return Err(SyncError::ZeroSize);
        }
        let mapping = self.mappings[index];
        let (direction, at) = (mapping.direction, mapping.at + delta);
        let mapping = self.mappings[self.own(at, mapping.device, direction)?];
        let outside = SyncError::Outside {
            start: Iova::new(mapping.at),
            len: mapping.len,
        };
        let from = at.checked_sub(mapping.at).ok_or(outside)? as usize;
        if from + len > mapping.len {
            return Err(outside);
        }
        match side {
            Side::Device if direction.reaches_device() => self.copy_in(&mapping, from, len),
            Side::Cpu if direction.reaches_cpu() => self.copy_back(&mapping, from, len),
            _ => {}
        }
        Ok(())
    }

    fn digest(&self) -> u64 {
        let mut hash = digest(0xcbf2_9ce4_8422_2325, &self.ram);
        for block in self.memory.all() {
            let base = block.base.expect("it has memory");
            hash = digest(hash, &base.to_le_bytes());
            hash = digest(hash, &block.bytes);
        }
        hash
    }

    fn slots(&self) -> [usize; 3] {
        let transient = |mapping: &&Mapping| matches!(mapping.home, Home::Transient(_));
        let transients = self.mappings.iter().filter(transient);
        [
            self.memory.awake().map(|block| block.slots.len()).sum(),
            self.memory.free(),
            transients.map(|mapping| mapping.slots).sum(),
        ]
    }

    fn unmap(&mut self, index: usize, back: Back) -> Outcome {
        let mapping = self.mappings[index];
        if mapping.original.is_none() {
            self.end(index, Back::Nothing);
            return Outcome::Done;
        }
        unmapped(self.unmap_at(mapping.at, mapping.device, mapping.direction, back))
    }

    /// Carries out an operation; `None` if it is for a mapping and there is none.
    fn attempt(&mut self, operation: &Operation) -> Option<Outcome> {
        let count = self.mappings.len();
        let of = |index: usize| index.checked_rem(count);
        Some(match *operation {
            Operation::OnCpu(cpu) => {
                self.memory.cpu = cpu;
                Outcome::Done
            }
            Operation::Map {
                device,
                original,
                len,
                direction,
            } => mapped(self.map(device, Some(RAM + original), len, direction)),
            Operation::Allocate { device, len } => {
                mapped(self.map(device, None, len, Direction::Both))
            }
            Operation::Unmap(index, back) => self.unmap(of(index)?, back),
            Operation::UnmapWrongly {
                mapping,
                delta,
                device,
                direction,
            } => {
                let at = self.mappings[of(mapping)?].at + delta;
                unmapped(self.unmap_at(at, device, direction, Back::All))
            }
            Operation::UnmapAgain => {
                let ended = self.ended?;
                unmapped(self.unmap_at(ended.at, ended.device, ended.direction, Back::All))
            }
            Operation::Sync {
                mapping,
                delta,
                len,
                side,
            } => {
                let synced = self.sync(of(mapping)?, delta, len, side);
                synced.map_or_else(Outcome::NotSynced, |()| Outcome::Done)
            }
            Operation::DeviceWrites(index, byte) => {
                let mapping = self.mappings[of(index)?];
                self.bytes_of(&mapping).fill(byte);
                Outcome::Done
            }
            Operation::CpuWrites(at, len, byte) => {
                self.ram[at as usize..at as usize + len].fill(byte);
                Outcome::Done
            }
            Operation::Grow => {
                let grown = self.memory.grow(u64::MAX, 1);
                grown.map_or_else(Outcome::NotGrown, Outcome::Grown)
            }
            Operation::Tend => Outcome::Tended(self.memory.tend()),
            Operation::SaveRestore => {
                let moved = self.memory.save_restore();
                let homes = self.mappings.iter_mut().map(|mapping| &mut mapping.home);
                homes.for_each(|home| *home = moved(*home));
                Outcome::Done
            }
            Operation::Free => Outcome::Free(self.slots()),
            Operation::Bytes => Outcome::Bytes(self.digest()),
        })
    }
}

fn unmapped(result: Result<(), Misuse>) -> Outcome {
    result.map_or_else(Outcome::NotUnmapped, |()| Outcome::Done)
}

fn mapped(result: Result<u64, MapError>) -> Outcome {
    result.map_or_else(Outcome::Refused, Outcome::Mapped)
}

impl Subject for Model {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        self.attempt(operation).unwrap_or(Outcome::NoMapping)
    }
}
