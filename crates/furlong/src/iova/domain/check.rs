//! `check()`: verifies every invariant of a domain and returns the broken one.

use crate::error::{messages, reserved};

use super::class::Class;
use super::flush::Flush;
use super::magazine::Magazine;
use super::shared_space::{Domain, DomainConfig};
use crate::addr::{Address, Extent, Iova};
use crate::check::Check;
use crate::iova::quarantine::token::Parked;
use crate::iova::{BrokenSpace, ChunkSpace};

messages! {
    /// A broken invariant of a domain, numbered as in the module's documentation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum BrokenDomain {
        /// D1: the space is broken.
        Space(it: BrokenSpace) => "D1: the space: {it}";
        /// D2: this extent is in a magazine or in quarantine, but its node does not reserve it.
        Unreserved(it: Extent<Iova>) => "D2: {it:?} is cached but not reserved";
        /// D3: this extent is in magazines or in quarantine twice.
        Twice(it: Extent<Iova>) => "D3: {it:?} is cached twice";
        /// D4: an extent in a magazine of this order does not start at a multiple of its length.
        Askew(n: usize) => "D4: an extent of order {n} is not aligned to it";
        /// D5: the depot of this order exceeds its limit, or has a magazine on the wrong stack.
        Depot(n: usize) => "D5: the depot of order {n} is inconsistent";
        /// D6: fewer tokens are outstanding than are in quarantine.
        Count {
            /// Tokens that were issued and not redeemed.
            outstanding: u64,
            /// Tokens in quarantine.
            quarantined: u64,
        } => "D6: {quarantined} tokens wait, and {outstanding} are outstanding";
        /// Out of memory for the check itself.
        NoMemory => "out of memory for the check";
    }
}

impl<F: Flush, C: DomainConfig> Check for Domain<F, C> {
    type Broken = BrokenDomain;

    /// Takes every lock; a CPU's or a depot's is held together with the tree's. The result is exact
    /// if no other thread uses the domain. O(n), and a byte of memory per node.
    fn check(&self) -> Result<(), BrokenDomain> {
        let nodes = self.with_space(|space| {
            space.check().map_err(BrokenDomain::Space)?;
            Ok(space.capacity())
        })?;
        let mut kept = reserved(nodes).map_err(|_| BrokenDomain::NoMemory)?;
        kept.resize(nodes, false);
        for per_cpu in &self.per_cpu {
            let per_cpu = per_cpu.0.lock();
            for parked in per_cpu.ring.parked() {
                self.check_kept(parked, &mut kept)?;
            }
            for class in Class::all() {
                for magazine in per_cpu.shelves[class.order()].magazines() {
                    self.check_magazine(class, magazine, &mut kept)?;
                }
            }
        }
        for class in Class::all().take(C::CLASSES) {
            let store = self.depots[class.order()].0.lock();
            let (full, empty) = (store.depot.full(), store.depot.empty());
            let is_sorted =
                full.iter().all(Magazine::is_full) && empty.iter().all(Magazine::is_empty);
            if full.len() + empty.len() > C::DEPOT || !is_sorted {
                return Err(BrokenDomain::Depot(class.order()));
            }
            for magazine in store.depot.full() {
                self.check_magazine(class, magazine, &mut kept)?;
            }
        }
        self.check_counts()
    }
}

impl<F: Flush, C: DomainConfig> Domain<F, C> {
    fn check_magazine(
        &self,
        class: Class,
        magazine: &Magazine,
        kept: &mut [bool],
    ) -> Result<(), BrokenDomain> {
        for entry in magazine.entries() {
            let token = self.cached_token(class, *entry);
            let mask = class.mask(self.shift).unwrap_or(u64::MAX);
            if token.parked().start.raw() & mask != 0 {
                return Err(BrokenDomain::Askew(class.order()));
            }
            self.check_kept(token.parked(), kept)?;
        }
        Ok(())
    }

    /// Checks that a cached extent is reserved by its node, and that the node occurs only once.
    fn check_kept(&self, parked: &Parked, kept: &mut [bool]) -> Result<(), BrokenDomain> {
        let holds = |space: &ChunkSpace<C::Space>| space.holds(&parked.into_grant(self.tag));
        if !self.with_space(holds) {
            return Err(BrokenDomain::Unreserved(parked.extent()));
        }
        let seen = kept.get_mut(parked.at.index());
        match seen.map(|seen| core::mem::replace(seen, true)) {
            Some(false) => Ok(()),
            _ => Err(BrokenDomain::Twice(parked.extent())),
        }
    }

    fn check_counts(&self) -> Result<(), BrokenDomain> {
        let (outstanding, quarantined) = (self.outstanding(), self.quarantined());
        if outstanding < quarantined || outstanding > u64::MAX / 2 {
            return Err(BrokenDomain::Count {
                outstanding,
                quarantined,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::class::Class;
    use super::super::magazine::{Entry, Magazine};
    use super::BrokenDomain;
    use crate::addr::{Extent, Iova};
    use crate::check::Check;
    use crate::iova::{Domain, Grant, Lowest, NoTlb, OneCpu, Request, VecSpace};

    const PAGE: u64 = 4096;

    fn domain() -> Domain<NoTlb> {
        let extent = Extent::from_len(Iova::new(0), 64 * PAGE).unwrap();
        let space = VecSpace::new(extent, PAGE, Vec::new()).unwrap();
        let domain = Domain::new(space, NoTlb, OneCpu, 1).unwrap();
        let grants: Vec<_> = (0..4).map(|_| page(&domain)).collect();
        for grant in grants {
            domain.release_flushed(grant).unwrap();
        }
        domain.check().unwrap();
        domain
    }

    fn page(domain: &Domain<NoTlb>) -> Grant {
        domain.reserve(&Request::new(PAGE), Lowest).unwrap()
    }

    fn single() -> Class {
        Class::of_order(0).unwrap()
    }

    #[test]
    fn a_cached_extent_that_the_tree_has_lost_is_found() {
        let domain = domain();
        let extent = Extent::from_len(Iova::new(PAGE), PAGE).unwrap();
        domain.tree.0.lock().space.release_at(extent).unwrap();
        assert_eq!(domain.check(), Err(BrokenDomain::Unreserved(extent)));
    }

    #[test]
    fn an_extent_that_is_kept_twice_is_found() {
        let domain = domain();
        let grant = page(&domain);
        let entry = Entry {
            start: grant.iova(),
            at: grant.at,
        };
        let _ = domain.release_later(grant).unwrap();
        let token = domain.cached_token(single(), entry);
        let extent = token.extent();
        domain.per_cpu(0).put(single(), entry).unwrap();
        assert_eq!(domain.check(), Err(BrokenDomain::Twice(extent)));
    }

    #[test]
    fn an_extent_in_the_wrong_magazine_is_found() {
        let domain = domain();
        let grant = domain.place(&Request::new(2 * PAGE), Lowest).unwrap();
        let entry = Entry {
            start: Iova::new(PAGE),
            at: grant.at,
        };
        let pairs = Class::of_order(1).unwrap();
        let magazine = Magazine::try_new(1).unwrap();
        let none = domain.per_cpu(0).shelves[1].exchange_full(magazine);
        assert!(!none.is_some());
        domain.per_cpu(0).put(pairs, entry).unwrap();
        assert_eq!(domain.check(), Err(BrokenDomain::Askew(1)));
    }

    #[test]
    fn a_magazine_in_the_depot_that_is_not_full_is_found() {
        let domain = domain();
        let mut full = Magazine::try_new(1).unwrap();
        let at = page(&domain).at;
        let start = Iova::new(0);
        full.put(Entry { start, at }).unwrap();
        let mut store = domain.depots[0].0.lock();
        store.depot.keep(full).unwrap();
        store.depot.full_mut()[0].take().unwrap();
        drop(store);
        assert_eq!(domain.check(), Err(BrokenDomain::Depot(0)));
    }

    #[test]
    fn an_extent_in_the_depot_that_the_tree_has_lost_is_found() {
        let domain = domain();
        let grant = page(&domain);
        let (extent, at) = (grant.extent(), grant.at);
        let start = extent.start();
        let mut full = Magazine::try_new(1).unwrap();
        full.put(Entry { start, at }).unwrap();
        domain.depots[0].0.lock().depot.keep(full).unwrap();
        domain.check().unwrap();
        domain.tree.0.lock().space.release_at(extent).unwrap();
        assert_eq!(domain.check(), Err(BrokenDomain::Unreserved(extent)));
    }

    #[test]
    fn a_token_that_was_never_issued_is_found() {
        let domain = domain();
        let token = domain.release(page(&domain)).unwrap();
        let _ = domain.quarantine(token).unwrap();
        domain.per_cpu(0).redeemed += 1;
        let broken = BrokenDomain::Count {
            outstanding: 0,
            quarantined: 1,
        };
        assert_eq!(domain.check(), Err(broken));
    }

    #[test]
    fn a_broken_space_is_named() {
        let domain = domain();
        domain.tree.0.lock().space.spare.count += 1;
        assert!(matches!(domain.check(), Err(BrokenDomain::Space(_))));
    }
}
