//! Work of a CPU: a network card's ring, an NVMe queue, or one side of a hand-over.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

use furlong_spec::Random;

use super::shared::SharedAllocator;
use super::watch::Watch;
use crate::traffic::Buffer;

/// Operations per turn: the packets that Linux lets a driver handle before it yields.
pub(super) const TURN: usize = 64;

/// Descriptors of a ring: the default of a driver for cards of 10 Gb/s.
const RING: usize = 512;

/// Requests in flight on an NVMe queue.
const DEPTH: usize = 128;

/// Batches in flight between the two CPUs: a ring's worth.
const HANDFULS: usize = RING / TURN;

/// Operations that are drawn beforehand and reused cyclically: few enough for the first-level
/// cache.
const DRAWN: usize = 2048;

/// One drawn operation: the extent to release, and the buffer to reserve in its place.
#[derive(Clone, Copy)]
struct Step {
    place: u32,
    buffer: Buffer,
}

/// Work of a CPU.
pub(super) enum Worker<A: SharedAllocator> {
    /// A turn releases the oldest extents and reserves as many.
    Card(Table<A>),
    /// A turn repeatedly releases a random extent and reserves another.
    Queue(Table<A>),
    /// A turn reserves a batch and hands it over.
    Giver(Giver<A>),
    /// A turn releases a batch that was handed over.
    Taker(Taker<A>),
}

/// Extents of a ring or a queue.
pub(super) struct Table<A: SharedAllocator> {
    grants: Vec<Option<A::Grant>>,
    steps: Vec<Step>,
    at: usize,
}

pub(super) struct Giver<A: SharedAllocator> {
    buffers: Vec<Buffer>,
    at: usize,
    handfuls: SyncSender<Vec<A::Grant>>,
    empty: Receiver<Vec<A::Grant>>,
    /// True when no further batch will come.
    ended: Arc<AtomicBool>,
}

pub(super) struct Taker<A: SharedAllocator> {
    handfuls: Receiver<Vec<A::Grant>>,
    empty: SyncSender<Vec<A::Grant>>,
    ended: Arc<AtomicBool>,
}

impl<A: SharedAllocator> Worker<A> {
    /// Serves a network card whose ring is full.
    pub(super) fn card(random: &mut Random, domain: &A, watch: &impl Watch) -> Self {
        let mut next = 0..;
        let place = |_: &mut Random| next.next().unwrap_or(0) % RING as u32;
        Self::Card(Table::new(
            RING,
            place,
            Buffer::of_network_card,
            random,
            domain,
            watch,
        ))
    }

    /// Serves an NVMe queue with all its requests in flight.
    pub(super) fn queue(random: &mut Random, domain: &A, watch: &impl Watch) -> Self {
        let place = |random: &mut Random| random.index(DEPTH) as u32;
        Self::Queue(Table::new(
            DEPTH,
            place,
            Buffer::of_nvme,
            random,
            domain,
            watch,
        ))
    }

    /// Makes the two sides of a hand-over.
    pub(super) fn pair(random: &mut Random) -> [Self; 2] {
        let (handfuls, taken) = sync_channel(HANDFULS);
        let (emptied, empty) = sync_channel(HANDFULS);
        for _ in 0..HANDFULS {
            let handful = Vec::with_capacity(TURN);
            emptied
                .send(handful)
                .expect("there is room for all of them");
        }
        let buffers = (0..DRAWN)
            .map(|_| Buffer::of_network_card(random))
            .collect();
        let ended = Arc::new(AtomicBool::new(false));
        let giver = Giver {
            buffers,
            at: 0,
            handfuls,
            empty,
            ended: Arc::clone(&ended),
        };
        let taker = Taker {
            handfuls: taken,
            empty: emptied,
            ended,
        };
        [Self::Giver(giver), Self::Taker(taker)]
    }

    /// Runs one turn; `None` if a request found no place or the other side has ended.
    #[inline]
    pub(super) fn turn(&mut self, domain: &A, watch: &impl Watch) -> Option<()> {
        match self {
            Self::Card(table) => table.serve_ring(domain, watch),
            Self::Queue(table) => table.serve_queue(domain, watch),
            Self::Giver(giver) => giver.give(domain, watch),
            Self::Taker(taker) => taker.take(domain, watch),
        }
    }

    /// Returns the extents that it holds.
    pub(super) fn grants(self) -> Vec<A::Grant> {
        match self {
            Self::Card(table) | Self::Queue(table) => table.grants.into_iter().flatten().collect(),
            Self::Giver(_) => Vec::new(),
            Self::Taker(taker) => taker.handfuls.try_iter().flatten().collect(),
        }
    }
}

impl<A: SharedAllocator> Table<A> {
    fn new(
        len: usize,
        mut place: impl FnMut(&mut Random) -> u32,
        buffer: impl Fn(&mut Random) -> Buffer,
        random: &mut Random,
        domain: &A,
        watch: &impl Watch,
    ) -> Self {
        let steps = (0..DRAWN).map(|_| Step {
            place: place(random),
            buffer: buffer(random),
        });
        let steps = steps.collect();
        let first = (0..len).map(|_| reserve(domain, watch, buffer(random)));
        Self {
            grants: first.collect(),
            steps,
            at: 0,
        }
    }

    /// The steps of the next turn, as a range.
    #[inline(always)]
    fn draw(&mut self) -> std::ops::Range<usize> {
        let from = self.at;
        self.at = (self.at + TURN) % DRAWN;
        from..from + TURN
    }

    #[inline(never)]
    fn serve_ring(&mut self, domain: &A, watch: &impl Watch) -> Option<()> {
        let drawn = self.draw();
        for step in &self.steps[drawn.clone()] {
            release(domain, watch, self.grants[step.place as usize].take()?);
        }
        for step in &self.steps[drawn] {
            let grant = reserve(domain, watch, step.buffer)?;
            self.grants[step.place as usize] = Some(grant);
        }
        Some(())
    }

    #[inline(never)]
    fn serve_queue(&mut self, domain: &A, watch: &impl Watch) -> Option<()> {
        let drawn = self.draw();
        for step in &self.steps[drawn] {
            let place = &mut self.grants[step.place as usize];
            release(domain, watch, place.take()?);
            *place = Some(reserve(domain, watch, step.buffer)?);
        }
        Some(())
    }
}

impl<A: SharedAllocator> Giver<A> {
    #[inline(never)]
    fn give(&mut self, domain: &A, watch: &impl Watch) -> Option<()> {
        let mut handful = receive(&self.empty, &self.ended)?;
        let from = self.at;
        self.at = (self.at + TURN) % DRAWN;
        for buffer in &self.buffers[from..from + TURN] {
            let Some(grant) = reserve(domain, watch, *buffer) else {
                self.ended.store(true, Ordering::SeqCst);
                return None;
            };
            handful.push(grant);
        }
        self.handfuls.send(handful).ok()
    }
}

impl<A: SharedAllocator> Taker<A> {
    #[inline(never)]
    fn take(&mut self, domain: &A, watch: &impl Watch) -> Option<()> {
        let mut handful = receive(&self.handfuls, &self.ended)?;
        for grant in handful.drain(..) {
            release(domain, watch, grant);
        }
        // Fails if the giver has ended with its last turn.
        let _ = self.empty.send(handful);
        Some(())
    }
}

/// Waits by spinning first: the other CPU is usually nearly done.
fn receive<T>(from: &Receiver<T>, ended: &AtomicBool) -> Option<T> {
    let mut tries = 0_u32;
    loop {
        match from.try_recv() {
            Ok(received) => return Some(received),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        if ended.load(Ordering::SeqCst) {
            return None;
        }
        tries += 1;
        if tries.is_multiple_of(256) {
            thread::yield_now();
        } else {
            hint::spin_loop();
        }
    }
}

#[inline(always)]
fn reserve<A: SharedAllocator>(domain: &A, watch: &impl Watch, buffer: Buffer) -> Option<A::Grant> {
    let grant = domain.reserve(buffer)?;
    watch.granted(A::extent(&grant), buffer);
    Some(grant)
}

#[inline(always)]
fn release<A: SharedAllocator>(domain: &A, watch: &impl Watch, grant: A::Grant) {
    watch.released(A::extent(&grant));
    domain.release(grant);
}
