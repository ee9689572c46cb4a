//! A space of the arm `maple`: faults look areas up without taking its lock.

use furlong::addr::VirtAddr;
use furlong::maple::Config;
use furlong::rcu::Domain;
use furlong::sync::SpinLock;
use furlong::vmspace::{
    Access, Area, Atomic, Custom, Errno, FaultError, Layout, Maple, Mode, Prot, Remap, Request,
    Shared,
};
use furlong_spec::vmspace::trace::AddressSpace;

use crate::vmspace_index::ledger::Counting;
use crate::vmspace_index::owned::MEMORY;
use crate::vmspace_index::rcu::{RCU, changed, inside, leave};
use crate::vmspace_index::work::{Counted, Work};

/// A space under a spin lock.
pub struct SharedSpace<C: Config, M: Mode + 'static = Atomic>(
    Shared<u32, &'static Domain, SpinLock, Custom<Maple<C>, M>>,
);

impl<C: Config, M: Mode + 'static> AddressSpace for SharedSpace<C, M> {
    fn new(layout: &Layout) -> Self {
        let space = Shared::new(*layout, &RCU, SpinLock::new());
        Self(space.expect("the layout makes sense"))
    }

    fn fork(&self) -> Self {
        leave();
        let parent = self.0.lock();
        let child = Self::new(parent.layout());
        let copy = |area: Area<'_, u32>| Ok::<_, ()>(*area.value);
        child.0.lock().copy_from(&*parent, copy).expect(MEMORY);
        child
    }

    fn map(&mut self, request: &Request<u32>) -> Result<VirtAddr, Errno> {
        leave();
        let mapped = self.0.lock().map(request.clone(), drop);
        changed();
        mapped.map_err(|refused| refused.cause.errno())
    }

    fn choice(&self, request: &Request<u32>) -> Option<VirtAddr> {
        self.0.lock().would_map(request).ok()
    }

    fn unmap(&mut self, start: VirtAddr, len: u64) -> Result<(), Errno> {
        leave();
        let unmapped = self.0.lock().unmap(start, len, drop);
        changed();
        Ok(unmapped?)
    }

    fn protect(&mut self, start: VirtAddr, len: u64, prot: Prot) -> Result<(), Errno> {
        leave();
        let done = self.0.lock().protect(start, len, prot, drop);
        changed();
        Ok(done?)
    }

    fn remap(&mut self, remap: &Remap) -> Result<VirtAddr, Errno> {
        leave();
        let moved = self.0.lock().remap(remap, drop);
        changed();
        Ok(moved?)
    }

    fn start_brk(&mut self, start: VirtAddr) {
        self.0.lock().start_brk(start);
    }

    fn brk(&mut self, end: VirtAddr) -> VirtAddr {
        leave();
        let mut space = self.0.lock();
        // Linux reports only the resulting break.
        let _ = space.set_brk(end, 0, drop);
        let end = space.brk();
        drop(space);
        changed();
        end
    }

    fn fault(&mut self, address: VirtAddr, access: Access) -> Result<(), FaultError> {
        let is_allowed = inside(|guard| {
            let seen = self.0.look(guard, address);
            seen.is_some_and(|seen| seen.area().prot.allows(access))
        });
        if is_allowed {
            return Ok(());
        }
        leave();
        let fault = self.0.lock().fault(address, access).map(drop);
        changed();
        fault
    }

    fn areas(&self) -> usize {
        self.0.lock().len()
    }
}

impl<C: Config<Counters: Counted>> Counting for SharedSpace<C> {
    fn work(&self) -> Work {
        self.0.counters().work()
    }

    fn bytes(&self) -> u64 {
        self.0.lock().index().record_bytes() as u64
    }
}
