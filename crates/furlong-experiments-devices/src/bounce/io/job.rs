//! A job: it works through its part of the device, with one transfer in flight per buffer.
#![forbid(unsafe_code)]

use std::thread;
use std::time::{Duration, Instant};

use furlong::addr::Iova;

use super::engine::{Engine, Transfer};
use super::originals::Originals;
use super::part::{Part, Path, Way, wrong};
use super::route::Route;
use furlong_lab::model::Failure;

/// Attempts after which a job has failed that can map nothing and has nothing in flight. Other jobs
/// unmap meanwhile.
const TRIES: u32 = 100_000;

/// The current use of a buffer.
#[derive(Clone, Copy)]
struct Request {
    block: usize,
    way: Way,
    /// Handle that closes its route.
    end: Iova,
}

/// A job and its state.
pub(super) struct Job<'m, R> {
    route: &'m R,
    engine: Box<dyn Engine<'m> + 'm>,
    originals: &'m Originals,
    part: &'m mut Part,
    /// By buffer index.
    requests: Vec<Request>,
    /// Idle buffers.
    free: Vec<usize>,
    /// Buffers prepared but without a route.
    ready: Vec<usize>,
    under_way: usize,
    /// Kept to reuse its allocation.
    opened: Vec<(usize, Transfer<'m>)>,
    done: Vec<usize>,
    /// Time spent in the pool so far.
    pub(super) in_pool: Duration,
}

impl<'m, R: Route> Job<'m, R> {
    pub(super) fn new(
        route: &'m R,
        engine: Box<dyn Engine<'m> + 'm>,
        originals: &'m Originals,
        part: &'m mut Part,
    ) -> Self {
        let idle = Request {
            block: 0,
            way: Way::Read,
            end: Iova::new(0),
        };
        Self {
            route,
            engine,
            originals,
            part,
            requests: vec![idle; originals.count()],
            free: (0..originals.count()).rev().collect(),
            ready: vec![],
            under_way: 0,
            opened: vec![],
            done: vec![],
            in_pool: Duration::ZERO,
        }
    }

    /// Works through the whole part, sequentially and then at random. Each pass reads half of the
    /// blocks and writes the other half.
    ///
    /// # Errors
    /// The device failed, or a block has wrong content.
    pub(super) fn batch(&mut self) -> Result<(), Failure> {
        self.pass(Path::Sequential)?;
        self.pass(Path::Random)
    }

    /// Runs one pass. A block is in flight once per pass, so no transfer overtakes another of its
    /// block.
    fn pass(&mut self, path: Path) -> Result<(), Failure> {
        let (mut next, mut tries) = (0, 0);
        loop {
            next = self.prepare(path, next);
            self.open()?;
            if self.under_way > 0 {
                tries = 0;
                self.reap()?;
                continue;
            }
            if self.ready.is_empty() {
                break;
            }
            tries += 1;
            if tries == TRIES {
                return Err(Failure("the pool had no room".to_owned()));
            }
            thread::yield_now();
        }
        self.part.next_pass();
        Ok(())
    }

    /// Prepares idle buffers for the next blocks. Returns the first place that is not prepared.
    fn prepare(&mut self, path: Path, mut next: usize) -> usize {
        while next < self.part.blocks()
            && let Some(buffer) = self.free.pop()
        {
            let (block, way) = self.part.step(path, next);
            if way == Way::Write {
                let name = self.part.rewrite(block);
                self.originals.stamp(buffer, name);
            }
            let request = &mut self.requests[buffer];
            (request.block, request.way) = (block, way);
            self.ready.push(buffer);
            next += 1;
        }
        next
    }

    /// Starts the transfers of as many prepared buffers as the route has room for.
    fn open(&mut self) -> Result<(), Failure> {
        let (route, originals) = (self.route, self.originals);
        let begin = Instant::now();
        while let Some(&buffer) = self.ready.last() {
            let request = &mut self.requests[buffer];
            let Some((end, place)) = route.open(originals, buffer, request.way) else {
                break;
            };
            request.end = end;
            let transfer = Transfer {
                place,
                offset: self.part.offset(request.block),
                way: request.way,
            };
            self.opened.push((buffer, transfer));
            self.ready.pop();
        }
        self.in_pool += begin.elapsed();
        for (buffer, transfer) in self.opened.drain(..) {
            self.engine.start(buffer, transfer)?;
            self.under_way += 1;
        }
        Ok(())
    }

    /// Waits for transfers to end, and checks the blocks that were read.
    fn reap(&mut self) -> Result<(), Failure> {
        self.engine.wait(&mut self.done)?;
        let begin = Instant::now();
        for buffer in &self.done {
            let request = &self.requests[*buffer];
            self.route.close(request.end, request.way)?;
        }
        self.in_pool += begin.elapsed();
        self.under_way -= self.done.len();
        for buffer in self.done.drain(..) {
            let Request { block, way, .. } = self.requests[buffer];
            let name = self.part.name(block);
            if way == Way::Read && !self.originals.is_stamped(buffer, name) {
                return Err(wrong(name));
            }
            self.free.push(buffer);
        }
        Ok(())
    }
}
