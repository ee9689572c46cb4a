//! `plug-race`: one thread looks up while another plugs and unplugs; every answer is checked.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use furlong::addr::{Pfn, PhysAddr};
use furlong::phys::UnplugError;
use furlong::rcu::Reader;

use super::figures::{Index, exact, sampled};
use super::layout::{Layout, Memory, PAGE_BITS, extent};
use super::lookup_arm::{LookupArm, Table};
use super::page::{Page, Wide, answer, check, table};
use super::shape::{Beside, Shape};
use crate::computing::compute;
use furlong_lab::hash::digest;
use furlong_lab::model::{Failure, Outcome, Request};

/// Lookups per read-side section.
const BATCH: usize = 512;

/// One segment in this many is unplugged and replugged.
const HOT_ONE_IN: usize = 4;

/// Number of frames drawn beforehand.
const FRAMES: usize = 1 << 16;

/// Computations of the reader between two read-side sections: about a microsecond, which lets
/// another thread get an unfair lock.
const BREATHS: u32 = 8;

/// Minimum number of pairs due in a run for its rate to be meaningful.
const RATE_FROM: f64 = 1000.0;

/// Minimum share of the requested rate that must be reached.
const RATE_MIN: f64 = 0.9;

/// Runs one sample: the time is that of a lookup, with its share of entering a section.
///
/// # Errors
/// An answer was wrong, or the other thread could not keep its rate.
pub(super) fn run<L: LookupArm>(
    shape: &Shape,
    beside: Beside,
    request: &Request,
) -> Result<Outcome, Failure>
where
    Table<Wide, L>: Sync,
{
    let layouts = shape.layouts(request.seed)?;
    let layout = layouts.first().expect("a race has one");
    let track = Track::<L>::new(layout, beside, request.seed)?;
    let before = track.digest()?;
    if request.exact {
        let lookups = request.operations.max(1);
        let probes = track.count(lookups);
        let metrics = exact([Index::of(&track.table)].into_iter(), probes, lookups);
        return Ok(Outcome::new(lookups, Duration::ZERO, before, metrics));
    }
    let batches = request.operations.div_ceil(BATCH as u64).max(1);
    let lookups = batches * BATCH as u64;
    let timed = track.race(batches)?;
    check(&track.table)?;
    let digest = digest(before, [track.digest()?]);
    Ok(Outcome::new(
        lookups,
        timed,
        digest,
        sampled(timed, lookups),
    ))
}

/// State of the race.
struct Track<L: LookupArm> {
    table: Table<Wide, L>,
    memory: Memory,
    /// Frames to look up, in a cycle.
    frames: Vec<u64>,
    beside: Beside,
    /// Segments to unplug and replug.
    hot: Vec<Range<u64>>,
    /// True for each frame that may be missing.
    may_miss: Vec<bool>,
}

/// Work of the other thread.
struct Written {
    pairs: u64,
    elapsed: Duration,
}

impl<L: LookupArm> Track<L>
where
    Table<Wide, L>: Sync,
{
    fn new(layout: &Layout, beside: Beside, seed: u64) -> Result<Self, Failure> {
        let segments = layout.segments();
        let hot: Vec<_> = match beside {
            Beside::Computes => Vec::new(),
            _ => segments.iter().step_by(HOT_ONE_IN).cloned().collect(),
        };
        let may_miss = |frame| hot.iter().any(|frames| frames.contains(&frame));
        Ok(Self {
            table: table(layout)?,
            frames: layout.frames(FRAMES, seed),
            may_miss: (0..layout.top()).map(may_miss).collect(),
            hot,
            beside,
            memory: Memory::new(segments),
        })
    }

    /// Compares all answers with the plain list while everything is plugged, and returns their
    /// digest.
    fn digest(&self) -> Result<u64, Failure> {
        let segments = self.table.lock();
        let view = segments.view();
        let words = self.frames.iter().map(|frame| {
            let (_, word) = answer::<L, Wide>(view, *frame, self.memory.find(*frame))?;
            Ok(word)
        });
        Ok(digest(0, words.collect::<Result<Vec<_>, Failure>>()?))
    }

    /// Cells of the index that `lookups` lookups visit while everything is plugged.
    fn count(&self, lookups: u64) -> u64 {
        let segments = self.table.lock();
        let view = segments.view();
        let frames = self.frames.iter().cycle().take(lookups as usize);
        let probes = frames.map(|frame| view.probes_of_page(PhysAddr::new(frame << PAGE_BITS)));
        probes.sum()
    }

    /// Time of `batches` batches of lookups.
    fn race(&self, batches: u64) -> Result<Duration, Failure> {
        let (began, done) = (AtomicBool::new(false), AtomicBool::new(false));
        let reader = self.table.rcu().register().map_err(Failure::of)?;
        let (read, written) = thread::scope(|scope| {
            let writer = scope.spawn(|| self.write(&began, &done));
            while !began.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            let read = self.read(&reader, batches);
            done.store(true, Ordering::SeqCst);
            (read, writer.join().expect("the writer does not panic"))
        });
        let (timed, written) = (read?, written?);
        let Beside::Plugs(rate) = self.beside else {
            return Ok(timed);
        };
        let due = written.elapsed.as_secs_f64() * rate as f64;
        if due >= RATE_FROM && (written.pairs as f64) < RATE_MIN * due {
            return Err(Failure(format!(
                "the other thread unplugged and plugged {} times instead of {due:.0}: the machine \
                 is too busy",
                written.pairs
            )));
        }
        Ok(timed)
    }

    /// Looks up; the clock stops while answers are checked.
    fn read(&self, reader: &Reader<'_>, batches: u64) -> Result<Duration, Failure> {
        let mut timed = Duration::ZERO;
        let (stretches, _) = self.frames.as_chunks::<BATCH>();
        for frames in stretches.iter().cycle().take(batches as usize) {
            let begin = Instant::now();
            let (elapsed, wrong) = L::look(&self.table, reader, |view| {
                let pages: [Option<&Wide>; BATCH] =
                    std::array::from_fn(|at| view.page_of(Pfn::new(frames[at])));
                let elapsed = begin.elapsed();
                let mut answers = frames.iter().zip(&pages);
                (
                    elapsed,
                    answers.position(|(frame, page)| !self.is_right(*frame, *page)),
                )
            });
            if let Some(at) = wrong {
                let text = format!(
                    "the lookup of frame {:#x} was wrong during a race",
                    frames[at]
                );
                return Err(Failure(text));
            }
            timed += elapsed;
            (0..BREATHS).for_each(|_| compute());
        }
        Ok(timed)
    }

    /// True if the page is the frame's, or is absent where it may be missing.
    fn is_right(&self, frame: u64, page: Option<&Wide>) -> bool {
        page.map_or(self.may_miss[frame as usize], |page| page.is_of(frame))
    }

    /// Runs the other thread.
    fn write(&self, began: &AtomicBool, done: &AtomicBool) -> Result<Written, Failure> {
        let interval_ns = match self.beside {
            Beside::Computes => u64::MAX,
            Beside::Plugs(rate) => 1_000_000_000 / rate,
            Beside::PlugsAlways => 0,
        };
        let begin = Instant::now();
        began.store(true, Ordering::SeqCst);
        let mut hot = self.hot.iter().cycle();
        let mut written = Written {
            pairs: 0,
            elapsed: Duration::ZERO,
        };
        while !done.load(Ordering::SeqCst) {
            let due_ns = interval_ns.saturating_mul(written.pairs + 1);
            if u128::from(due_ns) > begin.elapsed().as_nanos() {
                compute();
            } else if let Some(frames) = hot.next() {
                self.replug(frames)?;
                written.pairs += 1;
            }
        }
        written.elapsed = begin.elapsed();
        Ok(written)
    }

    /// Runs one pair: removes frames and plugs them again.
    fn replug(&self, frames: &Range<u64>) -> Result<(), Failure> {
        let mut isolated = self
            .table
            .lock()
            .isolate(extent(frames))
            .map_err(Failure::of)?;
        loop {
            isolated = match self.table.lock().remove(isolated) {
                Ok(()) => break,
                Err(refused) if refused.cause == UnplugError::Readers => refused.frames,
                Err(refused) => return Err(Failure::of(refused)),
            };
            compute();
        }
        let plugged = self.table.lock().plug(extent(frames));
        plugged.map(drop).map_err(Failure::of)
    }
}

#[cfg(test)]
mod tests {
    use furlong::phys::{Direct, Tree};

    use super::{Beside, Layout, LookupArm, Table, Track, Wide, extent};

    fn sees_a_page_that_is_missing<L: LookupArm>()
    where
        Table<Wide, L>: Sync,
    {
        let track = |beside| Track::<L>::new(&Layout::side_by_side(), beside, 1).unwrap();
        let away = 8 * 4..8 * 5;
        // The fifth segment may be missing only if the other thread plugs and unplugs.
        for (beside, is_right) in [(Beside::PlugsAlways, true), (Beside::Computes, false)] {
            let track = track(beside);
            assert!(track.is_right(33, None) == is_right && !track.is_right(47, None));
            track.table.lock().unplug(extent(&away)).unwrap();
            let reader = track.table.rcu().register().unwrap();
            assert_eq!(track.read(&reader, 3).is_ok(), is_right);
            assert!(track.digest().is_err());
        }
    }

    #[test]
    fn a_page_that_is_missing_and_may_not_is_seen() {
        sees_a_page_that_is_missing::<Direct>();
        sees_a_page_that_is_missing::<Tree>();
    }
}
