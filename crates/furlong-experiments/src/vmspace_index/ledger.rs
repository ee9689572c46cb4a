//! Work and bytes of spaces at their end: a replay drops spaces along the way.

use std::cell::Cell;

use furlong::addr::VirtAddr;
use furlong::maple::{self, Config};
use furlong::rbtree::Counters;
use furlong::vmspace::{
    Access, Custom, Errno, FaultError, Layout, Maple, Prot, Rbtree, Remap, Request, Space,
};
use furlong_spec::maple::Metered;
use furlong_spec::vmspace::trace::AddressSpace;

use super::rcu::settle;
use super::work::{Counted, Work};

/// A space whose index counts.
pub(super) trait Counting: AddressSpace {
    /// Counts so far.
    fn work(&self) -> Work;

    /// Bytes of its areas outside the nodes of a B-tree, which are metered separately.
    fn bytes(&self) -> u64;
}

impl<K: Counters + Counted + 'static> Counting for Space<u32, Custom<Rbtree<K>>> {
    fn work(&self) -> Work {
        self.index().counters().work()
    }

    fn bytes(&self) -> u64 {
        self.index().bytes() as u64
    }
}

impl<C: Config<Counters: Counted>> Counting for Space<u32, Custom<Maple<C>>> {
    fn work(&self) -> Work {
        self.index().counters().work()
    }

    fn bytes(&self) -> u64 {
        self.index().record_bytes() as u64
    }
}

/// The configuration of a B-tree that counts.
pub(super) type Tallied = maple::Custom<maple::Wide, Metered, maple::Tally>;

/// Total work and bytes of all spaces.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ledger {
    pub(super) work: Work,
    /// Sums of the bytes and of the areas of each space at its end.
    pub(super) bytes: u64,
    pub(super) areas: u64,
}

thread_local! {
    static LEDGER: Cell<Ledger> = Cell::default();
    static COUNTS: Cell<bool> = const { Cell::new(true) };
}

/// Switches recording of the work of this thread's spaces on or off. It is on at first.
pub(super) fn note_work(is_noted: bool) {
    COUNTS.set(is_noted);
}

impl Ledger {
    /// Takes the totals recorded on this thread since the last call.
    pub(super) fn take() -> Self {
        LEDGER.take()
    }

    fn note(what: Self) {
        let mut ledger = LEDGER.get();
        ledger.work += what.work;
        ledger.bytes += what.bytes;
        ledger.areas += what.areas;
        LEDGER.set(ledger);
    }
}

/// A space whose work is recorded, and at its end its bytes.
pub(super) struct Noted<S: Counting>(Option<S>);

impl<S: Counting> Noted<S> {
    /// Does an operation on the space, and records its work.
    fn ask<T>(&mut self, ask: impl FnOnce(&mut S) -> T) -> T {
        let space = self.0.as_mut().expect("it is there until it ends");
        let before = space.work();
        let answer = ask(space);
        if COUNTS.get() {
            Ledger::note(Ledger {
                work: space.work() - before,
                ..Ledger::default()
            });
        }
        answer
    }

    fn seen(&self) -> &S {
        self.0.as_ref().expect("it is there until it ends")
    }
}

impl<S: Counting> Drop for Noted<S> {
    fn drop(&mut self) {
        let Some(space) = self.0.take() else { return };
        let areas = space.areas() as u64;
        settle();
        let (own, before) = (space.bytes(), Metered::bytes());
        drop(space);
        let nodes = before.wrapping_sub(Metered::bytes());
        Ledger::note(Ledger {
            work: Work::default(),
            bytes: own + nodes,
            areas,
        });
    }
}

impl<S: Counting> AddressSpace for Noted<S> {
    fn new(layout: &Layout) -> Self {
        Self(Some(S::new(layout)))
    }

    fn fork(&self) -> Self {
        let before = self.seen().work();
        let child = self.seen().fork();
        if COUNTS.get() {
            Ledger::note(Ledger {
                work: self.seen().work() - before + child.work(),
                ..Ledger::default()
            });
        }
        Self(Some(child))
    }

    fn map(&mut self, request: &Request<u32>) -> Result<VirtAddr, Errno> {
        self.ask(|space| space.map(request))
    }

    fn choice(&self, request: &Request<u32>) -> Option<VirtAddr> {
        self.seen().choice(request)
    }

    fn unmap(&mut self, start: VirtAddr, len: u64) -> Result<(), Errno> {
        self.ask(|space| space.unmap(start, len))
    }

    fn protect(&mut self, start: VirtAddr, len: u64, prot: Prot) -> Result<(), Errno> {
        self.ask(|space| space.protect(start, len, prot))
    }

    fn remap(&mut self, remap: &Remap) -> Result<VirtAddr, Errno> {
        self.ask(|space| space.remap(remap))
    }

    fn start_brk(&mut self, start: VirtAddr) {
        self.ask(|space| space.start_brk(start));
    }

    fn brk(&mut self, end: VirtAddr) -> VirtAddr {
        self.ask(|space| space.brk(end))
    }

    fn fault(&mut self, address: VirtAddr, access: Access) -> Result<(), FaultError> {
        self.ask(|space| space.fault(address, access))
    }

    fn areas(&self) -> usize {
        self.seen().areas()
    }
}
