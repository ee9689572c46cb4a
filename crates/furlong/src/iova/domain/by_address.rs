//! Extents of a domain that are known by their addresses: given up, claimed, fixed, released whole
//! or in part. All of it is done in the tree, under its lock.

use super::flush::Flush;
use super::per_cpu::Batch;
use super::shared_space::{Domain, DomainConfig, Root};
use super::traffic::{DomainCounters, Event};
use crate::addr::Extent;
use crate::addr::Iova;
use crate::iova::quarantine::token::Token;
use crate::iova::search::query::Gap;
use crate::iova::{
    ChunkSpace, ClaimError, ExtendError, Grant, Kept, Kind, NotReleased, PartError, RangeError,
    ReleaseError, ReserveAtError, Stale,
};
use crate::rbtree::NodeId;
use crate::sync::LockGuard;

/// Upper limit on the extents that a release of a range looks at under one hold of the tree's lock.
const LOOKS: usize = 32;

impl<F: Flush, C: DomainConfig> Domain<F, C> {
    /// Gives up a grant and returns its extent, which stays reserved. From now on its address is
    /// all that it takes to [release](Self::release_at) it or to [claim](Self::claim) it again.
    ///
    /// A domain releases only such extents by their address. Others may be in a magazine or in
    /// quarantine, where a second owner would find them.
    ///
    /// # Errors
    /// The grant is returned if another domain or another space made it; nothing has changed.
    ///
    /// # Cost
    /// O(1), the tree's lock.
    ///
    /// # Example
    /// ```
    /// use furlong::addr::{Extent, Iova};
    /// use furlong::iova::{Domain, Highest, NoTlb, OneCpu, Request, VecSpace};
    ///
    /// let below_4g = Extent::from_last(Iova::new(0x1000), Iova::new(0xffff_ffff)).unwrap();
    /// let space = VecSpace::new(below_4g, 4096, Vec::new())?;
    /// let domain = Domain::new(space, NoTlb, OneCpu, 1)?;
    ///
    /// // The caller keeps an address and a length, as `dma_unmap_single` does.
    /// let buffer = domain.disown(domain.reserve(&Request::new(0x4000), Highest)?)?;
    ///
    /// let token = domain.release_at(buffer)?;
    /// let _ = domain.quarantine(token)?; // free after some later flush
    /// assert!(domain.release_at(buffer).is_err());
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn disown(&self, grant: Grant) -> Result<Extent<Iova>, Stale> {
        self.root().space.disown(grant)
    }

    /// Returns the grant of an [`Unclaimed`](Kind::Unclaimed) extent. All of it counts as data, and
    /// it returns to the tree when it is freed.
    ///
    /// # Errors
    /// See [`ClaimError`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n), the tree's lock.
    pub fn claim(&self, extent: Extent<Iova>) -> Result<Grant, ClaimError> {
        let claimed = self.root().space.claim(extent);
        claimed.map(|grant| self.unclassed(grant))
    }

    /// Reserves `region` for the firmware or the machine, as
    /// [`Space::reserve_fixed`](crate::iova::Space::reserve_fixed) does, and returns the number of
    /// extents that it added.
    ///
    /// # Errors
    /// See [`ReserveAtError`]; nothing is reserved. If another extent is in the way, the
    /// quarantines have been flushed and the magazines drained.
    ///
    /// # Cost
    /// O(log n) with one lock, and O(1) on average for each extent that overlaps the region; after
    /// a refusal O(n log n).
    pub fn reserve_fixed(&self, region: Extent<Iova>) -> Result<usize, ReserveAtError> {
        let attempt = || {
            let nodes = |space: &ChunkSpace<C::Space>, (): &()| space.free_in(region).count();
            let reserve =
                |space: &mut ChunkSpace<C::Space>, ()| space.reserve_fixed(region, |_| ());
            self.with_nodes((), nodes, reserve)
                .unwrap_or(Err(ReserveAtError::NoMemory))
        };
        self.under_pressure(attempt, ReserveAtError::is_pressure)
    }

    /// Releases exactly `extent` by its address: one that was [given up](Self::disown), or a
    /// [`Fixed`](Kind::Fixed) one. The caller has removed its translation; the token is redeemed
    /// after a flush, as that of [`release`](Self::release).
    ///
    /// # Errors
    /// See [`ReleaseError`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n), the tree's lock and the CPU's. The extent returns to the tree when it is freed.
    pub fn release_at(&self, extent: Extent<Iova>) -> Result<Token, ReleaseError> {
        let grant = self.root().space.take_over(extent)?;
        self.per_cpu(self.here()).issued += 1;
        Ok(Token::of(&grant, self.own))
    }

    /// Releases all of `range` that was [given up](Self::disown), and passes the token of each
    /// piece to `released`, in ascending order, with no lock held. Returns their number.
    ///
    /// An extent that is partly inside is cut, and the remainder stays as it was. Granted and fixed
    /// extents are skipped. An extent that is given up meanwhile may be missed. If `released`
    /// panics, up to 31 further pieces have leaked.
    ///
    /// # Errors
    /// See [`RangeError`]; nothing has changed, and `released` was not called.
    ///
    /// # Cost
    /// O(log n), and O(1) on average for each extent that overlaps the range. It takes the tree's
    /// lock once for 32 of them. Two nodes are obtained at most, with no lock held.
    pub fn release_range(
        &self,
        range: Extent<Iova>,
        mut released: impl FnMut(Token),
    ) -> Result<usize, RangeError> {
        let wanted = self.with_space(|space| space.within(range))?;
        let cut = self.with_nodes(
            (),
            |space, ()| space.loose_ends(wanted).into_iter().flatten().count(),
            |space, ()| space.cut_loose_ends(wanted),
        );
        cut.map_err(|()| RangeError::NoMemory)?;
        let mut next = Some(wanted.first);
        let mut count = 0;
        while let Some(first) = next.filter(|first| *first <= wanted.last) {
            let mut batch = Batch::new();
            next = {
                let mut root = self.root();
                let rest = Gap { first, ..wanted };
                root.space.take_loose(rest, LOOKS, |grant| {
                    batch.add(Token::of(&grant, self.own));
                })
            };
            let more = batch.parked().count();
            self.per_cpu(self.here()).issued += more as u64;
            count += more;
            for parked in batch.parked() {
                released(Token::from_parked(*parked));
            }
        }
        Ok(count)
    }

    /// Releases `part` of a grant's extent, whose translation the caller has removed. The
    /// remainders get grants of their own, and all pieces return to the tree when they are freed.
    /// The lowest piece keeps the index.
    ///
    /// # Errors
    /// See [`PartError`]; the grant is returned, and nothing has changed.
    ///
    /// # Cost
    /// O(log n), the tree's lock and the CPU's. It takes a node for each remainder; memory for them
    /// is obtained with no lock held.
    pub fn release_part(
        &self,
        grant: Grant,
        part: Extent<Iova>,
    ) -> Result<(Token, Kept), NotReleased> {
        let cause = PartError::NoMemory;
        let parted = self.with_nodes(
            grant,
            |space, grant| space.cuts(grant, part),
            |space, grant| space.part_off(grant, part),
        );
        let parted = parted.unwrap_or_else(|grant| Err(NotReleased { grant, cause }));
        let (off, kept) = parted?;
        self.per_cpu(self.here()).issued += 1;
        let mine = |grant| self.unclassed(grant);
        let kept = Kept {
            below: kept.below.map(mine),
            above: kept.above.map(mine),
        };
        Ok((Token::of(&off, self.own), kept))
    }

    /// Extends the space to the bytes of `extent`, which contain it. Grants and tokens stay valid.
    ///
    /// # Errors
    /// See [`ExtendError`]; nothing has changed.
    ///
    /// # Cost
    /// O(1), the tree's lock.
    pub fn extend(&self, extent: Extent<Iova>) -> Result<(), ExtendError> {
        self.root().space.extend(extent)
    }

    /// The tree under its lock, counted as a visit.
    pub(super) fn root(&self) -> LockGuard<'_, C::Lock, Root<C>> {
        let mut root = self.tree.0.lock();
        root.counters.count(Event::TreeVisit, 1);
        root
    }

    /// Calls `change` under the tree's lock once as many nodes are free as `nodes` says. Memory for
    /// more is obtained without the lock; if there is none, `given` is returned.
    pub(super) fn with_nodes<A, T>(
        &self,
        given: A,
        nodes: impl Fn(&ChunkSpace<C::Space>, &A) -> usize,
        change: impl FnOnce(&mut ChunkSpace<C::Space>, A) -> T,
    ) -> Result<T, A> {
        loop {
            let (missing, table) = {
                let mut root = self.root();
                match nodes(&root.space, &given).checked_sub(root.space.room()) {
                    None | Some(0) => return Ok(change(&mut root.space, given)),
                    Some(missing) => (missing, root.space.table()),
                }
            };
            if self.grow(table, missing).is_err() {
                return Err(given);
            }
        }
    }
}

impl<C: crate::iova::Config> ChunkSpace<C> {
    /// The unclaimed extents that lie only partly in a range: the one across its start, and the one
    /// across its end.
    fn loose_ends(&self, range: Gap) -> [Option<NodeId>; 2] {
        let across = |first: u64, last: u64| {
            let at = self.tree.lower_bound(first)?;
            let item = self.tree.item(at);
            let is_across = item.start <= first && last <= item.last;
            (is_across && self.kind(at) == Kind::Unclaimed).then_some(at)
        };
        let below = range.first.checked_sub(1);
        let above = range.last.checked_add(1);
        [
            below.and_then(|below| across(below, range.first)),
            above.and_then(|above| across(range.last, above)),
        ]
    }

    /// Cuts the extents of [`loose_ends`](Self::loose_ends) at the range's ends. There are as many
    /// free nodes.
    fn cut_loose_ends(&mut self, range: Gap) {
        self.recover();
        let [start, end] = self.loose_ends(range);
        // From above: both may be the same extent, of which `at` keeps the lower piece.
        if let Some(at) = end {
            self.cut(at, range.last + 1);
        }
        if let Some(at) = start {
            self.cut(at, range.first);
        }
    }

    /// Takes over the unclaimed extents among the next `looks` of a range, and passes on their
    /// grants. Returns the granule after the last extent looked at; `None` at the end.
    fn take_loose(
        &mut self,
        range: Gap,
        looks: usize,
        mut taken: impl FnMut(Grant),
    ) -> Option<u64> {
        let mut next = self.tree.lower_bound(range.first);
        let mut behind = None;
        for _ in 0..looks {
            let at = next?;
            let item = *self.tree.item(at);
            if range.last < item.last {
                return None;
            }
            if self.kind(at) == Kind::Unclaimed && range.first <= item.start {
                self.tree.set_mark(at, Kind::Granted as u8);
                taken(self.granted(at));
            }
            behind = item.last.checked_add(1);
            next = self.tree.next(at);
        }
        behind
    }
}
