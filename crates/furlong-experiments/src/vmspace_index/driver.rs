//! A workload on an index.
//!
//! The inputs of a batch are drawn before its clock starts, and its answers are checked after it
//! stops.

use std::hint::black_box;
use std::time::{Duration, Instant};

use furlong_spec::Random;

use super::index::{AreaIndex, Span};
use super::layout::{Layout, PAGE, PAGES_MAX, RARE_PAGES};
use super::shape::{Kind, OnIndex, Shape};
use super::work::Work;
use furlong_lab::hash::digest;
use furlong_lab::model::{Failure, Outcome, Request};

/// Lookups between two clock readings.
const LOOK_UPS: u64 = 4096;

/// Other operations between two clock readings.
const BATCH: u64 = 256;

/// Number of replaced areas before the timed churn begins, or all areas if fewer.
const WARM_MAX: usize = 1 << 16;

/// A bulk fork omits one area in this many.
const LEFT_OUT: u32 = 64;

/// Runs one sample of a workload on an index.
///
/// # Errors
/// The workload is not on an index alone, or an answer is wrong.
pub fn run<I: AreaIndex>(request: &Request) -> Result<Outcome, Failure> {
    let shape = Shape::of(&request.workload)?;
    let Kind::Index(workload) = shape.kind else {
        let name = &request.workload.name;
        return Err(Failure(format!("`{name}` needs more than an index")));
    };
    let mut random = Random::new(request.seed);
    let mut driver = Driver::<I> {
        layout: Layout::new(shape.areas, &mut random),
        random,
        score: Score::default(),
        index: I::new(),
    };
    let operations = request.operations.max(1);
    match workload {
        OnIndex::LookUp => driver.look_up(operations),
        OnIndex::StoreRandom => driver.store_random(operations),
        OnIndex::EraseRandom => driver.erase_random(operations),
        OnIndex::Append => driver.append(operations),
        OnIndex::Iterate => driver.iterate(operations),
        OnIndex::Fork => driver.fork(operations, |_| true, I::duplicate),
        OnIndex::BulkFork => driver.fork(operations, keeps, |index| index.duplicate_part(keeps)),
        OnIndex::Churn => driver.churn(operations),
        OnIndex::Toggle => driver.toggle(operations),
        OnIndex::GapLow => driver.gaps(operations, Gap::Low),
        OnIndex::GapHigh => driver.gaps(operations, Gap::High),
        OnIndex::GapNone => driver.gaps(operations, Gap::None),
    }?;
    driver.score.outcome(request.exact)
}

/// True if a bulk fork copies the area with this number.
fn keeps(value: u32) -> bool {
    !value.is_multiple_of(LEFT_OUT)
}

/// Operations, times and counts of a sample.
#[derive(Clone, Copy, Default)]
pub(super) struct Score {
    pub(super) operations: u64,
    pub(super) timed: Duration,
    /// Time between timed operations, where that dominates: batches are chosen so that both
    /// together last as long as the plan wants.
    pub(super) between: Duration,
    pub(super) work: Work,
    /// Final bytes of the index, and its number of areas.
    pub(super) bytes: (u64, u64),
    pub(super) digest: u64,
}

impl Score {
    pub(super) fn outcome(self, exact: bool) -> Result<Outcome, Failure> {
        let (bytes, areas) = self.bytes;
        let metrics = if exact {
            let per_area = bytes as f64 / areas.max(1) as f64;
            let mut counts = self.work.metrics(self.operations);
            counts.push(("bytes_per_area", per_area));
            counts
        } else {
            let time = self.timed.as_secs_f64() * 1e9 / self.operations as f64;
            vec![("time_ns_per_op", time)]
        };
        let timed = self.timed + self.between;
        Ok(Outcome::new(self.operations, timed, self.digest, metrics))
    }
}

/// Fails if two numbers differ.
pub(super) fn same(what: &str, found: u64, expected: u64) -> Result<(), Failure> {
    if found == expected {
        return Ok(());
    }
    Err(Failure(format!(
        "{what}: {found:#x} instead of {expected:#x}"
    )))
}

/// Gap to search for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    Low,
    High,
    None,
}

struct Driver<I> {
    layout: Layout,
    random: Random,
    score: Score,
    index: I,
}

impl<I: AreaIndex> Driver<I> {
    /// Times `operations` operations on the index.
    fn clock<T>(&mut self, operations: u64, run: impl FnOnce(&mut I) -> T) -> T {
        let before = self.index.work();
        let begin = Instant::now();
        let done = run(&mut self.index);
        self.score.timed += begin.elapsed();
        self.score.operations += operations;
        self.score.work += self.index.work() - before;
        black_box(done)
    }

    /// Stores all areas in random order, as use would fill a space.
    fn fill(&mut self) {
        self.index = I::new();
        for (span, value) in self.layout.shuffled(&mut self.random) {
            self.index.store(span, value);
        }
    }

    /// Checks the final state after the clock has stopped.
    fn finish(&mut self, sum: u64, areas: usize) -> Result<(), Failure> {
        self.index.check()?;
        same("the areas add up to", self.index.sum(), sum)?;
        self.score.bytes = (self.index.bytes(), areas as u64);
        self.score.digest = digest(self.score.digest, [sum]);
        Ok(())
    }

    fn finish_whole(&mut self) -> Result<(), Failure> {
        self.finish(self.layout.sum(), self.layout.spans.len())
    }

    fn look_up(&mut self, operations: u64) -> Result<(), Failure> {
        self.fill();
        let mut addresses = Vec::with_capacity(LOOK_UPS as usize);
        while self.score.operations < operations {
            let now = LOOK_UPS.min(operations - self.score.operations);
            addresses.clear();
            let mut expected = 0_u64;
            for _ in 0..now {
                let (address, value) = self.layout.address(&mut self.random);
                addresses.push(address);
                expected += u64::from(value) + 1;
            }
            let queries = black_box(addresses.as_slice());
            let found = self.clock(now, |index| index.look_up(queries));
            same("look-ups add up to", found, expected)?;
        }
        self.finish_whole()
    }

    fn store_random(&mut self, operations: u64) -> Result<(), Failure> {
        while self.score.operations < operations {
            let areas = self.layout.shuffled(&mut self.random);
            self.index = I::new();
            self.clock(areas.len() as u64, |index| {
                for (span, value) in &areas {
                    index.store(*span, *value);
                }
            });
            same("the areas add up to", self.index.sum(), self.layout.sum())?;
        }
        self.finish_whole()
    }

    fn erase_random(&mut self, operations: u64) -> Result<(), Failure> {
        let expected = (1..=self.layout.spans.len() as u64).sum();
        while self.score.operations < operations {
            self.fill();
            self.score.bytes = (self.index.bytes(), self.layout.spans.len() as u64);
            let areas = self.layout.shuffled(&mut self.random);
            let erased = self.clock(areas.len() as u64, |index| {
                let erased = areas.iter().map(|(span, _)| index.erase(*span));
                erased.fold(0, |sum, value| {
                    sum + value.map_or(0, |value| u64::from(value) + 1)
                })
            });
            same("erased areas add up to", erased, expected)?;
        }
        let bytes = self.score.bytes;
        self.finish(0, 0)?;
        self.score.bytes = bytes;
        Ok(())
    }

    fn append(&mut self, operations: u64) -> Result<(), Failure> {
        let areas: Vec<_> = self.layout.numbered().collect();
        while self.score.operations < operations {
            self.index = I::new();
            self.clock(areas.len() as u64, |index| {
                for (span, value) in black_box(&areas) {
                    index.store(*span, *value);
                }
            });
            same("the areas add up to", self.index.sum(), self.layout.sum())?;
        }
        self.finish_whole()
    }

    fn iterate(&mut self, operations: u64) -> Result<(), Failure> {
        self.fill();
        let (areas, expected) = (self.layout.spans.len() as u64, self.layout.sum());
        while self.score.operations < operations {
            let sum = self.clock(areas, |index| black_box(index).sum());
            same("the areas add up to", sum, expected)?;
        }
        self.finish_whole()
    }

    /// Copies the areas that `keeps` accepts; the copy is dropped after the clock has stopped.
    fn fork(
        &mut self,
        operations: u64,
        keeps: impl Fn(u32) -> bool,
        copy: impl Fn(&I) -> I,
    ) -> Result<(), Failure> {
        self.fill();
        let kept = self.layout.numbered().filter(|(_, value)| keeps(*value));
        let expected = kept.fold(0, |sum: u64, (span, value)| {
            sum.wrapping_add(span.mixed(value))
        });
        let areas = self.layout.spans.len() as u64;
        while self.score.operations < operations {
            let child = self.clock(areas, |index| copy(index));
            self.score.work += child.work();
            child.check()?;
            same("the copies add up to", child.sum(), expected)?;
        }
        self.finish_whole()
    }

    /// Replaces areas: one is erased, another stored as high as it fits.
    fn churn(&mut self, operations: u64) -> Result<(), Failure> {
        self.fill();
        let mut live = self.layout.spans.clone();
        self.replace(live.len().min(WARM_MAX) as u64, &mut live)?;
        self.score = Score::default();
        self.replace(operations, &mut live)?;
        let sum = live.iter().zip(0..).fold(0, |sum: u64, (span, value)| {
            sum.wrapping_add(span.mixed(value))
        });
        self.finish(sum, live.len())
    }

    fn replace(&mut self, operations: u64, live: &mut [Span]) -> Result<(), Failure> {
        let window = self.layout.window;
        let mut lens = Vec::with_capacity(BATCH as usize);
        while self.score.operations < operations {
            let now = BATCH.min(operations - self.score.operations);
            lens.clear();
            for _ in 0..now {
                let victim = self.random.index(live.len());
                let len = (1 + self.random.below(PAGES_MAX)) * PAGE;
                lens.push((victim, len));
            }
            let steps = black_box(lens.as_slice());
            let mut starts = [0; BATCH as usize];
            let replaced = self.clock(now, |index| {
                for ((victim, len), start) in steps.iter().zip(&mut starts) {
                    let value = index.erase(live[*victim])?;
                    *start = index.highest(window, *len)?;
                    live[*victim] = Span::of_len(*start, *len);
                    index.store(live[*victim], value);
                }
                Some(())
            });
            replaced.ok_or_else(|| Failure("an area or a gap was not found".to_owned()))?;
            let starts = starts.into_iter().take(now as usize);
            self.score.digest = digest(self.score.digest, starts);
        }
        Ok(())
    }

    /// Stores an area after another one and erases it again. The leaves are as full as ascending
    /// stores leave them.
    fn toggle(&mut self, operations: u64) -> Result<(), Failure> {
        for (span, value) in self.layout.numbered() {
            self.index.store(span, value);
        }
        let guest = self.layout.spans.len() as u32;
        while self.score.operations < operations {
            let now = BATCH.min(operations - self.score.operations);
            let span = self.layout.gaps[self.random.index(self.layout.gaps.len())];
            let seen = self.clock(now, |index| {
                let toggled = (0..now).map(|_| {
                    index.store(span, guest);
                    index.erase(span)
                });
                toggled.filter(|value| *value == Some(guest)).count()
            });
            same("guests that came and went", seen as u64, now)?;
        }
        self.finish_whole()
    }

    fn gaps(&mut self, operations: u64, gap: Gap) -> Result<(), Failure> {
        self.fill();
        let mut asks = Vec::with_capacity(BATCH as usize);
        while self.score.operations < operations {
            let now = BATCH.min(operations - self.score.operations);
            asks.clear();
            asks.extend((0..now).map(|_| self.ask(gap)));
            let steps = black_box(asks.as_slice());
            let mut starts = [u64::MAX; BATCH as usize];
            self.clock(now, |index| {
                index.search(steps, gap != Gap::High, &mut starts);
            });
            let starts = starts.into_iter().take(now as usize);
            if gap == Gap::None && starts.clone().any(|start| start != u64::MAX) {
                return Err(Failure("a gap was found where none exists".to_owned()));
            }
            self.score.digest = digest(self.score.digest, starts);
        }
        self.finish_whole()
    }

    /// Draws a window that begins or ends at an area, and the length of a gap in it.
    fn ask(&mut self, gap: Gap) -> (Span, u64) {
        let Span { first, last } = self.layout.window;
        let at = self.layout.spans[self.random.index(self.layout.spans.len())].first;
        let len = (1 + self.random.below(RARE_PAGES)) * PAGE;
        match gap {
            Gap::Low => (Span { first: at, last }, len),
            Gap::High => (Span { first, last: at }, len),
            Gap::None => (self.layout.window, (RARE_PAGES + 1) * PAGE),
        }
    }
}
