//! The arm `magazine`: a domain with per-CPU caches of released extents.

use std::any::Any;
use std::sync::Mutex;

use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    Cpu, Domain, DomainCounters, Event, Grant, Highest, NoTlb, Request, Shared, Traffic, VecSpace,
};

use rustix::thread::sched_getcpu;

use super::shared::{FOLLOWS, SharedAllocator, cpu};
use crate::traffic::Buffer;
use furlong_lab::model::Failure;

/// The CPU number assigned to the thread, or that of the processor that runs it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadCpu;

impl Cpu for ThreadCpu {
    #[inline]
    fn number(&self) -> usize {
        match cpu() {
            FOLLOWS => sched_getcpu(),
            number => number,
        }
    }
}

/// A domain with magazines of Linux's sizes, under the same lock as the other arm.
pub struct Magazines<K: DomainCounters>(Domain<NoTlb, Shared<Mutex<()>, ThreadCpu, K>>);

impl<K: DomainCounters + Send + 'static> SharedAllocator for Magazines<K> {
    type Grant = Grant;

    fn new(space: Extent<Iova>, granule: u64, cpus: usize) -> Result<Self, Failure> {
        let space = VecSpace::new(space, granule, Vec::new());
        let space = space.map_err(Failure::of)?;
        let domain = Domain::with_config(space, NoTlb, ThreadCpu, cpus);
        let no_memory = |_| Failure("there is no memory for the domain".to_owned());
        domain.map(Self).map_err(no_memory)
    }

    #[inline(always)]
    fn reserve(&self, buffer: Buffer) -> Option<Grant> {
        let request = Request::new(u64::from(buffer.size)).offset(u64::from(buffer.offset));
        self.0.reserve(&request, Highest).ok()
    }

    fn extent(grant: &Grant) -> Extent<Iova> {
        grant.extent()
    }

    #[inline(always)]
    fn release(&self, grant: Grant) {
        let released = self.0.release_flushed(grant);
        released.expect("the grant is of this domain");
    }

    fn visits(&self) -> u64 {
        let counters = self.0.counters();
        let traffic = (&counters as &dyn Any).downcast_ref::<Traffic>();
        traffic.map_or(0, |traffic| {
            traffic.count_of(Event::DepotVisit) + traffic.count_of(Event::TreeVisit)
        })
    }

    fn finish(self) -> Result<Vec<Extent<Iova>>, Failure> {
        self.0.check().map_err(Failure::of)?;
        let space = self.0.into_space();
        space.check().map_err(Failure::of)?;
        Ok(space.reserved().map(|owned| owned.extent).collect())
    }
}
