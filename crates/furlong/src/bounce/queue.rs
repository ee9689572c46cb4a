//! Those who wait for room, in the order in which they came.
#![forbid(unsafe_code)]

use core::task::Waker;

use super::need::Need;
use super::store::{Row, Store};

/// How often a waiter may be passed over by later ones whose runs fit before all behind it wait
/// for it.
pub const PASSES: u32 = 16;

/// The place of a waiter: nobody else's, ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u64);

#[derive(Debug)]
struct Waiter {
    ticket: Ticket,
    need: Need,
    device: u32,
    /// Woken, and not yet back.
    woken: bool,
    /// It had room and not enough of its quota: only its own device can help.
    short_of_quota: bool,
    passed: u32,
    waker: Waker,
}

/// Those who wait. It never obtains memory after it was made.
#[derive(Debug)]
pub(super) struct Queue {
    /// The first `len` are taken, in the order in which they came.
    places: Row<Option<Waiter>>,
    len: usize,
    next: u64,
}

impl Queue {
    /// For up to `limit` waiters; `None` if there is no memory.
    pub(super) fn try_new(limit: usize, store: &Store) -> Option<Self> {
        Some(Self {
            places: store.try_row(limit, |_| Some(None))?,
            len: 0,
            next: 0,
        })
    }

    /// Bytes that it takes from a store.
    pub(super) const fn footprint(limit: usize) -> usize {
        Row::<Option<Waiter>>::footprint(limit)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn waiters(&mut self) -> impl Iterator<Item = &mut Waiter> {
        self.places.as_mut()[..self.len].iter_mut().flatten()
    }

    /// A place at the end; `None` if there is none left.
    pub(super) fn enter(&mut self, need: Need, device: u32, waker: Waker) -> Option<Ticket> {
        let place = self.places.as_mut().get_mut(self.len)?;
        let ticket = Ticket(self.next);
        self.next += 1;
        self.len += 1;
        *place = Some(Waiter {
            ticket,
            need,
            device,
            woken: false,
            short_of_quota: false,
            passed: 0,
            waker,
        });
        Some(ticket)
    }

    fn of(&mut self, ticket: Ticket) -> Option<&mut Waiter> {
        self.waiters().find(|waiter| waiter.ticket == ticket)
    }

    /// Whether it is this one's turn; if not, it will be woken through `waker`. The waker that is
    /// not wanted any more comes back, to be dropped without a lock.
    pub(super) fn is_woken(&mut self, ticket: Ticket, waker: Waker) -> (bool, Waker) {
        let Some(waiter) = self.of(ticket) else {
            return (false, waker);
        };
        let old = core::mem::replace(&mut waiter.waker, waker);
        (waiter.woken, old)
    }

    /// It was its turn, and it found no room, or not enough of its quota: it waits again.
    pub(super) fn wait_again(&mut self, ticket: Ticket, short_of_quota: bool) {
        if let Some(waiter) = self.of(ticket) {
            waiter.woken = false;
            waiter.short_of_quota = short_of_quota;
        }
    }

    /// It waits no more. Its waker comes back, to be dropped without a lock.
    pub(super) fn leave(&mut self, ticket: Ticket) -> Option<Waker> {
        let at = self.waiters().position(|waiter| waiter.ticket == ticket)?;
        let from = &mut self.places.as_mut()[at..self.len];
        let gone = from[0].take();
        // Those behind it move up.
        from.rotate_left(1);
        self.len -= 1;
        gone.map(|waiter| waiter.waker)
    }

    /// Chooses who is woken, after `device` has given something back: the first whose run fits,
    /// unless one before it was passed over too often. Who was woken is not chosen again.
    pub(super) fn choose(
        &mut self,
        device: Option<u32>,
        fits: impl Fn(&Need) -> bool,
    ) -> Option<Waker> {
        for waiter in self.waiters() {
            if Some(waiter.device) == device {
                waiter.short_of_quota = false;
            }
        }
        let mut chosen = None;
        for (at, waiter) in self.waiters().enumerate() {
            if waiter.woken || waiter.short_of_quota {
                continue;
            }
            if fits(&waiter.need) {
                chosen = Some(at);
                break;
            }
            if waiter.passed >= PASSES {
                return None;
            }
        }
        let chosen = chosen?;
        let before = self.waiters().take(chosen);
        for waiter in before.filter(|waiter| !waiter.woken) {
            waiter.passed += u32::from(!waiter.short_of_quota);
        }
        let waiter = self.waiters().nth(chosen)?;
        waiter.woken = true;
        // It brings another when it comes.
        Some(core::mem::replace(&mut waiter.waker, Waker::noop().clone()))
    }
}
