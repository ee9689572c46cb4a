//! Releasing to a domain: tokens, quarantine, magazines.

use super::class::Class;
use super::depot::Stowed;
use super::flush::Flush;
use super::magazine::{Entry, Magazine};
use super::per_cpu::{Batch, Sink};
use super::shared_space::{Domain, DomainConfig};
use super::traffic::{DomainCounters, Event};
use crate::iova::quarantine::ring::Level;
use crate::iova::quarantine::token::{Parked, Sealed, StaleSeal, StaleToken, Token};
use crate::iova::{Grant, Stale};

/// Number of CPUs whose quarantines one flush empties.
const SPAN: usize = 64;

impl<F: Flush, C: DomainConfig> Domain<F, C> {
    /// Turns a grant into a token. The caller has removed the grant's translation. From now on
    /// nobody owns the extent, and it cannot be reserved before the token is redeemed.
    ///
    /// # Errors
    /// The grant is returned if another domain or another space made it, or if an earlier domain of
    /// the space did and it was released by its address since; nothing has changed.
    ///
    /// # Cost
    /// O(1), the CPU's lock. Where an earlier domain had the space, the tree's lock too, here and
    /// in the other releases of a grant.
    #[inline]
    pub fn release(&self, grant: Grant) -> Result<Token, Stale> {
        let token = self.token(grant)?;
        self.per_cpu(self.here()).issued += 1;
        Ok(token)
    }

    /// Frees the extent of a token. The caller has flushed the device's TLB since its release.
    ///
    /// # Errors
    /// The token is returned if it was released elsewhere; nothing has changed.
    ///
    /// # Cost
    /// O(1) with the CPU's lock if there is room in its magazines. Otherwise one more lock, and in
    /// the worst case [`DomainConfig::MAGAZINE`] releases under the tree's lock.
    #[inline]
    pub fn redeem(&self, token: Token) -> Result<(), StaleToken> {
        if !token.parked().tag.is_with(self.own) {
            return Err(StaleToken(token));
        }
        self.free(self.here(), &token, 1);
        Ok(())
    }

    /// Releases and frees at once, for a device that has never seen the translation or no longer
    /// caches it.
    ///
    /// # Errors
    /// The grant is returned if another domain or another space made it; nothing has changed.
    ///
    /// # Cost
    /// Same as [`redeem`](Self::redeem).
    #[inline]
    pub fn release_flushed(&self, grant: Grant) -> Result<(), Stale> {
        let token = self.token(grant)?;
        self.free(self.here(), &token, 0);
        Ok(())
    }

    /// Releases a grant's extent, whose translation the caller has removed, and queues it on this
    /// CPU until the next flush.
    ///
    /// If the CPU's quarantine is full, this flushes: [`Flush::flush`] is called with no lock held,
    /// and all extents queued on this CPU become free. At [`Level::High`] a flush is due; a caller
    /// that cannot wait may leave it to another thread.
    ///
    /// # Errors
    /// The grant is returned if another domain or another space made it; nothing has changed.
    ///
    /// # Cost
    /// O(1), the CPU's lock; a flush every [`DomainConfig::QUARANTINE`] calls.
    #[inline]
    pub fn release_later(&self, grant: Grant) -> Result<Level, Stale> {
        let token = self.token(grant)?;
        Ok(self.keep(token, 1))
    }

    /// Queues a token on this CPU until the next flush; otherwise the same as
    /// [`release_later`](Self::release_later).
    ///
    /// # Errors
    /// The token is returned if it was released elsewhere; nothing has changed.
    ///
    /// # Cost
    /// Same as [`release_later`](Self::release_later).
    pub fn quarantine(&self, token: Token) -> Result<Level, StaleToken> {
        if !token.parked().tag.is_with(self.own) {
            return Err(StaleToken(token));
        }
        Ok(self.keep(token, 0))
    }

    /// Marks the tokens that wait on this CPU, for a caller that flushes the device itself. A flush
    /// that begins after this allows their redemption; later tokens wait for another flush.
    ///
    /// # Cost
    /// O(1), the CPU's lock.
    pub fn seal(&self) -> Sealed {
        let cpu = self.here();
        self.seal_cpu(cpu)
    }

    fn seal_cpu(&self, cpu: usize) -> Sealed {
        Sealed {
            tag: self.own,
            cpu,
            end: self.per_cpu(cpu).ring.end(),
        }
    }

    /// Frees the extents of the tokens that waited at the seal, and returns their number. The
    /// caller has flushed the device's TLB since.
    ///
    /// # Errors
    /// The seal is returned if it belongs to another domain; nothing has changed.
    ///
    /// # Cost
    /// O(1) per token and the CPU's lock once, if there is room in the magazines; otherwise the
    /// cost of a [`redeem`](Self::redeem) for one token in [`DomainConfig::MAGAZINE`].
    pub fn redeem_sealed(&self, sealed: Sealed) -> Result<usize, StaleSeal> {
        if sealed.tag != self.own {
            return Err(StaleSeal(sealed));
        }
        Ok(self.redeem_below(sealed.cpu, sealed.end, Sink::Magazines))
    }

    /// Flushes the device's TLB if a token waits on any CPU. Frees the extents that waited when the
    /// flush began, and returns their number.
    ///
    /// # Cost
    /// Every CPU's lock, and one flush per 64 CPUs.
    pub fn flush(&self) -> usize {
        self.flush_all(Sink::Magazines)
    }

    pub(super) fn flush_all(&self, sink: Sink) -> usize {
        let mut freed = 0;
        for first in (0..self.per_cpu.len()).step_by(SPAN) {
            let cpus = first..self.per_cpu.len().min(first + SPAN);
            let mut ends = [0; SPAN];
            let mut waiting = 0;
            for (end, cpu) in ends.iter_mut().zip(cpus.clone()) {
                let per_cpu = self.per_cpu(cpu);
                *end = per_cpu.ring.end();
                waiting += per_cpu.ring.len();
            }
            if waiting > 0 {
                self.flush_device(first);
                let redeemed = ends
                    .iter()
                    .zip(cpus)
                    .map(|(end, cpu)| self.redeem_below(cpu, *end, sink));
                freed += redeemed.sum::<usize>();
            }
        }
        freed
    }

    /// Flushes with no lock held, and counts the flush on a CPU.
    pub(super) fn flush_device(&self, cpu: usize) {
        self.flush.flush();
        self.per_cpu(cpu).counters.count(Event::Flush, 1);
    }

    /// The token of a grant that this domain made.
    #[inline]
    fn token(&self, grant: Grant) -> Result<Token, Stale> {
        if !grant.tag.is_with(self.tag) {
            return Err(Stale(grant));
        }
        if self.is_heir {
            return self.inherited(grant);
        }
        Ok(Token::of(&grant, self.own.with_class_of(grant.tag)))
    }

    /// The token of a grant that an earlier domain may have made: perhaps of a class that this one
    /// does not keep, and perhaps released by its address in between.
    #[cold]
    fn inherited(&self, grant: Grant) -> Result<Token, Stale> {
        if !self.with_space(|space| space.holds(&grant)) {
            return Err(Stale(grant));
        }
        let class = grant.tag.class();
        let tag = match class.filter(|class| class.order() < C::CLASSES) {
            Some(class) => self.own.with_class(class),
            None => self.own,
        };
        Ok(Token::of(&grant, tag))
    }

    #[inline]
    fn keep(&self, token: Token, issued: u64) -> Level {
        let cpu = self.here();
        let mut per_cpu = self.per_cpu(cpu);
        per_cpu.issued += issued;
        let pushed = per_cpu.ring.push(token);
        drop(per_cpu);
        pushed.unwrap_or_else(|token| self.flush_for(cpu, &token))
    }

    /// Flushes for a CPU whose quarantine is full. `token` was released before the flush, so it is
    /// freed too.
    #[cold]
    #[inline(never)]
    fn flush_for(&self, cpu: usize, token: &Token) -> Level {
        let sealed = self.seal_cpu(cpu);
        self.flush_device(cpu);
        self.redeem_below(cpu, sealed.end, Sink::Magazines);
        self.free(cpu, token, 1);
        Level::Low
    }

    /// Frees the tokens with numbers below `end` of a CPU's quarantine, and returns their number.
    pub(super) fn redeem_below(&self, cpu: usize, end: u64, sink: Sink) -> usize {
        let mut freed = 0;
        loop {
            let mut batch = Batch::new();
            let mut per_cpu = self.per_cpu(cpu);
            let before = per_cpu.redeemed;
            let stuck = per_cpu.redeem_below(end, sink, &mut batch);
            freed += (per_cpu.redeemed - before) as usize;
            drop(per_cpu);
            let is_done = stuck.is_none() && !batch.is_full();
            self.free_in_tree(batch.parked());
            if let Some((class, entry)) = stuck {
                self.stow(cpu, class, entry);
            }
            if is_done {
                return freed;
            }
        }
    }

    /// Frees the extent of a token into the magazines of a CPU, or into the tree.
    #[inline]
    fn free(&self, cpu: usize, token: &Token, redeemed: u64) {
        let mut per_cpu = self.per_cpu(cpu);
        per_cpu.redeemed += redeemed;
        let Some(class) = token.parked().tag.class() else {
            drop(per_cpu);
            return self.free_in_tree(core::iter::once(token.parked()));
        };
        let put = per_cpu.put(class, Entry::of(token.parked()));
        drop(per_cpu);
        if let Err(entry) = put {
            self.stow(cpu, class, entry);
        }
    }

    /// Frees an extent that does not fit in a CPU's magazines.
    #[cold]
    #[inline(never)]
    fn stow(&self, cpu: usize, class: Class, entry: Entry) {
        let stowed = {
            let mut per_cpu = self.per_cpu(cpu);
            let Err(entry) = per_cpu.put(class, entry) else {
                return;
            };
            let mut store = self.depots[class.order()].0.lock();
            store.counters.count(Event::DepotVisit, 1);
            let stowed = store.depot.stow(&mut per_cpu.shelves[class.order()]);
            drop(store);
            if per_cpu.put(class, entry).is_ok() {
                return;
            }
            stowed
        };
        let empty = match stowed {
            Stowed::Overflow(mut full) => {
                self.empty_into_tree(class, &mut full);
                Some(full)
            }
            Stowed::NoEmpty | Stowed::Room => Magazine::try_new(C::MAGAZINE),
        };
        match empty {
            Some(empty) => self.load(cpu, class, entry, empty),
            None => {
                let token = self.cached_token(class, entry);
                self.free_in_tree(core::iter::once(token.parked()));
            }
        }
    }

    /// Puts an extent into a CPU's magazines; if they are full, `empty` replaces one of them.
    fn load(&self, cpu: usize, class: Class, entry: Entry, empty: Magazine) {
        let mut per_cpu = self.per_cpu(cpu);
        let left = match per_cpu.put(class, entry) {
            Ok(()) => empty,
            Err(entry) => {
                let full = per_cpu.shelves[class.order()].exchange_full(empty);
                per_cpu
                    .put(class, entry)
                    .expect("an empty magazine has room");
                full
            }
        };
        drop(per_cpu);
        if left.is_some() {
            // Another caller on this CPU has made room meanwhile, or the replaced magazine is full.
            self.put_away(class, left);
        }
    }

    /// Puts a magazine into the depot, or its extents into the tree.
    pub(super) fn put_away(&self, class: Class, magazine: Magazine) {
        let kept = self.depots[class.order()].0.lock().depot.keep(magazine);
        if let Err(mut magazine) = kept {
            self.empty_into_tree(class, &mut magazine);
        }
    }

    /// Frees all extents of a magazine in the tree, and returns their number.
    pub(super) fn empty_into_tree(&self, class: Class, magazine: &mut Magazine) -> usize {
        let count = magazine.entries().len();
        if count > 0 {
            let mut root = self.tree.0.lock();
            while let Some(entry) = magazine.take() {
                let token = self.cached_token(class, entry);
                let released = root.space.release(token.parked().into_grant(self.tag));
                debug_assert!(released.is_ok(), "what is cached is reserved");
            }
            // Counted last: the caller's counters may panic, and by now no extent is in transit.
            root.counters.count(Event::TreeVisit, 1);
            root.counters.count(Event::Drained, count as u64);
        }
        count
    }

    /// Frees extents in the tree, under one hold of its lock.
    fn free_in_tree<'a>(&self, parked: impl Iterator<Item = &'a Parked>) {
        let mut parked = parked.peekable();
        if parked.peek().is_some() {
            let mut root = self.tree.0.lock();
            for parked in parked {
                let released = root.space.release(parked.into_grant(self.tag));
                debug_assert!(released.is_ok(), "what was released is reserved");
            }
            root.counters.count(Event::TreeVisit, 1);
        }
    }

    /// A token for an extent from a magazine.
    pub(super) fn cached_token(&self, class: Class, entry: Entry) -> Token {
        let mask = class.mask(self.shift).expect("its extents are reserved");
        entry.into_token(self.own.with_class(class), mask)
    }
}
