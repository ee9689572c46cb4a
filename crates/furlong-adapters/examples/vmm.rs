//! The address ranges of a virtual machine monitor: plugged guest memory, registers of PCI devices,
//! and device addresses.
//!
//! ```text
//! cargo run -p furlong-adapters --example vmm
//! ```
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};

use furlong::addr::{Address, Extent, Iova, Pfn, PhysAddr};
use furlong::maple::Maple;
use furlong::phys::{Descriptor, Plug, SegmentTable};
use furlong_adapters::vm_allocator::AddressAllocator;
use vm_allocator::AllocPolicy;

const PAGE: usize = 4096;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The state of a guest page: whether it must be sent again before the guest moves to another
/// machine.
struct Page {
    is_dirty: AtomicBool,
}

impl Descriptor for Page {
    fn of_frame(_: Pfn) -> Self {
        Self {
            is_dirty: AtomicBool::new(false),
        }
    }
}

/// The memory of a guest: one segment for each piece. Its user value selects the block that holds
/// its bytes.
struct Memory {
    segments: SegmentTable<Page>,
    blocks: Vec<Vec<u8>>,
}

impl Memory {
    /// Makes the pieces from their addresses and sizes in bytes, both multiples of a page.
    fn new(pieces: &[(u64, u64)]) -> Result<Self, Box<dyn Error>> {
        let mut memory = Self {
            segments: SegmentTable::new(),
            blocks: Vec::new(),
        };
        memory.segments.get_mut().grow_on_heap();
        for (start, bytes) in pieces {
            memory.plug(*start, *bytes)?;
        }
        memory.segments.get_mut().start()?;
        Ok(memory)
    }

    fn plug(&mut self, start: u64, bytes: u64) -> Result<(), Box<dyn Error>> {
        let first = start / PAGE as u64;
        let frames = Extent::from_len(Pfn::new(first), bytes / PAGE as u64).ok_or("no frames")?;
        let block = self.blocks.len() as u64;
        self.segments
            .get_mut()
            .plug(Plug::new(frames).user(block))?;
        self.blocks.push(vec![0; bytes as usize]);
        Ok(())
    }

    /// Writes bytes of one page, as a device does.
    fn write(&mut self, at: PhysAddr, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
        let page = at.raw() as usize / PAGE;
        let inside = at.raw() as usize % PAGE;
        let segments = self.segments.get_mut();
        let (id, index) = segments.find(Pfn::new(page as u64)).ok_or("no memory")?;
        let block = segments.get(id)?.user as usize;
        let page = segments.view().page(at).ok_or("no memory")?;
        // Relaxed: the devices are stopped before pages are sent.
        page.is_dirty.store(true, Ordering::Relaxed);
        let place = index as usize * PAGE + inside;
        let place = self.blocks[block].get_mut(place..place + bytes.len());
        place.ok_or("it crosses the end")?.copy_from_slice(bytes);
        Ok(())
    }

    fn dirty(&self) -> Vec<Pfn> {
        let segments = self.segments.lock();
        let frames = segments
            .iter()
            .flat_map(|segment| segment.frames.start().raw()..=segment.frames.last().raw());
        let frames = frames.map(Pfn::new);
        let is_dirty = |frame: &Pfn| {
            let page = segments.view().page_of(*frame);
            // Relaxed: as above.
            page.is_some_and(|page| page.is_dirty.load(Ordering::Relaxed))
        };
        frames.filter(is_dirty).collect()
    }
}

/// The guest memory that a device may access, by device address.
struct Device {
    translations: Maple<Iova, Box<u64>>,
}

impl Device {
    fn write(&mut self, memory: &mut Memory, at: Iova, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
        let found = self.translations.view().get(at);
        let (mapped, guest) = found.ok_or("the device may not write there")?;
        let guest = guest + (at.raw() - mapped.start().raw());
        memory.write(PhysAddr::new(guest), bytes)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // One piece below the hole for devices, and one above 4 GiB.
    let mut memory = Memory::new(&[(0, 8 * MIB), (4 * GIB, 4 * MIB)])?;

    let mut hole = AddressAllocator::new(3 * GIB, GIB)?;
    hole.allocate(2 * MIB, PAGE as u64, AllocPolicy::ExactMatch(0xfec0_0000))?;
    for (name, bytes) in [
        ("disk", 0x4000),
        ("network", 0x1000),
        ("graphics", 256 * MIB),
    ] {
        let registers = hole.allocate(bytes, bytes, AllocPolicy::FirstMatch)?;
        println!("{name:>8}: registers at {:#x}", registers.start());
    }

    let mut disk = Device {
        translations: Maple::new(),
    };
    let buffer = Extent::from_len(Iova::new(0x10_0000), 4 * PAGE as u64).ok_or("a buffer")?;
    disk.translations
        .insert(buffer, Box::new(4 * GIB + 0x3000))?;
    disk.write(&mut memory, Iova::new(0x10_1200), b"sector")?;
    let refused = disk.write(&mut memory, Iova::new(0x20_0000), b"sector");
    println!(
        "elsewhere: {}",
        refused.expect_err("nothing is mapped there")
    );
    assert_eq!(memory.dirty(), [Pfn::new((4 * GIB + 0x4000) / PAGE as u64)]);
    println!("dirty: {:?}", memory.dirty());

    // Plug more memory, then unplug a part of it.
    memory.plug(4 * GIB + 4 * MIB, 4 * MIB)?;
    let upper = (4 * GIB + 6 * MIB) / PAGE as u64;
    let upper = Extent::from_len(Pfn::new(upper), 2 * MIB / PAGE as u64).ok_or("frames")?;
    memory.segments.get_mut().unplug(upper)?;
    let pages = memory.segments.lock().managed();
    println!(
        "memory: {pages} pages in {} segments",
        memory.segments.lock().len()
    );
    assert_eq!(pages * PAGE as u64, 14 * MIB);
    Ok(())
}
