//! Waiting for room: a future, and a loop for those who have none.
#![forbid(unsafe_code)]

use core::fmt;
use core::future::Future;
use core::ops::ControlFlow;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use super::block::Block;
use super::config::{Config, Standard};
use super::device::Device;
use super::error::MapError;
use super::guard::{Buffer, Mapped};
use super::memory::Memory;
use super::need::Need;
use super::pool::Pool;
use super::queue::Ticket;
use crate::sync::atomic::Ordering;

/// A map that waits for room: a future, or [`block`](Self::block) and `block_until`.
///
/// # Fairness
/// Those who wait stand in line. When something is given back, the first whose run fits is woken;
/// one that was passed over [`PASSES`](super::PASSES) times holds up all behind it until it fits.
/// Whoever comes while others wait joins the end, unless he does not wait: a plain
/// [`map`](Pool::map) takes what is free.
///
/// Dropping it gives the place back, and its turn to the next one.
/// One that is forgotten keeps its place in the line, and once in a while a turn, for good.
#[must_use = "nothing is mapped before it is polled"]
pub struct Waiting<'a, B: Buffer, M: Memory, C: Config = Standard> {
    pool: &'a Pool<M, C>,
    device: &'a Device,
    /// Taken out when it is mapped.
    buffer: Option<B>,
    ticket: Option<Ticket>,
}

impl<M: Memory, C: Config> Pool<M, C> {
    /// Maps a buffer as [`map`](Self::map) does, and waits where there is no room, or not enough
    /// of the device's quota left.
    ///
    /// # Errors
    /// The future's are those of [`MapError`] that waiting does not help against, also where more
    /// is wanted than the device's whole quota ([`Quota`](MapError::Quota)) or an empty pool has
    /// room for ([`Full`](MapError::Full)); and
    /// [`TooManyWaiters`](MapError::TooManyWaiters).
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

    /// Wakes the next one in line whose run fits, after `device` has given something back.
    #[cold]
    #[inline(never)]
    pub(super) fn notify(&self, device: Option<u32>) {
        let fits = |need: &Need| self.blocks.iter().any(|(_, block)| block.fits(need));
        let chosen = self.queue.0.lock().choose(device, fits);
        if let Some(waker) = chosen {
            waker.wake();
        }
    }

    /// Wakes the first one in line, since there is a place for a transient block: whether there is
    /// memory for one is seen when it tries.
    pub(super) fn notify_of_place(&self) {
        let chosen = self.queue.0.lock().choose(None, |_| true);
        if let Some(waker) = chosen {
            waker.wake();
        }
    }

    /// Why somebody would wait for ever: it is more than the whole quota, or than an empty pool
    /// and what it may grow by have room for.
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

    /// How many transient blocks have gone so far.
    fn transients_gone(&self) -> u32 {
        match self.plan.transients {
            0 => 0,
            _ => self.transients.0.lock().gone(),
        }
    }

    /// Joins the line.
    fn enter(&self, need: Need, device: &Device, waker: Waker) -> Result<Ticket, MapError> {
        let mut queue = self.queue.0.lock();
        let ticket = queue.enter(need, device.id(), waker);
        // Relaxed: whoever gives something back after this caller has settled its area sees it.
        self.waiting.0.store(queue.len(), Ordering::Relaxed);
        ticket.ok_or(MapError::TooManyWaiters(self.plan.waiters))
    }

    /// Leaves the line; the next one in it may have its turn.
    fn leave(&self, ticket: Ticket) {
        let mut queue = self.queue.0.lock();
        let waker = queue.leave(ticket);
        let left = queue.len();
        // Relaxed: as in `enter`; who sees an older number looks in vain.
        self.waiting.0.store(left, Ordering::Relaxed);
        drop(queue);
        // Dropped last: if it panics, the next one has had its turn.
        let _waker = waker;
        if left > 0 {
            self.notify(None);
            if self.plan.transients > 0 && self.transients.0.lock().has_place() {
                self.notify_of_place();
            }
        }
    }

    /// After this, whoever gives a run back sees that somebody waits, or has given it back before
    /// what the caller looks at next.
    fn settle(&self) {
        self.blocks
            .iter()
            .map(|(_, block)| block)
            .for_each(Block::settle);
    }
}

impl<'a, B: Buffer, M: Memory, C: Config> Waiting<'a, B, M, C> {
    /// Tries to map. `Err(None)`: there is no room, or too little of the quota.
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

    /// Joins the line, unless nobody stands in it and there is room.
    fn begin(&mut self, need: &Need, waker: Waker) -> Result<Mapped<'a, B, M, C>, MapError> {
        let gone = self.pool.transients_gone();
        // Relaxed: a look; one who comes at the same moment is no earlier.
        if self.pool.waiting.0.load(Ordering::Relaxed) == 0 {
            let tried = self.attempt(need);
            if !tried.as_ref().is_err_and(|error| error.passes()) {
                return tried;
            }
        }
        if let Some(error) = self.pool.never(self.device, need) {
            return Err(error);
        }
        self.ticket = Some(self.pool.enter(*need, self.device, waker)?);
        self.pool.settle();
        self.pool.notify(Some(self.device.id()));
        self.notify_if_any_went_since(gone);
        Err(MapError::Full {
            wanted: need.slots,
            free: 0,
        })
    }

    /// One step: mapped, refused, or waiting in line.
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
            let (woken, old) = self.pool.queue.0.lock().is_woken(ticket, waker.clone());
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

    /// A transient block that has gone since may have gone unseen: before this one could be chosen.
    fn notify_if_any_went_since(&self, gone: u32) {
        if self.pool.transients_gone() != gone {
            self.pool.notify_of_place();
        }
    }

    /// It was its turn, and somebody else was quicker, or its quota is used up.
    fn wait_again(&self, ticket: Ticket, error: MapError, need: &Need) {
        let short_of_quota = matches!(error, MapError::Quota { .. });
        self.pool.queue.0.lock().wait_again(ticket, short_of_quota);
        self.pool.settle();
        // What the device has given back before it was noted that only it can help, helps now.
        let relieved = short_of_quota && self.device.has_left(need.slots);
        let device = relieved.then_some(self.device.id());
        self.pool.notify(device);
    }

    /// Waits, calling `pause` whenever it has to: it sleeps, or spins a while.
    ///
    /// # Errors
    /// As the future.
    pub fn block(self, mut pause: impl FnMut()) -> Result<Mapped<'a, B, M, C>, MapError> {
        self.block_while(|| {
            pause();
            ControlFlow::Continue(())
        })
    }

    /// Waits until `pause`, which is called whenever it has to, breaks off.
    ///
    /// # Errors
    /// As the future, and [`TimedOut`](MapError::TimedOut); nothing has changed.
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
    /// As the future, and [`TimedOut`](MapError::TimedOut); nothing has changed.
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

// Nothing in it is pinned: the line knows it by a number.
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

impl<B: Buffer, M: Memory, C: Config> fmt::Debug for Waiting<'_, B, M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting")
            .field("ticket", &self.ticket)
            .finish_non_exhaustive()
    }
}
