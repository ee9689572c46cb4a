//! Reservation in a domain: magazines, depot, tree, and relief under pressure.

use super::class::Wanted;
use super::flush::Flush;
use super::magazine::Entry;
use super::per_cpu::Sink;
use super::shared_space::{Domain, DomainConfig};
use super::traffic::{DomainCounters, Event};
use crate::addr::{Extent, Iova};
use crate::iova::{ChunkSpace, Grant, Policy, Request, ReserveAtError, ReserveError, Sided};

impl<F: Flush, C: DomainConfig> Domain<F, C> {
    /// Reserves space for `request`: a suitable extent from a magazine, or a place in the tree that
    /// `policy` chooses. If the place matters, as for randomisation, use [`place`](Self::place): a
    /// policy that promises a place does not compile here.
    ///
    /// ```compile_fail,E0277
    /// # use furlong::addr::{Extent, Iova};
    /// # use furlong::iova::{Domain, NoTlb, OneCpu, Random, Request, VecSpace};
    /// # let all = Extent::from_last(Iova::new(0), Iova::new(0xffff_ffff)).unwrap();
    /// # let space = VecSpace::new(all, 4096, Vec::new()).unwrap();
    /// # let domain = Domain::new(space, NoTlb, OneCpu, 1).unwrap();
    /// # let random = Random::new(|| 4);
    /// domain.reserve(&Request::new(4096), random);
    /// ```
    ///
    /// # Errors
    /// See [`ReserveError`]; nothing is reserved. Under pressure the quarantines have been flushed
    /// and the magazines drained.
    ///
    /// # Cost
    /// From the CPU's own magazines O(1), with one lock; a request with a window inspects at most
    /// 254 extents. From the depot, one lock more. Otherwise the cost of
    /// [`Space::reserve`](crate::iova::Space::reserve), at most twice: for an extent of the class,
    /// and for the request as it is. After a refusal, a release for each extent freed, and the
    /// search again after each of the two steps.
    #[inline]
    pub fn reserve<P: Sided>(&self, request: &Request, policy: P) -> Result<Grant, ReserveError> {
        if let Some(wanted) = Wanted::new(request, self.shift, C::CLASSES) {
            let mut per_cpu = self.per_cpu(self.here());
            let found = per_cpu.take(&wanted);
            drop(per_cpu);
            if let Some(entry) = found {
                return Ok(self.grant(&wanted, entry));
            }
        }
        self.reserve_elsewhere(request, policy, Effort::Everything)
    }

    /// The same without a flush and without draining. It suits a preferred window that may be full,
    /// such as the low 4 GiB, before the caller tries a larger one.
    ///
    /// # Errors
    /// See [`ReserveError`]; nothing has changed.
    ///
    /// # Cost
    /// Same as [`reserve`](Self::reserve), and no more after a refusal.
    pub fn try_reserve<P: Sided>(
        &self,
        request: &Request,
        policy: P,
    ) -> Result<Grant, ReserveError> {
        let wanted = Wanted::new(request, self.shift, C::CLASSES);
        let found = wanted.and_then(|wanted| {
            let entry = self.per_cpu(self.here()).take(&wanted)?;
            Some(self.grant(&wanted, entry))
        });
        match found {
            Some(grant) => Ok(grant),
            None => self.reserve_elsewhere(request, policy, Effort::Little),
        }
    }

    /// Reserves space for `request` at the place that `policy` chooses among all that are free in
    /// the tree. Magazines are drained only if there is none. The extent returns to the tree when
    /// it is freed.
    ///
    /// # Errors
    /// Same as [`reserve`](Self::reserve).
    ///
    /// # Cost
    /// Same as [`Space::reserve`](crate::iova::Space::reserve), with one lock; after a refusal O(n
    /// log n).
    pub fn place<P: Policy>(
        &self,
        request: &Request,
        mut policy: P,
    ) -> Result<Grant, ReserveError> {
        let attempt = || self.attempt(request, &mut policy);
        let grant = self.with_effort(Effort::Everything, attempt)?;
        Ok(self.unclassed(grant))
    }

    /// Reserves exactly `extent`. The extent returns to the tree when it is freed.
    ///
    /// # Errors
    /// See [`ReserveAtError`]; nothing is reserved. If the extent is occupied, the quarantines have
    /// been flushed and the magazines drained.
    ///
    /// # Cost
    /// O(log n) with one lock; after a refusal O(n log n).
    pub fn reserve_at(&self, extent: Extent<Iova>) -> Result<Grant, ReserveAtError> {
        let attempt = || {
            let reserve = |space: &mut ChunkSpace<C::Space>| space.reserve_at(extent);
            self.with_room(reserve, ReserveAtError::NoMemory)
        };
        let grant = self.under_pressure(attempt, ReserveAtError::is_pressure)?;
        Ok(self.unclassed(grant))
    }

    /// Reserves from the depot or the tree, after the CPU's own magazines.
    ///
    /// It recomputes `Wanted` instead of taking it as an argument, so that the caller's copy can
    /// stay in registers.
    #[inline(never)]
    fn reserve_elsewhere<P: Policy>(
        &self,
        request: &Request,
        mut policy: P,
        effort: Effort,
    ) -> Result<Grant, ReserveError> {
        let wanted = Wanted::new(request, self.shift, C::CLASSES);
        if let Some(entry) = wanted.and_then(|wanted| self.refill(&wanted)) {
            return Ok(self.grant(&wanted.expect("it was looked for"), entry));
        }
        self.with_effort(effort, || {
            if let Some(wanted) = &wanted
                && let Ok(grant) = self.attempt(&wanted.whole(request), &mut policy)
            {
                let (start, at) = (grant.extent.start(), grant.at);
                return Ok(self.grant(wanted, Entry { start, at }));
            }
            // The request at its own size needs less room than an extent of its class.
            let grant = self.attempt(request, &mut policy)?;
            Ok(self.unclassed(grant))
        })
    }

    fn with_effort(
        &self,
        effort: Effort,
        mut attempt: impl FnMut() -> Result<Grant, ReserveError>,
    ) -> Result<Grant, ReserveError> {
        match effort {
            Effort::Little => attempt(),
            Effort::Everything => self.under_pressure(attempt, ReserveError::is_pressure),
        }
    }

    /// Fetches a magazine from the depot, if the CPU has no extent of the class.
    fn refill(&self, wanted: &Wanted) -> Option<Entry> {
        let mut per_cpu = self.per_cpu(self.here());
        let shelf = &mut per_cpu.shelves[wanted.class.order()];
        if !shelf.is_empty() {
            // The cached extents do not suit, or arrived meanwhile.
            return None;
        }
        let mut store = self.depots[wanted.class.order()].0.lock();
        store.counters.count(Event::DepotVisit, 1);
        let is_refilled = store.depot.refill(shelf);
        drop(store);
        is_refilled.then(|| per_cpu.take(wanted)).flatten()
    }

    /// The grant of an extent of a class.
    #[inline]
    fn grant(&self, wanted: &Wanted, entry: Entry) -> Grant {
        let [extent, data] = wanted.extents(entry.start);
        Grant {
            at: entry.at,
            tag: self.tag.with_class(wanted.class),
            extent,
            data,
        }
    }

    /// Converts a grant of the tree to one of this domain, without a class.
    pub(super) fn unclassed(&self, mut grant: Grant) -> Grant {
        grant.tag = self.tag;
        grant
    }

    /// Retries after a flush that freed anything, and again after the magazines were drained, as
    /// long as the refusal is due to pressure.
    pub(super) fn under_pressure<T, E>(
        &self,
        mut attempt: impl FnMut() -> Result<T, E>,
        is_pressure: impl Fn(&E) -> bool,
    ) -> Result<T, E> {
        let mut outcome = attempt();
        let relief = [
            |domain: &Self| domain.flush_all(Sink::Tree),
            |domain: &Self| domain.drain_magazines(),
        ];
        for relief in relief {
            match &outcome {
                Err(error) if is_pressure(error) => {}
                _ => return outcome,
            }
            if relief(self) > 0 {
                outcome = attempt();
            }
        }
        outcome
    }

    fn attempt<P: Policy>(&self, request: &Request, policy: &mut P) -> Result<Grant, ReserveError> {
        let reserve = |space: &mut ChunkSpace<C::Space>| space.reserve(request, &mut *policy);
        self.with_room(reserve, ReserveError::NoMemory)
    }

    /// Calls `reserve` under the tree's lock once a free node is available.
    fn with_room<T, E>(
        &self,
        reserve: impl FnOnce(&mut ChunkSpace<C::Space>) -> Result<T, E>,
        no_memory: E,
    ) -> Result<T, E> {
        let reserved = self.with_nodes((), |_, ()| 1, |space, ()| reserve(space));
        reserved.unwrap_or(Err(no_memory))
    }
}

/// Effort for a request that finds no place in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    /// Nothing.
    Little,
    /// A flush, and draining.
    Everything,
}

impl ReserveError {
    /// True if more room or memory could help.
    fn is_pressure(&self) -> bool {
        matches!(
            self,
            Self::NoSpace { .. } | Self::GaveUp(_) | Self::NoMemory
        )
    }
}

impl ReserveAtError {
    /// True if more room or memory could help.
    pub(super) fn is_pressure(&self) -> bool {
        matches!(self, Self::Occupied(_) | Self::NoMemory)
    }
}
