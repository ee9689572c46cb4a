//! The queue of maps that wait for room, first come, first served.
#![forbid(unsafe_code)]

use core::mem;
use core::task::Waker;

use crate::bounce::{Need, Row, Store};

/// The number of times that later waiters whose runs fit may pass a waiter. After that, all behind
/// it wait for it.
pub const PASSES: u32 = 16;

/// The number of a waiter; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u64);

struct Waiter {
    ticket: Ticket,
    need: Need,
    device: u32,
    /// True from its wake-up until it tries again.
    woken: bool,
    /// True if it found room, but too little of its quota: only its own device can help.
    short_of_quota: bool,
    passed: u32,
    waker: Waker,
}

impl Waiter {
    /// True if room would help it, and it has not been woken.
    fn sleeps(&self) -> bool {
        !self.woken && !self.short_of_quota
    }

    /// Gives it a turn. Returns the waker, which it replaces when it tries again.
    fn wake(&mut self) -> Waker {
        self.woken = true;
        mem::replace(&mut self.waker, Waker::noop().clone())
    }
}

/// The waiters. It allocates only when it is made.
pub(crate) struct Queue {
    /// The first `len` places are taken, in the order of arrival.
    places: Row<Option<Waiter>>,
    len: usize,
    next: u64,
}

impl Queue {
    /// Makes a queue for up to `limit` waiters; `None` if out of memory.
    pub(crate) fn try_new(limit: usize, store: &Store) -> Option<Self> {
        Some(Self {
            places: store.try_row(limit, |_| Some(None))?,
            len: 0,
            next: 0,
        })
    }

    /// Bytes that it takes from a store.
    pub(crate) const fn footprint(limit: usize) -> usize {
        Row::<Option<Waiter>>::footprint(limit)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn waiters(&mut self) -> impl Iterator<Item = &mut Waiter> {
        self.places.as_mut()[..self.len].iter_mut().flatten()
    }

    /// Adds a waiter at the end.
    ///
    /// # Errors
    /// If the queue is full, the waker, to be dropped without a lock.
    pub(super) fn enter(&mut self, need: Need, device: u32, waker: Waker) -> Result<Ticket, Waker> {
        let Some(place) = self.places.as_mut().get_mut(self.len) else {
            return Err(waker);
        };
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
        Ok(ticket)
    }

    /// The need of the sleeping waiter with the most slots of those whom growth `helps`. Quota it
    /// does not give.
    pub(super) fn unserved(&mut self, helps: &dyn Fn(&Need) -> bool) -> Option<Need> {
        let waiters = self.waiters().filter(|one| one.sleeps());
        let unserved = waiters.map(|one| one.need).filter(|need| helps(need));
        unserved.max_by_key(|need| need.slots)
    }

    /// Wakes a waiter that is running and need not be told.
    pub(super) fn give_turn(&mut self, ticket: Ticket) {
        if let Some(waiter) = self.of(ticket) {
            waiter.woken = true;
        }
    }

    /// Wakes the next waiter behind this one.
    pub(super) fn pass_turn(&mut self, ticket: Ticket) -> Option<Waker> {
        let behind = self.waiters().skip_while(|one| one.ticket != ticket);
        let mut behind = behind.skip(1).filter(|one| one.sleeps());
        Some(behind.next()?.wake())
    }

    fn of(&mut self, ticket: Ticket) -> Option<&mut Waiter> {
        self.waiters().find(|waiter| waiter.ticket == ticket)
    }

    /// True if this waiter has been woken; if not, `waker` will wake it. Returns the waker that is
    /// no longer needed, to be dropped without a lock.
    pub(super) fn is_woken(&mut self, ticket: Ticket, waker: Waker) -> (bool, Waker) {
        let Some(waiter) = self.of(ticket) else {
            return (false, waker);
        };
        let old = mem::replace(&mut waiter.waker, waker);
        (waiter.woken, old)
    }

    /// Lets a woken waiter wait again, after it found no room or too little of its quota.
    pub(super) fn wait_again(&mut self, ticket: Ticket, short_of_quota: bool) {
        if let Some(waiter) = self.of(ticket) {
            waiter.woken = false;
            waiter.short_of_quota = short_of_quota;
        }
    }

    /// Removes a waiter. Returns its waker, to be dropped without a lock.
    pub(super) fn leave(&mut self, ticket: Ticket) -> Option<Waker> {
        let at = self.waiters().position(|waiter| waiter.ticket == ticket)?;
        let from = &mut self.places.as_mut()[at..self.len];
        let gone = from[0].take();
        // The waiters behind it move up.
        from.rotate_left(1);
        self.len -= 1;
        gone.map(|waiter| waiter.waker)
    }

    /// Chooses the waiter to wake, after `device` has given something back: the first whose run
    /// fits, unless one before it was passed too often that `could_fit` when more is given back. A
    /// woken waiter is not chosen again.
    pub(super) fn choose(
        &mut self,
        device: Option<u32>,
        fits: &dyn Fn(&Need) -> bool,
        could_fit: &dyn Fn(&Need) -> bool,
    ) -> Option<Waker> {
        for waiter in self.waiters() {
            if Some(waiter.device) == device {
                waiter.short_of_quota = false;
            }
        }
        let mut chosen = None;
        for (at, waiter) in self.waiters().enumerate() {
            if !waiter.sleeps() {
                continue;
            }
            if fits(&waiter.need) {
                chosen = Some(at);
                break;
            }
            if waiter.passed >= PASSES && could_fit(&waiter.need) {
                return None;
            }
        }
        let chosen = chosen?;
        let before = self.waiters().take(chosen);
        for waiter in before.filter(|waiter| !waiter.woken) {
            waiter.passed = waiter
                .passed
                .saturating_add(u32::from(!waiter.short_of_quota));
        }
        Some(self.waiters().nth(chosen)?.wake())
    }
}
