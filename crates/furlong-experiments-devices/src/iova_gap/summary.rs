//! The arm `summary`: furlong's space, whose tree keeps each subtree's largest gap.

use std::any::Any;

use furlong::addr::{Address, Extent, Iova};
use furlong::check::Check;
use furlong::iova::{Config, Grant, Highest, Lowest, Random, Request, VecSpace};
use furlong::rbtree::Tally;
use furlong_spec::Random as Generator;

use super::allocator::{AddressAllocator, Ask, Place};
use furlong_lab::model::Failure;

/// furlong's space in any configuration; visits are counted if its counters count.
#[derive(Debug)]
pub struct Summary<C: Config>(VecSpace<C>);

impl<C: Config<Counters: 'static>> AddressAllocator for Summary<C> {
    type Grant = Grant;

    fn new(space: Extent<Iova>, granule: u64) -> Result<Self, Failure> {
        let space = VecSpace::with_config(space, granule, Vec::new());
        space.map(Self).map_err(Failure::of)
    }

    fn fill(&mut self, extents: &[Extent<Iova>]) -> Result<Vec<Grant>, Failure> {
        let grants = extents.iter().map(|extent| self.0.reserve_at(*extent));
        let grants: Result<Vec<Grant>, _> = grants.collect();
        grants.map_err(Failure::of)
    }

    #[inline(always)]
    fn reserve(&mut self, ask: &Ask) -> Option<(u64, Grant)> {
        let request = Request::new(ask.size)
            .align(ask.align)
            .window(Iova::new(ask.low), Iova::new(ask.high));
        let granted = match ask.place {
            Place::Lowest => self.0.reserve(&request, Lowest),
            Place::Highest => self.0.reserve(&request, Highest),
            Place::Random(seed) => {
                let mut generator = Generator::new(seed);
                self.0.reserve(&request, Random::new(|| generator.next()))
            }
        };
        let grant = granted.ok()?;
        Some((grant.iova().raw(), grant))
    }

    #[inline(always)]
    fn release(&mut self, grant: Grant) {
        self.0.release(grant).expect("the grant is of this space");
    }

    fn reserved(&self) -> Result<Vec<Extent<Iova>>, Failure> {
        let checked = self.0.check();
        checked.map_err(Failure::of)?;
        Ok(self.0.reserved().map(|owned| owned.extent).collect())
    }

    fn visits(&self) -> Option<u64> {
        let tally = (self.0.counters() as &dyn Any).downcast_ref::<Tally>();
        tally.map(Tally::visits)
    }
}
