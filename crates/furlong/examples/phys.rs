//! The memory of a machine, from the firmware's list to hotplug.
//!
//! ```text
//! cargo run --example phys
//! ```
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};

use furlong::addr::{Extent, Pfn, PhysAddr};
use furlong::phys::{Descriptor, Node, Plug, SegmentTable};

/// The descriptor of a frame in this kernel.
struct Page {
    frame: Pfn,
    users: AtomicU64,
}

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        Self {
            frame,
            users: AtomicU64::new(0),
        }
    }

    fn is_pinned(&self) -> bool {
        self.users.load(Ordering::SeqCst) > 0
    }
}

/// A static: no allocator has run when it is first used.
static MEMORY: SegmentTable<Page> = SegmentTable::new();

fn main() -> Result<(), Box<dyn Error>> {
    boot()?;
    unplug_beside_a_reader()
}

fn frames(start: u64, end: u64) -> Result<Extent<Pfn>, &'static str> {
    Extent::from_end(Pfn::new(start), Pfn::new(end)).ok_or("a segment has frames")
}

/// Before an allocator exists: plugs segments, and steals frames for the first page tables.
fn boot() -> Result<(), Box<dyn Error>> {
    let mut memory = MEMORY.lock();
    let low = Plug::new(frames(0x1, 0x9f)?).node(Node(1));
    memory.plug(low)?;
    memory.plug(Plug::new(frames(0x100, 0x4000)?).avail(Pfn::new(0x800), Pfn::new(0x4000)))?;
    let overlap = memory.plug(frames(0x3fff, 0x5000)?);
    println!(
        "a range that the firmware lists twice: {}",
        overlap.expect_err("it overlaps")
    );
    println!(
        "stolen for a page table: frame {}",
        memory.steal_from(&[Node(0), Node(1)])?
    );

    memory.grow_on_heap();
    println!(
        "{} frames have descriptors and are available",
        memory.start()?
    );
    Ok(())
}

/// A virtual machine returns memory while an interrupt handler looks up its pages.
fn unplug_beside_a_reader() -> Result<(), Box<dyn Error>> {
    let reader = MEMORY.rcu().register()?;
    let guard = reader.enter();
    let view = MEMORY.read(&guard);
    let page = view
        .page(PhysAddr::new(0x200_0123))
        .ok_or("it is plugged")?;
    println!("the page of 0x2000123 is that of frame {}", page.frame);

    let isolated = MEMORY.lock().isolate(frames(0x2000, 0x3000)?)?;
    println!(
        "after isolation, lookups find nothing: {}",
        view.find(Pfn::new(0x2000)).is_none()
    );
    let refused = MEMORY
        .lock()
        .remove(isolated)
        .expect_err("a reader is inside");
    println!(
        "to remove it now: {refused}; the page is still there: {}",
        page.frame
    );

    drop(guard);
    MEMORY.lock().remove(refused.frames)?;
    for segment in MEMORY.lock().iter() {
        println!("{:?} has {:?}", segment.id, segment.frames);
    }
    Ok(())
}
