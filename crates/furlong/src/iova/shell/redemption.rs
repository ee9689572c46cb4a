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

/// CPUs whose quarantines one flush empties.
const SPAN: usize = 64;

impl<F: Flush, C: DomainConfig> Domain<F, C> {
    /// Releases what a grant stands for, whose translation the caller has taken down. Nobody has it
    /// from now on, and nobody gets it before the token is redeemed.
    ///
    /// # Errors
    /// The grant comes back if another domain or another space made it; nothing has changed.
    ///
    /// # Cost
    /// O(1), the CPU's lock.
    #[inline]
    pub fn release(&self, grant: Grant) -> Result<Token, Stale> {
        let token = self.token(grant)?;
        self.part(self.here()).issued += 1;
        Ok(token)
    }

    /// Frees the extent of a token. The caller has flushed the device's TLB since it was released.
    ///
    /// # Errors
    /// The token comes back if it was released elsewhere; nothing has changed.
    ///
    /// # Cost
    /// O(1) with the CPU's lock if there is room in its magazines. Else one lock more, and at worst
    /// a [`DomainConfig::MAGAZINE`] of releases under the tree's lock.
    #[inline]
    pub fn redeem(&self, token: Token) -> Result<(), StaleToken> {
        if !token.parked().tag.is_with(self.tag) {
            return Err(StaleToken(token));
        }
        self.free(self.here(), &token, 1);
        Ok(())
    }

    /// Releases and frees at once: for a device that has never seen the translation, or has
    /// forgotten it already.
    ///
    /// # Errors
    /// The grant comes back if another domain or another space made it; nothing has changed.
    ///
    /// # Cost
    /// As [`redeem`](Self::redeem).
    #[inline]
    pub fn release_flushed(&self, grant: Grant) -> Result<(), Stale> {
        let token = self.token(grant)?;
        self.free(self.here(), &token, 0);
        Ok(())
    }

    /// Releases what a grant stands for, whose translation the caller has taken down, and lets it
    /// wait on this CPU for the next flush.
    ///
    /// Where the CPU's quarantine is full, this flushes: [`Flush::flush`] is called, with no lock
    /// held, and all that waited on this CPU becomes free. At [`Level::High`] a flush is due, which
    /// the caller may leave to somebody who can wait.
    ///
    /// # Errors
    /// The grant comes back if another domain or another space made it; nothing has changed.
    ///
    /// # Cost
    /// O(1), the CPU's lock; a flush every [`DomainConfig::QUARANTINE`] calls.
    #[inline]
    pub fn release_later(&self, grant: Grant) -> Result<Level, Stale> {
        let token = self.token(grant)?;
        Ok(self.keep(token, 1))
    }

    /// Lets a token wait on this CPU for the next flush; otherwise as
    /// [`release_later`](Self::release_later).
    ///
    /// # Errors
    /// The token comes back if it was released elsewhere; nothing has changed.
    ///
    /// # Cost
    /// As [`release_later`](Self::release_later).
    pub fn quarantine(&self, token: Token) -> Result<Level, StaleToken> {
        if !token.parked().tag.is_with(self.tag) {
            return Err(StaleToken(token));
        }
        Ok(self.keep(token, 0))
    }

    /// Says which tokens wait on this CPU, for a caller that flushes the device itself. A flush
    /// that begins after this makes them good; those that come later wait for another.
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

    /// Frees the extents of the tokens that waited when it was sealed, and says how many that were.
    /// The caller has flushed the device's TLB since.
    ///
    /// # Errors
    /// The seal comes back if it is another domain's; nothing has changed.
    ///
    /// # Cost
    /// O(1) a token and the CPU's lock once, if there is room in the magazines; else as
    /// [`redeem`](Self::redeem) for one in [`DomainConfig::MAGAZINE`].
    pub fn redeem_sealed(&self, sealed: Sealed) -> Result<usize, StaleSeal> {
        if sealed.tag != self.tag {
            return Err(StaleSeal(sealed));
        }
        Ok(self.redeem_below(sealed.cpu, sealed.end, Sink::Magazines))
    }

    /// Flushes the device's TLB if anything waits for that on any CPU, frees what waited when the
    /// flush began, and says how many extents that were.
    ///
    /// # Cost
    /// Every CPU's lock, and a flush every 64 CPUs.
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

    /// Flushes with no lock held, counted on a CPU.
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

    /// Flushes for a CPU whose quarantine is full. The token in hand was released before the flush.
    #[cold]
    #[inline(never)]
    fn flush_for(&self, cpu: usize, token: &Token) -> Level {
        let sealed = self.seal_cpu(cpu);
        self.flush_device(cpu);
        self.redeem_below(cpu, sealed.end, Sink::Magazines);
        self.free(cpu, token, 1);
        Level::Low
    }

    /// Frees the tokens with numbers below `end` of a CPU's quarantine, and says how many.
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

    /// Frees an extent for which a CPU's magazines have no room.
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

    /// Puts an extent into a CPU's magazines, of which an empty one becomes one if need be.
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
            // Another caller on this CPU has made room meanwhile, too.
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

    /// Frees all extents of a magazine in the tree, and says how many.
    pub(super) fn empty_into_tree(&self, class: Class, magazine: &mut Magazine) -> usize {
        let count = magazine.entries().len();
        if count > 0 {
            let mut root = self.tree.0.lock();
            while let Some(entry) = magazine.take() {
                let token = self.cached_token(class, entry);
                let released = root.space.release(token.parked().into_grant());
                debug_assert!(released.is_ok(), "what is cached is reserved");
            }
            // Last: counters are the caller's, and where they panic nothing is on its way.
            root.counters.count(Event::TreeVisit, 1);
            root.counters.count(Event::Drained, count as u64);
        }
        count
    }

    /// Frees extents in the tree, under one lock.
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
