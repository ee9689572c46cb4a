//! Waiting for room: as a future, or in a loop.
#![forbid(unsafe_code)]

use core::future::Future;
use core::ops::ControlFlow;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use super::queue::Ticket;
use crate::bounce::{
    Block, Buffer, Config, Device, Growth, MapError, Mapped, Memory, Need, Pool, Standard,
};
use crate::forms::debug_as;
use crate::sync::atomic::Ordering;

/// A map that waits for room: a future, or [`block`](Self::block) and `block_until`.
///
/// # Fairness
/// Waiters form a queue. When something is given back, the first waiter whose run fits is woken. A
/// waiter that was passed [`PASSES`](crate::bounce::PASSES) times holds up all behind it until its
/// run fits, unless no block that exists could serve it even if empty. A new waiter joins the end.
/// A plain [`map`](Pool::map) does not queue: it takes free slots at once.
///
/// Nothing is reserved for a woken waiter. A map, or another waiter, may take the slots before it
/// tries again. It then keeps its place in the queue, and waits on.
///
/// Dropping it gives up its place, and its turn passes to the next one. If it is forgotten, it
/// keeps its place in the queue for good, and one turn.
#[must_use = "nothing is mapped before it is polled"]
pub struct Waiting<'a, B: Buffer, M: Memory, C: Config = Standard> {
    pool: &'a Pool<M, C>,
    device: &'a Device,
    /// Taken out when it is mapped.
    buffer: Option<B>,
    ticket: Option<Ticket>,
}

impl<M: Memory, C: Config> Pool<M, C> {
    /// Maps a buffer like [`map`](Self::map), and waits if there is no room, or too little of the
    /// device's quota left.
    ///
    /// # Errors
    /// The future returns a [`MapError`] that waiting cannot help. That includes requests above the
    /// device's whole quota ([`Quota`](MapError::Quota)) or above an empty pool's room
    /// ([`Full`](MapError::Full)). It returns [`TooManyWaiters`](MapError::TooManyWaiters) if the
    /// queue is full.
    ///
    /// # Example
    /// ```
    /// use furlong::bounce::{Device, HeapMemory, Limits, OneCpu, Plan, Pool, ToDevice};
    ///
    /// let pool = Pool::new(HeapMemory::new(), OneCpu, &Plan::new(1, 1))?;
    /// let nic = Device::new(1, Limits::new())?;
    /// let first = pool.map(&nic, ToDevice(b"one"))?;
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| pool.wait(&nic, ToDevice(b"two")).block(std::thread::yield_now));
    ///     drop(first);
    /// });
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn wait<'a, B: Buffer>(&'a self, device: &'a Device, buffer: B) -> Waiting<'a, B, M, C> {
        Waiting {
            pool: self,
            device,
            buffer: Some(buffer),
            ticket: None,
        }
    }

    /// The need of the sleeping waiter with the most slots of those who fit nowhere now, but
    /// perhaps in a further block.
    pub(crate) fn unserved(&self) -> Option<Need> {
        // Relaxed: a hint; a waiter that joins at this moment asks for growth itself.
        if self.waiting.0.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let helps = |need: &Need| !self.fits(need) && self.could_grow_for(need.slots);
        self.queue.0.lock().unserved(&helps)
    }

    /// Asks for growth if that may serve a waiter. No map asks for those who sleep.
    fn ask_for_waiters(&self) {
        if self.plan.growth == Growth::Deferred && self.unserved().is_some() {
            self.ask_for_growth();
        }
    }

    /// Wakes the first waiter whose run fits, after `device` has given something back.
    #[cold]
    #[inline(never)]
    pub(crate) fn notify(&self, device: Option<u32>) {
        // Nobody can wait, so no lock is needed.
        if self.plan.waiters == 0 {
            return;
        }
        let fits = |need: &Need| self.fits(need);
        let could_fit = |need: &Need| self.awake().any(|block| block.could_fit(need));
        let chosen = self.queue.0.lock().choose(device, &fits, &could_fit);
        if let Some(waker) = chosen {
            waker.wake();
        }
    }

    /// True if a block has a run for it at this moment.
    fn fits(&self, need: &Need) -> bool {
        self.blocks.iter().any(|(_, block)| block.fits(need))
    }

    fn has_transient_place(&self) -> bool {
        self.plan.transients > 0 && self.transients.0.lock().has_place()
    }

    /// True if an attempt of a request that fits in no block may still succeed: it grows the pool,
    /// or obtains a transient block.
    fn attempt_makes_room(&self, need: &Need) -> bool {
        let grows = self.plan.growth == Growth::Inline && self.could_grow_for(need.slots);
        !self.fits(need) && (grows || self.has_transient_place())
    }

    /// Wakes the first waiter, as there is a place for a transient block. The waiter's attempt
    /// shows if there is memory for one; if not, the turn goes to those behind it.
    pub(super) fn notify_of_place(&self) {
        let chosen = self.queue.0.lock().choose(None, &|_| true, &|_| true);
        if let Some(waker) = chosen {
            waker.wake();
        }
    }

    /// The error for a request that would wait for ever: above the whole quota, or above the room
    /// of an empty pool with its possible growth.
    fn never(&self, device: &Device, need: &Need) -> Option<MapError> {
        let quota = device.limits().quota.unwrap_or(u32::MAX);
        if need.slots > quota {
            return Some(Self::over_quota(
                device,
                device.used().unwrap_or(0),
                need.slots,
            ));
        }
        let fits = self.plan.transients > 0
            || self.awake().any(|block| block.could_fit(need))
            || self.could_grow_for(need.slots);
        (!fits).then(|| self.refusal(need))
    }

    /// The number of transient blocks removed so far.
    fn transients_gone(&self) -> u32 {
        match self.plan.transients {
            0 => 0,
            _ => self.transients.0.lock().gone(),
        }
    }

    /// Joins the queue.
    fn enter(&self, need: Need, device: &Device, waker: Waker) -> Result<Ticket, MapError> {
        let mut queue = self.queue.0.lock();
        let ticket = queue.enter(need, device.id(), waker);
        // Relaxed: a CPU that frees something after this caller has settled the area sees it.
        self.waiting.0.store(queue.len(), Ordering::Relaxed);
        drop(queue);
        ticket.map_err(|_waker| MapError::TooManyWaiters(self.plan.waiters))
    }

    /// Leaves the queue, and wakes the next waiter.
    fn leave(&self, ticket: Ticket) {
        let mut queue = self.queue.0.lock();
        let waker = queue.leave(ticket);
        let left = queue.len();
        // Relaxed: as in `enter`; a CPU that sees an older number looks in vain.
        self.waiting.0.store(left, Ordering::Relaxed);
        drop(queue);
        // Dropped last: if it panics, the next waiter has been woken.
        let _waker = waker;
        if left > 0 {
            self.notify(None);
            self.ask_for_waiters();
            if self.has_transient_place() {
                self.notify_of_place();
            }
        }
    }

    /// Orders the caller with all frees. A later free sees that there is a waiter; an earlier one
    /// is visible to the caller's next look.
    fn settle(&self) {
        self.blocks
            .iter()
            .map(|(_, block)| block)
            .for_each(Block::settle);
    }
}

impl<'a, B: Buffer, M: Memory, C: Config> Waiting<'a, B, M, C> {
    /// Tries to map; on an error, keeps the buffer for the next try.
    fn attempt(&mut self, need: &Need) -> Result<Mapped<'a, B, M, C>, MapError> {
        let buffer = self.buffer.take().expect("it was not mapped before");
        let ask = Pool::<M, C>::ask(&buffer);
        match self
            .pool
            .reserve_needed(self.device, &ask, need, |spot| spot)
        {
            Ok(spot) => Ok(self.pool.filled(self.device, buffer, spot)),
            Err(error) => {
                self.buffer = Some(buffer);
                Err(error)
            }
        }
    }

    fn need(&self) -> Result<Need, MapError> {
        let buffer = self.buffer.as_ref().expect("it was not mapped before");
        self.pool.need(self.device, &Pool::<M, C>::ask(buffer))
    }

    /// Maps at once if the queue is empty and there is room; otherwise joins the queue.
    fn begin(&mut self, need: &Need, waker: Waker) -> Result<Mapped<'a, B, M, C>, MapError> {
        let gone = self.pool.transients_gone();
        // Relaxed: a hint; a waiter that joins at this moment is not earlier.
        let is_behind = self.pool.waiting.0.load(Ordering::Relaxed) > 0;
        if !is_behind {
            let tried = self.attempt(need);
            if !tried.as_ref().is_err_and(|error| error.passes()) {
                return tried;
            }
        }
        if let Some(error) = self.pool.never(self.device, need) {
            return Err(error);
        }
        let ticket = self.pool.enter(*need, self.device, waker)?;
        self.ticket = Some(ticket);
        self.pool.settle();
        self.pool.notify(Some(self.device.id()));
        // It may have tried nothing yet, behind others, and a growth that failed before knew
        // nothing of it.
        if is_behind && self.pool.attempt_makes_room(need) {
            self.pool.queue.0.lock().give_turn(ticket);
        }
        self.pool.ask_for_waiters();
        self.notify_if_any_went_since(gone);
        Err(MapError::Full {
            wanted: need.slots,
            free: 0,
        })
    }

    /// One step: mapped, refused, or waiting in the queue.
    fn step(&mut self, waker: &Waker) -> Poll<Result<Mapped<'a, B, M, C>, MapError>> {
        let need = match self.need() {
            Ok(need) => need,
            Err(error) => return Poll::Ready(Err(error)),
        };
        if self.ticket.is_none() {
            let begun = self.begin(&need, waker.clone());
            if self.ticket.is_none() {
                return Poll::Ready(begun);
            }
        }
        while let Some(ticket) = self.ticket {
            // A waker's own code runs without the lock.
            let new = waker.clone();
            let (woken, old) = self.pool.queue.0.lock().is_woken(ticket, new);
            drop(old);
            if !woken {
                return Poll::Pending;
            }
            let gone = self.pool.transients_gone();
            let tried = self.attempt(&need);
            let Some(error) = tried.as_ref().err().filter(|error| error.passes()) else {
                self.ticket = None;
                self.pool.leave(ticket);
                return Poll::Ready(tried);
            };
            self.wait_again(ticket, *error, &need);
            self.notify_if_any_went_since(gone);
        }
        Poll::Pending
    }

    /// Wakes again if a transient block was removed since `gone`: this waiter may have missed that.
    fn notify_if_any_went_since(&self, gone: u32) {
        if self.pool.transients_gone() != gone {
            self.pool.notify_of_place();
        }
    }

    /// Waits again after a turn in which another CPU was faster, or the quota was used up.
    fn wait_again(&self, ticket: Ticket, error: MapError, need: &Need) {
        let short_of_quota = matches!(error, MapError::Quota { .. });
        self.pool.queue.0.lock().wait_again(ticket, short_of_quota);
        self.pool.settle();
        // Its device may have given something back before `short_of_quota` was set: look again.
        let relieved = short_of_quota && self.device.has_left(need.slots);
        let device = relieved.then_some(self.device.id());
        self.pool.notify(device);
        // A place that it could not use may serve another.
        if self.pool.has_transient_place() {
            let next = self.pool.queue.0.lock().pass_turn(ticket);
            next.into_iter().for_each(Waker::wake);
        }
    }

    /// Waits, and calls `pause` each time it has to; `pause` sleeps or spins a while.
    ///
    /// # Errors
    /// As in [`Pool::wait`].
    pub fn block(self, mut pause: impl FnMut()) -> Result<Mapped<'a, B, M, C>, MapError> {
        self.block_while(|| {
            pause();
            ControlFlow::Continue(())
        })
    }

    /// Waits until `pause`, which is called each time it has to, returns `Break`.
    ///
    /// # Errors
    /// As in [`Pool::wait`], and [`TimedOut`](MapError::TimedOut); nothing has changed.
    pub fn block_while(
        mut self,
        mut pause: impl FnMut() -> ControlFlow<()>,
    ) -> Result<Mapped<'a, B, M, C>, MapError> {
        loop {
            if let Poll::Ready(done) = self.step(Waker::noop()) {
                return done;
            }
            if pause().is_break() {
                return Err(MapError::TimedOut);
            }
        }
    }
}

#[cfg(feature = "std")]
impl<'a, B: Buffer, M: Memory, C: Config> Waiting<'a, B, M, C> {
    /// Sleeps until there is room, or until `deadline`.
    ///
    /// # Errors
    /// As in [`Pool::wait`], and [`TimedOut`](MapError::TimedOut); nothing has changed.
    pub fn block_until(
        mut self,
        deadline: std::time::Instant,
    ) -> Result<Mapped<'a, B, M, C>, MapError> {
        struct Thread(std::thread::Thread);

        impl std::task::Wake for Thread {
            fn wake(self: std::sync::Arc<Self>) {
                self.0.unpark();
            }
        }

        let waker = Waker::from(std::sync::Arc::new(Thread(std::thread::current())));
        loop {
            if let Poll::Ready(done) = self.step(&waker) {
                return done;
            }
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                return Err(MapError::TimedOut);
            }
            std::thread::park_timeout(left);
        }
    }
}

// Nothing in it is pinned: the queue refers to it by a number.
impl<B: Buffer, M: Memory, C: Config> Unpin for Waiting<'_, B, M, C> {}

impl<'a, B: Buffer, M: Memory, C: Config> Future for Waiting<'a, B, M, C> {
    type Output = Result<Mapped<'a, B, M, C>, MapError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().step(context.waker())
    }
}

impl<B: Buffer, M: Memory, C: Config> Drop for Waiting<'_, B, M, C> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.pool.leave(ticket);
        }
    }
}

debug_as! { Waiting<'_, B, M, C> where [B: Buffer, M: Memory, C: Config]:
    |it| Waiting { ticket: it.ticket, .. }
}
