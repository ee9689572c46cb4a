//! All memory of the machine: which frames there are, whose they are, and what is known of each.
//!
//! It works before there is a heap: the table is a static, page tables are stolen frames, and the
//! descriptors lie in frames that are taken from the end of a segment.

use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};

use furlong::addr::{Address, Extent, Pfn, PhysAddr};
use furlong::check::Check;
use furlong::phys::{Descriptor, Node, Plug, Segment, SegmentTable, UnplugError};

use crate::direct::{self, PAGE};
use crate::serial::say;
use crate::start_info::MemoryMap;
use crate::{boot, iova, paging};

/// The descriptor of a frame.
pub(crate) struct Frame {
    number: Pfn,
    /// Pages of the address space that it is behind.
    users: AtomicU32,
}

impl Descriptor for Frame {
    fn of_frame(number: Pfn) -> Self {
        Self {
            number,
            users: AtomicU32::new(0),
        }
    }

    fn is_pinned(&self) -> bool {
        self.users.load(Ordering::SeqCst) > 0
    }
}

static MEMORY: SegmentTable<Frame> = SegmentTable::new();

/// Memory that devices with 32 address lines reach, and memory that they do not.
const LOW: Node = Node(0);
const HIGH: Node = Node(1);

/// Whose a segment is: its user value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The firmware leaves tables below 1 MiB, and some are marked as memory.
    Firmware = 1,
    /// This program.
    Image,
    /// Whoever asks for it.
    Anyone,
}

const FIRMWARE_END: u64 = (1 << 20) / PAGE;
const LOW_END: u64 = (1 << 32) / PAGE;

/// The frames of this program.
fn image() -> Range<u64> {
    unsafe extern "C" {
        static image_start: u8;
        static image_end: u8;
    }
    let frame = |at: *const u8| at.addr() as u64 / PAGE;
    frame(&raw const image_start)..frame(&raw const image_end)
}

fn frames(start: u64, end: u64) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(start), Pfn::new(end)).expect("a segment has frames")
}

fn start_of(frame: Pfn) -> PhysAddr {
    PhysAddr::new(frame.raw() * PAGE)
}

/// The memory behind frames, from the first to the last byte.
fn bytes_of(frames: Extent<Pfn>) -> (u64, u64) {
    (
        frames.start().raw() * PAGE,
        frames.last().raw() * PAGE + (PAGE - 1),
    )
}

/// The segment with these frames: whose it is, and what of it can be had.
fn segment(start: u64, end: u64) -> Plug {
    let image = image();
    let owner = if end <= FIRMWARE_END {
        Owner::Firmware
    } else if image.start <= start && end <= image.end {
        Owner::Image
    } else {
        Owner::Anyone
    };
    let node = if end <= LOW_END { LOW } else { HIGH };
    let plug = Plug::new(frames(start, end)).node(node).user(owner as u64);
    match owner {
        Owner::Anyone => plug,
        Owner::Firmware | Owner::Image => plug.avail(Pfn::new(start), Pfn::new(start)),
    }
}

/// Plugs all memory of the map, in segments that each have one owner and one node.
fn plug(map: &MemoryMap) -> usize {
    let image = image();
    let mut memory = MEMORY.lock();
    let mut ranges = 0;
    for range in map.ranges().iter().filter(|range| range.is_ram()) {
        // Whole frames only.
        let mut start = range.start.div_ceil(PAGE);
        let end = (range.start + range.len) / PAGE;
        for border in [FIRMWARE_END, image.start, image.end, LOW_END, end] {
            if start < border && border <= end {
                let plugged = memory.plug(segment(start, border));
                plugged.expect("the map lists no memory twice");
                start = border;
            }
        }
        ranges += 1;
    }
    let (own, _) = memory
        .find(Pfn::new(image.start))
        .expect("this program lies in memory");
    let own = memory.get(own).expect("it was just found").frames;
    assert_eq!(own, frames(image.start, image.end), "a segment of its own");
    ranges
}

/// Maps what boot did not, a table a GiB, and unmaps the page below the stack. Returns how many
/// frames were stolen for page tables.
fn map_all() -> u64 {
    let mut memory = MEMORY.lock();
    let highest = memory.highest_frame().expect("there is memory");
    let mut count = 0;
    let mut steal = || {
        let stolen = memory.steal_from(&[LOW]).expect("there is low memory");
        let table = start_of(stolen);
        // SAFETY: the frame has left the table of segments, which nobody else takes it from.
        unsafe { direct::zero(table, PAGE) };
        count += 1;
        table
    };
    paging::guard(boot::guard(), steal());
    paging::map_memory(start_of(highest), steal);
    count
}

/// Takes memory for `len` values from the end of the largest low segment, for good; for what has
/// to be there before the bus is open and has them all.
pub(crate) fn set_aside<T>(len: usize) -> &'static mut [MaybeUninit<T>] {
    assert!(!iova::is_open(), "the bus may have given it to somebody");
    assert!(
        align_of::<T>() as u64 <= PAGE,
        "frames are aligned to pages"
    );
    let bytes = (len * size_of::<T>()) as u64;
    let mut memory = MEMORY.lock();
    let low = memory.iter().filter(|segment| segment.node == LOW);
    let largest = low.max_by_key(|segment| segment.avail_end.raw() - segment.avail_start.raw());
    let Segment {
        id,
        avail_start,
        avail_end,
        ..
    } = largest.expect("there is low memory");
    let start = avail_end
        .checked_sub(bytes.div_ceil(PAGE))
        .expect("it has so many frames");
    memory
        .set_avail(id, avail_start, start)
        .expect("the segment has so many frames");
    // SAFETY: the frames were available, which they are not any more, and nobody is given them
    // back; all low memory is mapped.
    unsafe { direct::slice(start_of(start), len) }
}

/// Ends boot: every frame has a descriptor, in memory that was set aside for them.
fn start() -> u64 {
    let count: u64 = MEMORY.lock().iter().map(|segment| segment.len()).sum();
    // And a little for the index and for what is between the descriptors.
    let bytes = count as usize * size_of::<Frame>() + (1 << 20);
    let room = set_aside::<u8>(bytes);
    let mut memory = MEMORY.lock();
    memory.donate(room);
    memory.start().expect("there is room for the descriptors")
}

/// Looks up what is known to be there, and what is known not to be. Returns how often.
fn look_up() -> u64 {
    let memory = MEMORY.lock();
    let mut segments = [None; 32];
    for (at, segment) in memory.iter().enumerate() {
        segments[at] = Some(segment);
    }
    let highest = memory.highest_frame().expect("there is memory");
    drop(memory);

    // As a reader does, who takes no lock.
    let reader = MEMORY.rcu().register().expect("there are no others");
    let guard = reader.enter();
    let view = MEMORY.read(&guard);
    let mut looked = 0;
    for segment in segments.into_iter().flatten() {
        let (first, last) = (segment.frames.start().raw(), segment.frames.last().raw());
        for frame in (first..=last).step_by(61).chain([last]).map(Pfn::new) {
            let found = view.find(frame);
            assert_eq!(
                found,
                Some((segment.id, frame.raw() - first)),
                "the segment of {frame}"
            );
            let page = view.page(start_of(frame)).expect("it has a descriptor");
            assert_eq!(page.number, frame, "the descriptor is that of the frame");
            looked += 2;
        }
    }
    for absent in [crate::disk::FIRST / PAGE, highest.raw() + 1] {
        assert_eq!(
            view.find(Pfn::new(absent)),
            None,
            "frame {absent:#x} is no memory"
        );
        looked += 1;
    }
    looked
}

/// Takes the highest frames out and plugs them again, as a machine does that gives memory back.
fn unplug_and_plug() -> u64 {
    const COUNT: u64 = 4096;
    let mut memory = MEMORY.lock();
    let (managed, end) = (
        memory.managed(),
        memory.highest_frame().expect("there is memory"),
    );
    let leaving = frames(end.raw() + 1 - COUNT, end.raw() + 1);

    let pin = |by: u32| {
        let reader = MEMORY.rcu().register().expect("there is no other");
        let guard = reader.enter();
        let page = MEMORY
            .read(&guard)
            .page_of(end)
            .expect("it has a descriptor");
        page.users.store(by, Ordering::SeqCst);
    };
    pin(1);
    let refused = memory.unplug(leaving);
    assert_eq!(
        refused,
        Err(UnplugError::Pinned(end)),
        "a frame in use stays"
    );
    pin(0);

    memory
        .unplug(leaving)
        .expect("nobody has them, and no reader is inside");
    assert_eq!(memory.managed(), managed - COUNT);
    assert_eq!(
        memory.view().find(end),
        None,
        "what was unplugged is found no more"
    );
    memory
        .plug(Plug::new(leaving).node(HIGH).user(Owner::Anyone as u64))
        .expect("descriptors go where they were");
    assert_eq!(memory.managed(), managed);
    assert_eq!(
        memory.view().page_of(end).map(|page| page.number),
        Some(end)
    );
    memory.check().expect("every invariant holds");
    COUNT
}

/// Boots the memory of the machine.
pub(crate) fn run(map: &MemoryMap) {
    let ranges = plug(map);
    let tables = map_all();
    assert!(
        last_byte() > iova::LOW.1.raw(),
        "no memory above 4 GiB: give it more"
    );
    let managed = start();
    let looked = look_up();
    let moved = unplug_and_plug();
    let image = image();
    let memory = MEMORY.lock();
    say!(
        "phys",
        "{ranges} ranges of memory as {} segments, {managed} frames to be had; this program in \
         frames {:#x}..{:#x}; {tables} stolen for page tables; {looked} look-ups right; {moved} \
         unplugged and plugged again",
        memory.len(),
        image.start,
        image.end,
    );
}

/// Hands every stretch of memory that anyone may have to `each`, as its first and last byte.
pub(crate) fn available(mut each: impl FnMut(u64, u64)) {
    let memory = MEMORY.lock();
    for avail in memory.iter().filter_map(|segment| segment.avail) {
        let (first, last) = bytes_of(avail);
        each(first, last);
    }
}

/// The highest byte of memory.
pub(crate) fn last_byte() -> u64 {
    let highest = MEMORY.lock().highest_frame().expect("there is memory");
    start_of(highest).raw() + (PAGE - 1)
}

/// True if these bytes are available memory.
pub(crate) fn is_available(first: u64, last: u64) -> bool {
    let memory = MEMORY.lock();
    let (first, last) = (Pfn::new(first / PAGE), Pfn::new(last / PAGE));
    let Some((id, _)) = memory.view().find(first) else {
        return false;
    };
    let segment = memory.get(id).expect("it was just found");
    segment
        .avail
        .is_some_and(|avail| avail.contains(first) && avail.contains(last))
}

/// One page of the address space more or less is backed by the frame at this address. Returns how
/// many now.
pub(crate) fn use_frame(at: PhysAddr, by: i32) -> u32 {
    let memory = MEMORY.lock();
    let page = memory.view().page(at).expect("it is a frame of memory");
    let users = page.users.load(Ordering::SeqCst).checked_add_signed(by);
    let users = users.expect("no frame has fewer users than none");
    page.users.store(users, Ordering::SeqCst);
    users
}

/// A page of zeros, from memory that is not wanted for devices.
pub(crate) fn page() -> PhysAddr {
    let at = iova::take(PAGE, PAGE, iova::HIGH).expect("there is memory");
    let at = PhysAddr::new(at.raw());
    // SAFETY: it belongs to the caller, and no reference exists yet.
    unsafe { direct::zero(at, PAGE) };
    at
}
