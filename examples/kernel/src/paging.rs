//! Page tables: the direct map of all memory, and what `vmspace` has pages for.

use core::arch::asm;

use furlong::addr::{Address, PhysAddr, VirtAddr};
use furlong::vmspace::Prot;

use crate::direct::{self, PAGE};

/// Bits of an entry.
const PRESENT: u64 = 1;
const WRITABLE: u64 = 1 << 1;
const LARGE: u64 = 1 << 7;
const NO_EXECUTE: u64 = 1 << 63;
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

const ENTRIES: u64 = 512;
/// Logarithm of the bytes that an entry of a table maps, by the level of the table, from the
/// pages up.
const SHIFTS: [u32; 4] = [12, 21, 30, 39];
const GIB: u64 = 1 << 30;
/// The memory that is mapped since boot.
const MAPPED: u64 = 4 * GIB;

/// A table, or an entry of one.
#[derive(Clone, Copy)]
struct Table(PhysAddr);

/// Of a table of this level, the number of the entry that maps an address.
fn number(at: VirtAddr, level: usize) -> u64 {
    at.raw() >> SHIFTS[level] & (ENTRIES - 1)
}

impl Table {
    /// The uppermost one.
    fn root() -> Self {
        let root: u64;
        // SAFETY: it reads a register.
        unsafe { asm!("mov {}, cr3", out(reg) root, options(nomem, nostack, preserves_flags)) };
        Self(PhysAddr::new(root & ADDRESS))
    }

    fn entry(self, number: u64) -> *mut u64 {
        direct::pointer(self.0)
            .as_ptr()
            .cast::<u64>()
            .wrapping_add(number as usize)
    }

    fn get(self, number: u64) -> u64 {
        // SAFETY: a table has 512 entries; it is changed by nobody but this file and the CPU.
        unsafe { self.entry(number).read_volatile() }
    }

    fn set(self, number: u64, entry: u64) {
        // SAFETY: as above.
        unsafe { self.entry(number).write_volatile(entry) };
    }

    /// The table below an entry.
    fn below(self, number: u64) -> Option<Self> {
        let entry = self.get(number);
        let is_table = entry & PRESENT != 0 && entry & LARGE == 0;
        is_table.then(|| Self(PhysAddr::new(entry & ADDRESS)))
    }

    /// The same; one that is missing is made, of a page of zeros.
    fn below_or(self, number: u64, page: impl FnOnce() -> PhysAddr) -> Self {
        self.below(number).unwrap_or_else(|| {
            let fresh = page();
            self.set(number, fresh.raw() | PRESENT | WRITABLE);
            Self(fresh)
        })
    }

    /// The table that has the pages around an address.
    fn of_pages(at: VirtAddr) -> Option<Self> {
        (1..4)
            .rev()
            .try_fold(Self::root(), |table, level| table.below(number(at, level)))
    }
}

/// The permissions of a page as bits of an entry.
fn rights(prot: Prot) -> u64 {
    let when = |is_so: bool, bit: u64| if is_so { bit } else { 0 };
    let present = when(prot.known() != Prot::NONE, PRESENT);
    let writable = when(prot.contains(Prot::WRITE), WRITABLE);
    let no_execute = when(!prot.contains(Prot::EXEC), NO_EXECUTE);
    present | writable | no_execute
}

/// Maps memory above 4 GiB where it is, up to `end`. A table a GiB, of pages of zeros that `page`
/// gives.
pub(crate) fn map_memory(end: PhysAddr, mut page: impl FnMut() -> PhysAddr) {
    let of_gibs = Table::root().below(0).expect("boot has made it");
    let (first, end) = (MAPPED / GIB, end.raw().div_ceil(GIB));
    assert!(end <= ENTRIES, "there are at most {ENTRIES} GiB");
    for gib in first..end {
        let table = of_gibs.below_or(gib, &mut page);
        for at in 0..ENTRIES {
            let start = gib * GIB + (at << SHIFTS[1]);
            table.set(at, start | PRESENT | WRITABLE | LARGE);
        }
    }
}

/// Takes a page out of the direct map, so that whoever touches it is stopped. `page` is one of
/// zeros, for the table of its neighbours.
pub(crate) fn guard(at: PhysAddr, page: PhysAddr) {
    let (at, small) = (VirtAddr::new(at.raw()), Table(page));
    let of_gib = Table::root().below(number(at, 3));
    let of_gib = of_gib.and_then(|table| table.below(number(at, 2)));
    let of_gib = of_gib.expect("boot has mapped it");
    let large = of_gib.get(number(at, 1));
    assert!(large & LARGE != 0, "boot has mapped it in a large page");
    for neighbour in (0..ENTRIES).filter(|neighbour| *neighbour != number(at, 0)) {
        small.set(neighbour, (large & !LARGE) + (neighbour << SHIFTS[0]));
    }
    of_gib.set(number(at, 1), page.raw() | PRESENT | WRITABLE);
    flush();
}

/// Maps a page. `page` gives pages of zeros for tables.
pub(crate) fn map(at: VirtAddr, frame: PhysAddr, prot: Prot, mut page: impl FnMut() -> PhysAddr) {
    let table = (1..4).rev().fold(Table::root(), |table, level| {
        table.below_or(number(at, level), &mut page)
    });
    table.set(number(at, 0), frame.raw() | rights(prot));
}

/// The memory of a page that is mapped.
pub(crate) fn translate(at: VirtAddr) -> Option<PhysAddr> {
    let entry = Table::of_pages(at)?.get(number(at, 0));
    (entry & ADDRESS != 0).then(|| PhysAddr::new(entry & ADDRESS | at.raw() & (PAGE - 1)))
}

/// Lets a page that is mapped allow something else.
pub(crate) fn protect(at: VirtAddr, prot: Prot) {
    if let (Some(frame), Some(table)) = (translate(at), Table::of_pages(at)) {
        table.set(number(at, 0), frame.raw() & ADDRESS | rights(prot));
        forget(at);
    }
}

/// Unmaps a page that is mapped, and gives its memory.
pub(crate) fn unmap(at: VirtAddr) -> Option<PhysAddr> {
    let frame = translate(at)?;
    Table::of_pages(at)?.set(number(at, 0), 0);
    forget(at);
    Some(frame)
}

/// Takes all tables out below the uppermost one's entry for an address, and hands them to `freed`.
/// Nothing is mapped there any more.
pub(crate) fn clear(at: VirtAddr, mut freed: impl FnMut(PhysAddr)) {
    let (root, top) = (Table::root(), number(at, 3));
    if let Some(table) = root.below(top) {
        root.set(top, 0);
        free_tables(table, 2, &mut freed);
        flush();
    }
}

fn free_tables(table: Table, level: usize, freed: &mut impl FnMut(PhysAddr)) {
    if level > 0 {
        let below = (0..ENTRIES).filter_map(|at| table.below(at));
        below.for_each(|below| free_tables(below, level - 1, freed));
    }
    freed(table.0);
}

/// Takes a page out of the CPU's translations.
fn forget(at: VirtAddr) {
    // SAFETY: what is forgotten is looked up again.
    unsafe { asm!("invlpg [{}]", in(reg) at.raw(), options(nostack, preserves_flags)) };
}

/// Takes everything out.
fn flush() {
    let root = Table::root().0.raw();
    // SAFETY: the same root again; what is forgotten is looked up again.
    unsafe { asm!("mov cr3, {}", in(reg) root, options(nostack, preserves_flags)) };
}
