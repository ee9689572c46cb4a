//! Operations on a space. Each of them calls user code.

use std::cell::Cell;
use std::mem::forget;

use furlong::addr::{Address, VirtAddr};
use furlong::vmspace::{
    Access, Advice, At, Config, Flags, Freed, Hold, Layout, Prot, Remap, RemapFlags, Request, Space,
};
use furlong_spec::Random;
use furlong_spec::hostile::{Watch, user_code};

use super::world::{Object, page};

/// The number of pages that streams use.
const PAGES: u64 = 160;
/// The first page of the heap, above them.
const HEAP: u64 = 200;

/// An operation on a space. All numbers are in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    Map(u64, u64, bool),
    Anywhere(u64),
    Unmap(u64, u64),
    Protect(u64, u64, bool),
    Advise(u64, u64),
    Update(u64, u64, bool),
    Move(u64, u64, u64),
    Resize(u64, u64, u64),
    Break(u64),
    Fault(u64),
    Clear,
}

use Operation::{Advise, Anywhere, Break, Clear, Fault, Map, Move, Protect, Resize, Unmap, Update};

/// The caller's treatment of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Caller {
    Drops,
    Forgets,
}

pub(crate) fn operation(random: &mut Random) -> Operation {
    let (at, len) = (random.below(PAGES), 1 + random.below(6));
    let (other, wide) = (random.below(PAGES), 1 + random.below(PAGES / 2));
    let is_write = random.below(2) == 0;
    match random.below(16) {
        0 | 1 => Map(at, len, is_write),
        2 | 3 => Map(at, wide, is_write),
        4 => Anywhere(len),
        5 => Unmap(at, len),
        6 | 7 => Unmap(at, wide),
        8 => Protect(at, len, is_write),
        9 | 10 => Protect(at, wide, is_write),
        11 if is_write => Advise(at, wide),
        11 => Update(at, wide, len.is_multiple_of(2)),
        12 => Move(at, other, len),
        13 => Resize(at, len, len + other % 7),
        14 if is_write => Break(random.below(9)),
        14 => Fault(at),
        _ if at < 40 => Clear,
        _ => Resize(at, len, 1),
    }
}

fn address(number: u64) -> VirtAddr {
    VirtAddr::new(page(number))
}

fn prot(is_write: bool) -> Prot {
    if is_write {
        Prot::READ | Prot::WRITE
    } else {
        Prot::READ
    }
}

/// Flags for [`Space::update`]. A liar gives equal flags different answers, and sometimes ones that
/// are refused.
fn new_flags(is_liar: bool) -> impl Fn(Flags) -> Flags {
    let calls = Cell::new(0_u16);
    move |flags| {
        user_code("new");
        calls.set(calls.get() + 1);
        match is_liar {
            true => Flags::from_bits(flags.bits() ^ calls.get() << 7),
            false => flags | Flags::CALLER,
        }
    }
}

/// Runs an operation, which may be refused. Does not keep any result.
pub(crate) fn apply<C: Config, H: Hold>(
    space: &mut Space<Object, C, H>,
    operation: Operation,
    caller: Caller,
    watch: &Watch,
) {
    let freed = |freed: Freed<Object>| {
        user_code("freed");
        match caller {
            Caller::Drops => drop(freed),
            Caller::Forgets => forget(freed),
        }
    };
    let object = |number: u64| Object(watch.value(number));
    match operation {
        Map(at, len, is_write) => {
            let request = Request::anonymous(len << 12, prot(is_write), object(at % 2));
            drop(space.map(request.at(At::Fixed(address(at))), freed));
        }
        Anywhere(len) => {
            let request = Request::anonymous(len << 12, Prot::READ, object(len));
            let request = request.flags(Flags::GROWS_DOWN);
            drop(space.map(request, freed));
        }
        Unmap(at, len) => {
            let _ = space.unmap(address(at), len << 12, freed);
        }
        Protect(at, len, is_write) => {
            let _ = space.protect(address(at), len << 12, prot(is_write), freed);
        }
        Advise(at, len) => {
            let _ = space.advise(address(at), len << 12, Advice::DontFork, freed);
        }
        Update(at, len, is_liar) => {
            let new = new_flags(is_liar);
            let _ = space.update(address(at), len << 12, new, freed);
        }
        Move(at, to, len) => {
            let remap = Remap {
                start: address(at),
                old_len: len << 12,
                new_len: len << 12,
                flags: RemapFlags::MAY_MOVE | RemapFlags::FIXED,
                new_start: address(to),
            };
            let _ = space.remap(&remap, freed);
        }
        Resize(at, len, to) => {
            let remap = Remap {
                start: address(at),
                old_len: len << 12,
                new_len: to << 12,
                flags: RemapFlags::MAY_MOVE,
                new_start: address(0),
            };
            let _ = space.remap(&remap, freed);
        }
        Break(pages) => {
            let _ = space.set_brk(address(HEAP + pages), object(9), freed);
        }
        Fault(at) => drop(space.fault(address(at), Access::Write)),
        Clear => space.clear(freed),
    }
}

/// Maps the initial state: at most `len` areas, up to two pages apart, and in some spaces a heap of
/// four pages.
pub(crate) fn begin<C: Config, H: Hold>(
    space: &mut Space<Object, C, H>,
    len: u64,
    random: &mut Random,
    watch: &Watch,
) {
    let mut at = random.below(2);
    for _ in 0..len {
        let pages = 1 + random.below(3);
        let is_write = random.below(2) == 0;
        apply(space, Map(at, pages, is_write), Caller::Drops, watch);
        at += pages + random.below(2) * random.below(3);
    }
    space.start_brk(address(HEAP));
    if len % 2 == 1 {
        apply(space, Break(4), Caller::Drops, watch);
    }
}

/// All mapped areas: first and last byte, whether it is writable, and its number.
pub(crate) fn contents<C: Config, H: Hold>(
    space: &Space<Object, C, H>,
) -> Vec<(u64, u64, bool, u64)> {
    let areas = space.areas().map(|area| {
        let (first, last) = (area.extent.start().raw(), area.extent.last().raw());
        let is_write = area.prot.contains(Prot::WRITE);
        (first, last, is_write, area.value.0.number())
    });
    areas.collect()
}

/// A layout with enough room.
pub(crate) const LAYOUT: Layout = Layout::LINUX_X86_64;
