//! What spaces have done and had by the time they ended: a replay drops them on its way.
#![forbid(unsafe_code)]

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
    /// What it has counted.
    fn work(&self) -> Work;

    /// Bytes of its areas that are not in nodes of a B-tree: these are metered.
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

/// What all spaces together have done and had.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ledger {
    pub(super) work: Work,
    /// Bytes and areas of each at its end, added up.
    pub(super) bytes: u64,
    pub(super) areas: u64,
}

thread_local! {
    static LEDGER: Cell<Ledger> = Cell::default();
}

impl Ledger {
    /// What was noted on this thread since it was last taken.
    pub(super) fn take() -> Self {
        LEDGER.take()
    }

    fn note(work: Work, bytes: u64, areas: usize) {
        let mut ledger = LEDGER.get();
        ledger.work += work;
        ledger.bytes += bytes;
        ledger.areas += areas as u64;
        LEDGER.set(ledger);
    }
}

/// A space that is noted when it ends.
pub(super) struct Noted<S: Counting>(Option<S>);

impl<S: Counting> Noted<S> {
    fn space(&mut self) -> &mut S {
        self.0.as_mut().expect("it is there until it ends")
    }

    fn seen(&self) -> &S {
        self.0.as_ref().expect("it is there until it ends")
    }
}

impl<S: Counting> Drop for Noted<S> {
    fn drop(&mut self) {
        let Some(space) = self.0.take() else { return };
        let (work, areas) = (space.work(), space.areas());
        settle();
        let (own, before) = (space.bytes(), Metered::bytes());
        drop(space);
        let nodes = before.wrapping_sub(Metered::bytes());
        Ledger::note(work, own + nodes, areas);
    }
}

impl<S: Counting> AddressSpace for Noted<S> {
    fn new(layout: &Layout) -> Self {
        Self(Some(S::new(layout)))
    }

    fn fork(&self) -> Self {
        Self(Some(self.seen().fork()))
    }

    fn map(&mut self, request: &Request<u32>) -> Result<VirtAddr, Errno> {
        self.space().map(request)
    }

    fn choice(&self, request: &Request<u32>) -> Option<VirtAddr> {
        self.seen().choice(request)
    }

    fn unmap(&mut self, start: VirtAddr, len: u64) -> Result<(), Errno> {
        self.space().unmap(start, len)
    }

    fn protect(&mut self, start: VirtAddr, len: u64, prot: Prot) -> Result<(), Errno> {
        self.space().protect(start, len, prot)
    }

    fn remap(&mut self, remap: &Remap) -> Result<VirtAddr, Errno> {
        self.space().remap(remap)
    }

    fn start_brk(&mut self, start: VirtAddr) {
        self.space().start_brk(start);
    }

    fn brk(&mut self, end: VirtAddr) -> VirtAddr {
        self.space().brk(end)
    }

    fn fault(&mut self, address: VirtAddr, access: Access) -> Result<(), FaultError> {
        self.space().fault(address, access)
    }

    fn areas(&self) -> usize {
        self.seen().areas()
    }
}
