//! A job: it goes through its part of the device, with as many transfers under way as it has
//! buffers.
#![forbid(unsafe_code)]

use std::thread;
use std::time::{Duration, Instant};

use furlong::addr::Iova;

use super::engine::{Engine, Transfer};
use super::originals::Originals;
use super::part::{Part, Path, Way, wrong};
use super::route::Route;
use furlong_lab::model::Failure;

/// A job that could map nothing so often, with nothing under way, has failed: others unmap
/// meanwhile.
const TRIES: u32 = 100_000;

/// What is done with a buffer.
#[derive(Clone, Copy)]
struct Request {
    block: usize,
    way: Way,
    /// What ends its route.
    end: Iova,
}

/// A job at work.
pub(super) struct Job<'m, R> {
    route: &'m R,
    engine: Box<dyn Engine<'m> + 'm>,
    originals: &'m Originals,
    part: &'m mut Part,
    /// By buffer.
    requests: Vec<Request>,
    /// Buffers with nothing to do.
    free: Vec<usize>,
    /// Buffers that have no route yet.
    ready: Vec<usize>,
    under_way: usize,
    /// Kept for their memory.
    opened: Vec<(usize, Transfer<'m>)>,
    done: Vec<usize>,
    /// Spent in the pool so far.
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

    /// Goes through the whole part, sequentially and then at random. Of each pass half of the
    /// blocks are read and half are written.
    ///
    /// # Errors
    /// The device failed, or a block was not what it should be.
    pub(super) fn round(&mut self) -> Result<(), Failure> {
        self.pass(Path::Sequential)?;
        self.pass(Path::Random)
    }

    /// A block is under way once in a pass: nothing overtakes itself.
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
                return Err(Failure("there was no room in the pool".to_owned()));
            }
            thread::yield_now();
        }
        self.part.next_pass();
        Ok(())
    }

    /// Makes buffers ready for the blocks that come next; returns the place of the one after them.
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

    /// Begins the transfers of as many ready buffers as the route has room for.
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

    /// Waits for transfers to end, and looks at what was read.
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
