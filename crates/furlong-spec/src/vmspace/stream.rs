//! Operations from a seed, or from any other choices.

use core::iter;

use furlong::addr::{Address, Extent, VirtAddr};
use furlong::vmspace::{Access, Advice, At, Flags, MapError, Prot, Remap, RemapFlags, Request};

use super::{Operation, World};
use crate::mix::Mix;
use crate::{Choices, Random};

/// `count` operations of all kinds, many of them mistakes. Equal arguments give equal streams.
pub fn operations(
    world: World,
    mix: Mix,
    count: usize,
    seed: u64,
) -> impl Iterator<Item = Operation> + use<> {
    chosen(world, mix, Random::new(seed)).take(count)
}

/// The same operations until the choices are spent.
pub fn chosen<C: Choices>(
    world: World,
    mix: Mix,
    random: C,
) -> impl Iterator<Item = Operation> + use<C> {
    let mut chance = Chance { random, world };
    iter::from_fn(move || {
        let is_left = !chance.random.is_spent();
        is_left.then(|| chance.operation(mix))
    })
}

struct Chance<C> {
    random: C,
    world: World,
}

impl<C: Choices> Chance<C> {
    fn operation(&mut self, mix: Mix) -> Operation {
        let maps = match mix {
            Mix::Growing => 40,
            Mix::Steady => 25,
            Mix::Shrinking => 12,
        };
        match self.random.below(100) {
            chance if chance < maps => Operation::Map(self.request()),
            chance if chance < 50 => Operation::Unmap(self.address(), self.len()),
            50..60 => Operation::Protect(self.address(), self.len(), self.prot()),
            60..67 => Operation::Advise(self.address(), self.len(), self.advice()),
            67..70 => Operation::Update(self.address(), self.len(), self.changed_flags()),
            70..80 => Operation::Remap(self.remap()),
            80..81 => Operation::StartBrk(self.inside()),
            81..86 => Operation::Brk(self.address()),
            86..92 => Operation::Fault(self.address(), self.access()),
            92..94 => Operation::Find(self.address()),
            94..95 => Operation::Next(self.address()),
            95..96 => Operation::AreasIn(self.extent()),
            96..97 => Operation::Usage,
            97..98 => Operation::Fork,
            98 if self.one_in(20) => Operation::Clear,
            _ => Operation::Areas,
        }
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.random.below(count) == 0
    }

    /// The start of a page of the world.
    fn inside(&mut self) -> VirtAddr {
        let page = self.world.first + self.random.below(self.world.pages);
        self.world.address(page)
    }

    /// An address: mostly the start of a page of the world, sometimes of one near it, or within a
    /// page.
    fn address(&mut self) -> VirtAddr {
        let at = self.inside();
        match self.random.below(40) {
            0 => VirtAddr::new(at.raw() + 1 + self.random.below(self.world.page - 1)),
            1 => self
                .world
                .address(self.world.first.wrapping_sub(1 + self.random.below(3))),
            2 => self
                .world
                .address(self.world.last().wrapping_add(1 + self.random.below(3))),
            3 => VirtAddr::new(u64::MAX - self.random.below(2) * (self.world.page - 1)),
            4 => VirtAddr::new(0),
            _ => at,
        }
    }

    fn len(&mut self) -> u64 {
        let page = self.world.page;
        match self.random.below(40) {
            0 => 0,
            1 => u64::MAX - self.random.below(page),
            2 => u64::MAX - page + 1 - self.random.below(2) * page,
            3 => self.world.pages * page + self.random.below(3) * page,
            4..7 => 1 + self.random.below(4 * page),
            7..10 => (1 + self.random.below(self.world.pages)) * page,
            _ => (1 + self.random.below(6)) * page,
        }
    }

    fn prot(&mut self) -> Prot {
        let usual = [0, 1, 3, 3, 3, 5, 7];
        let bits = match self.random.below(30) {
            0 => 8 | 3,
            1 => 16,
            2 => 0x0300_0001,
            3 => 0x0200_0001,
            4..7 => 0x0100_0000 | self.random.pick(&usual),
            _ => self.random.pick(&usual),
        };
        Prot::from_bits(bits)
    }

    fn access(&mut self) -> Access {
        self.random
            .pick(&[Access::Read, Access::Write, Access::Execute])
    }

    fn advice(&mut self) -> Advice {
        self.random.pick(&[
            Advice::DontFork,
            Advice::DoFork,
            Advice::WipeOnFork,
            Advice::KeepOnFork,
        ])
    }

    /// Two of the caller's flags, one at a time; occasionally a flag of the space.
    fn changed_flags(&mut self) -> [Flags; 2] {
        let own = [1 << 8, 1 << 15, 1 << 8, 1 << 15];
        let flag = match self.one_in(8) {
            true => Flags::DONT_EXPAND,
            false => Flags::from_bits(self.random.pick(&own)),
        };
        match self.one_in(2) {
            true => [flag, Flags::NONE],
            false => [Flags::NONE, flag],
        }
    }

    fn extent(&mut self) -> Extent<VirtAddr> {
        let (one, other) = (self.address(), self.address());
        let extent = Extent::from_last(one.min(other), one.max(other));
        extent.expect("it is in order")
    }

    fn flags(&mut self) -> Flags {
        match self.random.below(20) {
            0..3 => Flags::SHARED,
            3..7 => Flags::GROWS_DOWN,
            7 => Flags::SHARED | Flags::GROWS_DOWN,
            8 => Flags::DONT_COPY,
            9 => Flags::DONT_EXPAND,
            10 => Flags::OBJECT | Flags::DROPPABLE,
            _ => Flags::NONE,
        }
    }

    fn request(&mut self) -> Request<u32> {
        let start = self.address();
        let at = match self.random.below(20) {
            0..8 => At::Anywhere,
            8..11 => At::Hint(start),
            11..17 => At::Fixed(start),
            _ => At::Vacant(start),
        };
        let object = self.random.below(5) as u32;
        let page = self.world.page;
        let offset = match self.random.below(20) {
            0 => Some(self.random.below(page)),
            1 => Some((u64::MAX >> page.trailing_zeros()) * page),
            // Neighbours in the space are neighbours in the object as well.
            2..7 => Some((start.raw() / page).wrapping_mul(page) >> 1 & !(page - 1)),
            7..9 => Some(self.random.below(4) * page),
            _ => None,
        };
        let align = match self.random.below(30) {
            0 => page * 3,
            1..5 => page << self.random.below(4),
            _ => 0,
        };
        let window = self.one_in(10).then(|| (self.address(), self.address()));
        let refusal = self.refusal();
        let may = if self.one_in(12) {
            Prot::from_bits(self.random.below(8) as u32)
        } else {
            Prot::ALL
        };
        Request {
            at,
            may,
            align,
            offset,
            window,
            refusal,
            flags: self.flags(),
            ..Request::anonymous(self.len(), self.prot(), object)
        }
    }

    /// A caller's refusal to map an object.
    fn refusal(&mut self) -> Option<MapError> {
        use MapError::{Kind, NoDevice, NoExec, Unsupported};
        let known = [NoExec, NoDevice, Unsupported, Kind];
        self.one_in(30).then(|| self.random.pick(&known))
    }

    fn remap(&mut self) -> Remap {
        let flags = match self.random.below(20) {
            0..4 => 0,
            4..9 => 1,
            9..14 => 3,
            14..17 => 5,
            17 => 7,
            18 => 2,
            _ => self.random.below(16) as u32,
        };
        let old_len = self.len();
        let new_len = if flags & 4 != 0 && !self.one_in(8) {
            old_len
        } else if self.one_in(12) {
            // More than any object has behind its first page.
            u64::MAX - self.world.page + 1
        } else {
            self.len()
        };
        Remap {
            start: self.address(),
            old_len,
            new_len,
            flags: RemapFlags::from_bits(flags),
            new_start: self.address(),
        }
    }
}
