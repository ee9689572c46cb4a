//! Releasing to a domain: tokens, quarantine, magazines.
#![forbid(unsafe_code)]

use super::class::Class;
use super::cpu::Sink;
use super::depot::Stowed;
use super::domain::{Domain, DomainConfig};
use super::flush::Flush;
use super::handful::Handful;
use super::magazine::{Entry, Magazine};
use super::traffic::{DomainCounters, Event};
use crate::iova::ring::Level;
use crate::iova::token::{Parked, Sealed, StaleSeal, StaleToken, Token};
use crate::iova::{Grant, Stale};

/// Number of CPUs whose quarantines one flush empties.
const SPAN: usize = 64;

impl<F: Flush, C: DomainConfig> Domain<F, C> {
    /// Turns a grant into a token. The caller has removed the grant's translation. From now on
    /// nobody owns the extent, and it cannot be reserved before the token is redeemed.
    ///
    /// # Errors
    /// The grant is returned if another domain or another space made it; nothing has changed.
    ///
    /// # Cost
    /// O(1), the CPU's lock.
    #[inline]
    pub fn release(&self, grant: Grant) -> Result<Token, Stale> {
        let token = self.token(grant)?;
        self.part(self.here()).issued += 1;
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
        if !token.parked().tag.is_with(self.tag) {
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
        if !token.parked().tag.is_with(self.tag) {
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
            tag: self.tag,
            cpu,
            end: self.part(cpu).ring.end(),
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
        if sealed.tag != self.tag {
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
        for first in (0..self.parts.len()).step_by(SPAN) {
            let cpus = first..self.parts.len().min(first + SPAN);
            let mut ends = [0; SPAN];
            let mut waiting = 0;
            for (end, cpu) in ends.iter_mut().zip(cpus.clone()) {
                let part = self.part(cpu);
                *end = part.ring.end();
                waiting += part.ring.len();
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
        self.part(cpu).counters.count(Event::Flush, 1);
    }

    /// The token of a grant that this domain made.
    #[inline]
    fn token(&self, grant: Grant) -> Result<Token, Stale> {
        if !grant.tag.is_with(self.tag) {
            return Err(Stale(grant));
        }
        Ok(Token::of(&grant, grant.tag))
    }

    #[inline]
    fn keep(&self, token: Token, issued: u64) -> Level {
        let cpu = self.here();
        let mut part = self.part(cpu);
        part.issued += issued;
        let pushed = part.ring.push(token);
        drop(part);
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
            let mut handful = Handful::new();
            let mut part = self.part(cpu);
            let before = part.redeemed;
            let stuck = part.redeem_below(end, sink, &mut handful);
            freed += (part.redeemed - before) as usize;
            drop(part);
            let is_done = stuck.is_none() && !handful.is_full();
            self.free_in_tree(handful.parked());
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
        let mut part = self.part(cpu);
        part.redeemed += redeemed;
        let Some(class) = token.parked().tag.class() else {
            drop(part);
            return self.free_in_tree(core::iter::once(token.parked()));
        };
        let put = part.put(class, Entry::of(token.parked()));
        drop(part);
        if let Err(entry) = put {
            self.stow(cpu, class, entry);
        }
    }

    /// Frees an extent that does not fit in a CPU's magazines.
    #[cold]
    #[inline(never)]
    fn stow(&self, cpu: usize, class: Class, entry: Entry) {
        let stowed = {
            let mut part = self.part(cpu);
            let Err(entry) = part.put(class, entry) else {
                return;
            };
            let mut store = self.depots[class.order()].0.lock();
            store.counters.count(Event::DepotVisit, 1);
            let stowed = store.depot.stow(&mut part.shelves[class.order()]);
            drop(store);
            if part.put(class, entry).is_ok() {
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
        let mut part = self.part(cpu);
        let left = match part.put(class, entry) {
            Ok(()) => empty,
            Err(entry) => {
                let full = part.shelves[class.order()].exchange_full(empty);
                part.put(class, entry).expect("an empty magazine has room");
                full
            }
        };
        drop(part);
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
                let released = root.space.release(token.parked().into_grant());
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
                let released = root.space.release(parked.into_grant());
                debug_assert!(released.is_ok(), "what was released is reserved");
            }
            root.counters.count(Event::TreeVisit, 1);
        }
    }

    /// A token for an extent from a magazine.
    pub(super) fn cached_token(&self, class: Class, entry: Entry) -> Token {
        let mask = class.mask(self.shift).expect("its extents are reserved");
        entry.into_token(self.tag.with_class(class), mask)
    }
}
