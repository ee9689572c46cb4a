//! The arm `tree`: a space under one lock.

use std::sync::Mutex;

use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{Grant, Highest, Request, VecSpace};
use furlong::sync::Lock;

use super::shared::SharedAllocator;
use crate::traffic::Buffer;
use furlong_lab::model::Failure;

/// A space under one lock, which sleeps: an operating system may preempt its holder.
pub struct LockedTree(Lock<Mutex<()>, Root>);

struct Root {
    space: VecSpace,
    visits: u64,
}

impl SharedAllocator for LockedTree {
    type Grant = Grant;

    fn new(space: Extent<Iova>, granule: u64, _cpus: usize) -> Result<Self, Failure> {
        let space = VecSpace::new(space, granule, Vec::new());
        let space = space.map_err(Failure::of)?;
        let root = Root { space, visits: 0 };
        Ok(Self(Lock::new(Mutex::default(), root)))
    }

    #[inline(always)]
    fn reserve(&self, buffer: Buffer) -> Option<Grant> {
        let request = Request::new(u64::from(buffer.size)).offset(u64::from(buffer.offset));
        let mut root = self.0.lock();
        root.visits += 1;
        root.space.reserve(&request, Highest).ok()
    }

    fn extent(grant: &Grant) -> Extent<Iova> {
        grant.extent()
    }

    #[inline(always)]
    fn release(&self, grant: Grant) {
        let mut root = self.0.lock();
        root.visits += 1;
        root.space
            .release(grant)
            .expect("the grant is of this space");
    }

    fn visits(&self) -> u64 {
        self.0.lock().visits
    }

    fn finish(self) -> Result<Vec<Extent<Iova>>, Failure> {
        let space = self.0.into_inner().space;
        space.check().map_err(Failure::of)?;
        Ok(space.reserved().map(|owned| owned.extent).collect())
    }
}
