//! An address space, with page faults: where a page is touched for the first time, the CPU asks,
//! and gets a frame if the area that has the address allows it.

use alloc::vec;
use alloc::vec::Vec;

use furlong::addr::{Address, Extent, Iova, PhysAddr, VirtAddr};
use furlong::check::Check;
use furlong::sync::{Lock, SpinLock};
use furlong::vmspace::{
    Access, At, Custom, FaultError, Flags, Freed, Layout, MAP_CHANGES, Maple, Prot, Request, Space,
};

use crate::direct::{self, PAGE};
use crate::serial::say;
use crate::{exception, iova, malloc, paging, phys};

/// Over the B-tree, which is Linux's index since 6.1. Nothing is kept with an area.
type Process = Space<(), Custom<Maple>>;

static PROCESS: Lock<SpinLock, State> = Lock::new(
    SpinLock::new(),
    State {
        space: None,
        served: 0,
        refused: 0,
    },
);

struct State {
    space: Option<Process>,
    /// Faults that were given a frame, and those that were not.
    served: u64,
    refused: u64,
}

/// All of it lies under one entry of the uppermost page table.
const START: u64 = 1 << 39;
const LAST: u64 = START + (1 << 39) - 1;
const LAYOUT: Layout = Layout {
    low: VirtAddr::new(START),
    bottom: VirtAddr::new(START),
    top: VirtAddr::new(LAST),
    last: VirtAddr::new(LAST),
    ..Layout::LINUX_X86_64
};

const READ: Prot = Prot::READ;
const READ_WRITE: Prot = Prot::READ.or(Prot::WRITE);

/// Works with the space; no memory of it may be touched meanwhile.
fn with<R>(work: impl FnOnce(&mut Process) -> R) -> R {
    work(PROCESS.lock().space.as_mut().expect("there is a space"))
}

/// The pages that begin in an extent.
fn pages(extent: Extent<VirtAddr>) -> impl Iterator<Item = VirtAddr> {
    (extent.start().raw()..=extent.last().raw())
        .step_by(PAGE as usize)
        .map(VirtAddr::new)
}

/// Serves a page fault of the CPU. It takes the lock for addresses of the space only: a fault
/// elsewhere may happen under that lock.
pub(crate) fn serve(at: VirtAddr, access: Access) -> Result<(), FaultError> {
    if !(START..=LAST).contains(&at.raw()) {
        return Err(FaultError::NotMapped);
    }
    let mut state = PROCESS.lock();
    let space = state.space.as_mut().ok_or(FaultError::NotMapped)?;
    match space.fault(at, access) {
        Ok(area) => {
            let prot = area.prot;
            back(at.align_down(PAGE), prot);
            state.served += 1;
            Ok(())
        }
        Err(refused) => {
            state.refused += 1;
            Err(refused)
        }
    }
}

/// Puts a frame behind a page.
fn back(page: VirtAddr, prot: Prot) {
    assert_eq!(
        paging::translate(page),
        None,
        "it faults because it has none"
    );
    let frame = phys::page();
    assert_eq!(phys::use_frame(frame, 1), 1, "it is behind this page alone");
    paging::map(page, frame, prot, phys::page);
}

/// Takes the frames back that are behind what is mapped no more.
fn release(freed: Freed<()>) {
    let Freed::Unmapped(gone) = freed else {
        return;
    };
    for frame in pages(gone.extent).filter_map(paging::unmap) {
        assert_eq!(phys::use_frame(frame, -1), 0);
        give_back(frame);
    }
}

fn give_back(page: PhysAddr) {
    iova::give_back(Iova::new(page.raw()), PAGE);
}

fn map(len: u64, prot: Prot, at: At) -> VirtAddr {
    let request = Request::anonymous(len, prot, ()).at(at);
    with(|space| space.map(request, release)).expect("there is room")
}

/// The same, with all that may fail done before: the change itself allocates nothing.
fn map_prepared(len: u64, prot: Prot, at: At) -> VirtAddr {
    with(|space| space.prepare(MAP_CHANGES)).expect("there is memory");
    malloc::unused(|| map(len, prot, at))
}

fn protect(start: VirtAddr, len: u64, prot: Prot) {
    with(|space| space.protect(start, len, prot, drop)).expect("it is mapped");
    let extent = Extent::from_len(start, len).expect("it has a length");
    pages(extent).for_each(|page| paging::protect(page, prot));
}

fn unmap(start: VirtAddr, len: u64) {
    with(|space| space.unmap(start, len, release)).expect("it is in the space");
}

/// The byte that is behind an address, as the page tables have it; `None` without a frame.
fn behind(at: VirtAddr) -> Option<u8> {
    let memory = paging::translate(at)?;
    let mut byte = [0];
    // SAFETY: a frame of this space, in which nobody writes but `exception::store`.
    unsafe { direct::read(memory, &mut byte) };
    Some(byte[0])
}

/// Stores a byte, and says whether the CPU let it.
fn store(at: VirtAddr, byte: u8) -> bool {
    assert!(
        (START..=LAST).contains(&at.raw()),
        "{at} is not of this space"
    );
    // SAFETY: what is mapped there are frames of this space, which nobody else has.
    unsafe { exception::store(at, byte) }
}

/// Sees that a write is refused, by the space and by the CPU.
fn is_refused(at: VirtAddr, expected: FaultError) {
    let answer = with(|space| space.fault(at, Access::Write).map(|area| area.prot));
    assert_eq!(answer, Err(expected), "a write to {at}");
    assert!(!store(at, 1), "and the CPU does not write to {at} either");
}

/// Touches pages, and sees what the CPU was allowed: faults are real ones.
fn touch() {
    const LEN: u64 = 64 * PAGE;
    let byte = |page: VirtAddr| (page.raw() / PAGE) as u8 | 1;
    let data = map_prepared(LEN, READ_WRITE, At::Anywhere);
    let all = Extent::from_len(data, LEN).expect("it has a length");
    for page in pages(all) {
        assert_eq!(behind(page), None, "nothing is there before it is touched");
        // Some are read first.
        if page.is_aligned(2 * PAGE) {
            assert_eq!(exception::load(page), Some(0), "a fresh page is zeros");
        }
        assert!(store(page, byte(page)), "the area may be written");
    }
    let is_there = |page: &VirtAddr| {
        let (seen, stored) = (exception::load(*page), behind(*page));
        seen == stored && stored == Some(byte(*page))
    };
    assert!(
        pages(all).all(|page| is_there(&page)),
        "what was written is there"
    );

    // A quarter may only be read, another not even that, and a third one goes.
    let quarter = |number: u64| VirtAddr::new(data.raw() + number * LEN / 4);
    protect(quarter(1), LEN / 4, READ);
    is_refused(quarter(1), FaultError::Access);
    protect(quarter(2), LEN / 4, Prot::NONE);
    is_refused(quarter(2), FaultError::Access);
    assert_eq!(exception::load(quarter(2)), None, "nor can it be read");
    unmap(quarter(3), LEN / 4);
    is_refused(quarter(3), FaultError::NotMapped);
    assert_eq!(
        exception::load(quarter(3)),
        None,
        "nor is there anything to be read"
    );
    assert_eq!(pages(all).filter(is_there).count() as u64, LEN / 2 / PAGE);
    protect(quarter(2), LEN / 4, READ);
    let kept = pages(all).filter(is_there).count() as u64;
    assert_eq!(
        kept,
        3 * LEN / 4 / PAGE,
        "what could not be read is as it was written"
    );
    grow_a_stack(VirtAddr::new(data.raw() - (64 << 20)));
}

/// A stack that is touched five pages below grows.
fn grow_a_stack(top: VirtAddr) {
    let request = Request::anonymous(PAGE, READ_WRITE, ()).flags(Flags::GROWS_DOWN);
    let request = request.at(At::Fixed(top));
    with(|space| space.map(request, release)).expect("there is room");
    let below = VirtAddr::new(top.raw() - 5 * PAGE);
    assert!(store(below, 7), "a stack grows to where it is touched");
    let grown = with(|space| space.find(below).map(|area| area.extent.start()));
    assert_eq!((grown, behind(below)), (Some(below), Some(7)));
}

/// Numbers that look random, the same ones each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % limit
    }
}

/// Maps, unmaps and protects at random, beside a list of pages that does the same. Returns how
/// many areas there were at most.
fn compare(steps: u64) -> usize {
    const PAGES: u64 = 512;
    let window = VirtAddr::new(START + (1 << 30));
    let address = |page: u64| VirtAddr::new(window.raw() + page * PAGE);
    let mut model: Vec<Option<Prot>> = vec![None; PAGES as usize];
    let (mut numbers, mut most) = (Numbers(0x9e37_79b9_7f4a_7c15), 0);
    for _ in 0..steps {
        let (first, len) = (numbers.below(PAGES - 16), 1 + numbers.below(16));
        let prot = Prot::from_bits(numbers.below(8) as u32);
        let (start, bytes) = (address(first), len * PAGE);
        let touched = &mut model[first as usize..(first + len) as usize];
        match numbers.below(3) {
            0 => {
                map_prepared(bytes, prot, At::Fixed(start));
                touched.fill(Some(prot));
            }
            1 => {
                unmap(start, bytes);
                touched.fill(None);
            }
            _ if touched.iter().all(Option::is_some) => {
                protect(start, bytes, prot);
                touched.fill(Some(prot));
            }
            _ => {
                let refused = with(|space| space.protect(start, bytes, prot, drop));
                assert!(refused.is_err(), "a hole cannot be protected");
            }
        }
        most = with(|space| space.len()).max(most);
        let same = |page: u64, prot: Option<Prot>| {
            let found = with(|space| space.find(address(page)).map(|area| area.prot));
            assert_eq!(found, prot, "page {page} of the window");
        };
        (0..PAGES)
            .zip(&model)
            .for_each(|(page, prot)| same(page, *prot));
    }
    with(|space| space.check()).expect("every invariant holds");
    most
}

/// Lets a process live and end.
pub(crate) fn run() {
    const STEPS: u64 = 1000;
    let space = Process::with_config(LAYOUT).expect("the layout is in order");
    PROCESS.lock().space = Some(space);
    let before = iova::free_bytes(iova::HIGH);
    touch();
    let most = compare(STEPS);
    with(|space| space.clear(release));
    paging::clear(VirtAddr::new(START), give_back);
    let mut state = PROCESS.lock();
    state.space = None;
    let State {
        served, refused, ..
    } = *state;
    drop(state);
    assert_eq!(
        iova::free_bytes(iova::HIGH),
        before,
        "all frames are free again"
    );
    say!(
        "vmspace",
        "{served} page faults served with a frame, {refused} refused; {STEPS} random changes, up \
         to {most} areas, each page as a list has it; all frames back",
    );
}
