//! Operations from a seed, or from any other choices.
#![forbid(unsafe_code)]

use core::iter;

use furlong::bounce::{Back, Direction};

use super::operation::{Operation, Side};
use super::world::World;
use crate::mix::Mix;
use crate::{Choices, Random};

/// `count` operations of every kind, some of them mistakes. Equal arguments give equal streams.
pub fn operations(
    world: &World,
    mix: Mix,
    count: usize,
    seed: u64,
) -> impl Iterator<Item = Operation> + use<> {
    chosen(world, mix, Random::new(seed)).take(count)
}

/// The same operations until the choices are spent.
pub fn chosen<C: Choices>(
    world: &World,
    mix: Mix,
    random: C,
) -> impl Iterator<Item = Operation> + use<C> {
    let mut chance = Chance {
        random,
        devices: world.devices.len(),
        longest: world.segment * furlong::bounce::SLOT as usize,
        ram: world.ram,
        // So that several CPUs share an area, each with its own first segment.
        cpus: 4 * world.plan.areas,
    };
    iter::from_fn(move || {
        let is_left = !chance.random.is_spent();
        is_left.then(|| chance.operation(mix))
    })
}

struct Chance<C> {
    random: C,
    devices: usize,
    longest: usize,
    ram: usize,
    cpus: usize,
}

impl<C: Choices> Chance<C> {
    fn operation(&mut self, mix: Mix) -> Operation {
        let maps = match mix {
            Mix::Growing => 45,
            Mix::Steady => 34,
            Mix::Shrinking => 22,
        };
        match self.random.below(100) {
            chance if chance < maps => self.map(),
            chance if chance < 62 => Operation::Unmap(self.index(), self.back()),
            62..66 => Operation::OnCpu(self.random.index(self.cpus)),
            66..76 => self.sync(),
            76..82 => Operation::DeviceWrites(self.index(), self.random.next() as u8),
            82..86 => self.cpu_writes(),
            86..90 => self.mistake(),
            90 => Operation::UnmapAgain,
            91 => Operation::Grow,
            92..96 => Operation::Tend,
            96 => Operation::SaveRestore,
            97 => Operation::Free,
            _ => Operation::Bytes,
        }
    }

    fn index(&mut self) -> usize {
        self.random.index(1 << 16)
    }

    fn device(&mut self) -> usize {
        self.random.index(self.devices)
    }

    fn direction(&mut self) -> Direction {
        let number = self.random.below(3) as u8;
        Direction::from_number(number).expect("there are three")
    }

    /// A length: mostly short ones, and those at the limits.
    fn len(&mut self) -> usize {
        let longest = self.longest;
        match self.random.below(12) {
            0..5 => 1 + self.random.index(longest.min(4096)),
            5 => 4096.min(longest),
            6 => 2048,
            7..10 => 1 + self.random.index(longest),
            10 => [0, 1, 2047, 2049, longest - 1, longest, longest + 1][self.random.index(7)],
            _ => longest - self.random.index(longest / 2),
        }
    }

    fn map(&mut self) -> Operation {
        let (device, len) = (self.device(), self.len());
        if self.random.below(10) == 0 {
            return Operation::Allocate { device, len };
        }
        let room = self.ram - len;
        let original = match self.random.below(3) {
            0 => self.random.below(room as u64 / 2048 + 1) * 2048,
            _ => self.random.below(room as u64 + 1),
        };
        Operation::Map {
            device,
            original,
            len,
            direction: self.direction(),
        }
    }

    fn back(&mut self) -> Back {
        match self.random.below(6) {
            0 => Back::Nothing,
            1 => Back::First(self.len()),
            _ => Back::All,
        }
    }

    fn sync(&mut self) -> Operation {
        let delta = match self.random.below(3) {
            0 => 0,
            1 => self.random.below(5000),
            _ => self.random.below(300),
        };
        let side = [Side::Device, Side::Cpu][self.random.index(2)];
        Operation::Sync {
            mapping: self.index(),
            delta,
            len: self.random.index(2500),
            side,
        }
    }

    fn cpu_writes(&mut self) -> Operation {
        let len = 1 + self.random.index(3000.min(self.ram));
        let at = self.random.below((self.ram - len) as u64 + 1);
        Operation::CpuWrites(at, len, self.random.next() as u8)
    }

    fn mistake(&mut self) -> Operation {
        let delta = match self.random.below(3) {
            0 => 0,
            1 => 1 + self.random.below(100),
            _ => self.random.below(20_000),
        };
        Operation::UnmapWrongly {
            mapping: self.index(),
            delta,
            device: self.device(),
            direction: self.direction(),
        }
    }
}
