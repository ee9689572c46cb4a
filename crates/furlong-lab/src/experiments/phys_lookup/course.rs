//! A lookup on its way through a workload: checked, then timed or counted.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use furlong::addr::{Pfn, PhysAddr};
use furlong::rcu::Reader;

use super::contestant::{Contestant, Table};
use super::layout::{Asks, Layout, Memory, PAGE_BITS};
use super::page::{Page, address, answer, check, said, table};
use super::shape::{Kind, Shape};
use super::source::Source;
use crate::experiments::{Failure, Outcome, Request};
use crate::hash::digest;

/// Frames that are made beforehand: so many that no branch predictor learns them by heart.
const FRAMES: usize = 1 << 18;

/// Bytes of 1 GiB.
const GIB: f64 = (1_u64 << 30) as f64;

/// Runs one sample of a workload on one thread.
///
/// # Errors
/// The workload cannot be had, or an answer is wrong.
pub(super) fn run<L: Contestant, D: Page>(
    shape: &Shape,
    request: &Request,
) -> Result<Outcome, Failure> {
    let layouts = shape.layouts(request.seed)?;
    let field = |layout: &Layout| Field::<L, D>::new(shape, layout, request);
    let fields = layouts.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let metrics = Metrics::of(&fields);
    let answers = fields.iter().map(|field| field.digest);
    let mut outcome = Outcome {
        digest: digest(0, answers),
        ..Outcome::default()
    };
    if request.exact {
        let each = request.operations.div_ceil(fields.len() as u64).max(1);
        let probes: u64 = fields.iter().map(|field| field.count(shape, each)).sum();
        outcome.operations = each * fields.len() as u64;
        outcome.metrics = metrics.exact(probes as f64 / outcome.operations as f64);
        return Ok(outcome);
    }
    let calls_of_all = shape.calls * fields.len() as u64;
    let rounds = request.operations.div_ceil(calls_of_all).max(1);
    let mut timed = Duration::ZERO;
    for field in &fields {
        timed += field.time(shape, rounds)?;
    }
    outcome.operations = rounds * calls_of_all;
    outcome.elapsed_s = timed.as_secs_f64();
    outcome.metrics = Metrics::sampled(outcome.elapsed_s, outcome.operations);
    Ok(outcome)
}

/// What is measured, by name.
pub(super) struct Metrics {
    index_bytes: usize,
    frames: u64,
}

impl Metrics {
    fn of<L: Contestant, D: Page>(fields: &[Field<L, D>]) -> Self {
        let tables = fields.iter().map(|field| Self::of_table(&field.table));
        tables.fold(
            Self {
                index_bytes: 0,
                frames: 0,
            },
            |sum, one| Self {
                index_bytes: sum.index_bytes + one.index_bytes,
                frames: sum.frames + one.frames,
            },
        )
    }

    pub(super) fn of_table<L: Contestant, D: Page>(table: &Table<D, L>) -> Self {
        let segments = table.lock();
        Self {
            index_bytes: segments.index_bytes(),
            frames: segments.iter().map(|segment| segment.len()).sum(),
        }
    }

    /// The counted ones.
    pub(super) fn exact(&self, probes_per_lookup: f64) -> std::collections::BTreeMap<String, f64> {
        let gib = (self.frames << PAGE_BITS) as f64 / GIB;
        let metrics = [
            ("probes_per_lookup", probes_per_lookup),
            ("index_bytes_per_gib", self.index_bytes as f64 / gib),
        ];
        metrics.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// The timed one.
    pub(super) fn sampled(elapsed_s: f64, lookups: u64) -> std::collections::BTreeMap<String, f64> {
        let time = elapsed_s * 1e9 / lookups as f64;
        [("time_ns_per_lookup".to_owned(), time)].into()
    }
}

/// A table, what it is asked, and the answers that are right.
struct Field<L: Contestant, D: Page> {
    table: Table<D, L>,
    /// Asked for, where they are made beforehand; else all that can be asked for.
    frames: Vec<D::Frame>,
    /// Where addresses are made inside the loop: their bounds and the seed.
    inside: Option<(u64, u64, u64)>,
    /// What a lookup of each of the frames comes to.
    answers: Vec<usize>,
    digest: u64,
}

impl<L: Contestant, D: Page> Field<L, D> {
    /// Every answer that will be asked for is held against the plain list.
    fn new(shape: &Shape, layout: &Layout, request: &Request) -> Result<Self, Failure> {
        let table = table::<L, D>(layout)?;
        check(&table)?;
        let memory = Memory::new(layout.segments());
        let inside = match (shape.random, layout.asks) {
            (true, Asks::Remainder { start, end }) => Some((start, end, request.seed)),
            _ => None,
        };
        let frames = match layout.reach().filter(|_| inside.is_some()) {
            Some(reach) => (0..reach).collect(),
            None => layout.frames(FRAMES, request.seed),
        };
        let reader = table.rcu().register().map_err(said)?;
        let mut answers = Vec::with_capacity(frames.len());
        let mut words = Vec::with_capacity(frames.len());
        L::look(&table, &reader, |view| {
            for frame in &frames {
                let (place, word) = answer::<L, D>(view, *frame, memory.find(*frame))?;
                let is_lookup = shape.kind != Kind::Loop;
                answers.push(if is_lookup { place } else { *frame as usize });
                words.push(word);
            }
            Ok(())
        })?;
        drop(reader);
        let narrow = |frame: u64| {
            let wrong = || Failure(format!("frame {frame:#x} is too high for a workload"));
            D::Frame::try_from(frame).map_err(|_| wrong())
        };
        let frames = frames.into_iter().map(narrow).collect::<Result<_, _>>()?;
        Ok(Self {
            table,
            frames,
            inside,
            answers,
            digest: digest(0, words),
        })
    }

    fn source(&self) -> Source<'_, D::Frame> {
        match self.inside {
            Some((start, end, seed)) => Source::inside(start, end, seed),
            None => Source::beforehand(&self.frames),
        }
    }

    /// So many rounds on the clock, after some that are not.
    fn time(&self, shape: &Shape, rounds: u64) -> Result<Duration, Failure> {
        let reader = self.table.rcu().register().map_err(said)?;
        let mut source = self.source();
        let warm = (rounds * shape.calls).min(FRAMES as u64);
        let mut sum = self.ask(shape.kind, &reader, &mut source, 1, warm);
        let begin = Instant::now();
        let timed = self.ask(shape.kind, &reader, &mut source, rounds, shape.calls);
        let elapsed = begin.elapsed();
        sum = sum.wrapping_add(timed);
        if sum
            != self
                .source()
                .expect(warm + rounds * shape.calls, &self.answers)
        {
            let text = "the lookups on the clock did not all answer what they had answered before";
            return Err(Failure(text.to_owned()));
        }
        Ok(elapsed)
    }

    fn ask(
        &self,
        kind: Kind,
        reader: &Reader<'_>,
        source: &mut Source<'_, D::Frame>,
        rounds: u64,
        calls: u64,
    ) -> usize {
        match kind {
            Kind::Loop => source.ask(rounds, calls, |frame| black_box(frame) as usize),
            Kind::Guard => source.ask(rounds, calls, |frame| {
                L::look(&self.table, reader, |view| {
                    address(view.page_of(Pfn::new(frame)))
                })
            }),
            _ => L::look(&self.table, reader, |view| {
                source.ask(rounds, calls, move |frame| {
                    address(view.page_of(Pfn::new(frame)))
                })
            }),
        }
    }

    /// Cells of the index that so many lookups look at.
    fn count(&self, shape: &Shape, calls: u64) -> u64 {
        if shape.kind == Kind::Loop {
            return 0;
        }
        let mut source = self.source();
        let segments = self.table.lock();
        let view = segments.view();
        let keys = (0..calls).map(|_| source.next_key());
        keys.map(|key| {
            let frame: u64 = self.frames[key].into();
            view.probes_of_page(PhysAddr::new(frame << PAGE_BITS))
        })
        .sum()
    }
}
