//! Lookups beside a writer, each answer held against everything that was true while it was made.
//!
//! One thread plugs, splits, isolates, removes and takes back without a pause; others look frames
//! up. Before and after each change the writer tells a history what is and what will be,
//! so that the answer to a lookup is right if and only if it was true at a moment of the lookup.
//! Descriptors say which frame and which plug they are of, and are poisoned when they are dropped;
//! a reader that has found one reads it again before it leaves.
//!
//! Tables are small and are made anew all the time, so that growing is as common as changing. Their
//! frames lie in *stretches*: within a few blocks, across sections, in whole sections, far up,
//! across the border to high frames, at the very end; and one that never changes.
#![forbid(unsafe_code)]

mod history;
mod look;
mod page;
mod reader;
mod writer;

use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};

use furlong::phys::{Custom, Direct, SegmentTable};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;

use crate::Random;
use history::History;
pub use look::Found;
use page::Page;
use reader::Looker;
pub use reader::Lookups;
use writer::Writer;

type Config = Custom<Direct>;
/// Room for two segments without an allocation.
type Table = SegmentTable<Page, Config, 2>;

/// Frames that are looked up and changed together.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: u64,
    len: u64,
    /// Of what is plugged or unplugged at a time.
    longest: u64,
    /// It is changed once in so many times that it is drawn.
    odds: u64,
}

impl Stretch {
    fn frames(&self) -> Range<u64> {
        self.start..self.start + self.len
    }

    /// A frame; every other time one of the first few, where changes are dense.
    fn frame(&self, random: &mut Random) -> u64 {
        let len = match random.below(2) {
            0 => self.len.min(96),
            _ => self.len,
        };
        self.start + random.below(len)
    }
}

const fn stretch(start: u64, len: u64, longest: u64, odds: u64) -> Stretch {
    Stretch {
        start,
        len,
        longest,
        odds,
    }
}

/// The first one never changes, and shares a block with the second.
const STRETCHES: [Stretch; 8] = [
    stretch(190, 3, 3, 1),
    stretch(0, 190, 24, 1),
    stretch(193, 63, 9, 1),
    stretch(4096 - 80, 192, 60, 1),
    stretch(4 * 4096 - 40, 5 * 4096, 3 * 4096, 16),
    stretch((1 << 20) - 30, 150, 40, 1),
    stretch((1 << 28) - 70, 200, 90, 1),
    stretch((1 << 40) - 128, 128, 30, 1),
];

/// What a test does to readers.
#[derive(Clone, Copy, Debug)]
pub struct Meddling {
    /// Changes what a reader has found, before it is judged.
    pub tamper: fn(Found) -> Found,
    /// Is called by each reader's thread at its beginning.
    pub at_start: fn(),
}

impl Meddling {
    /// Does nothing.
    pub const NONE: Self = Self {
        tamper: |found| found,
        at_start: || (),
    };
}

/// A race.
#[derive(Clone, Copy, Debug)]
pub struct Race {
    /// Answers to be judged, by all readers and on all tables together.
    pub lookups: u64,
    /// And on each table.
    pub lookups_per_table: u64,
    /// Threads that look up.
    pub readers: u64,
    /// What repeats a stream of changes, if not how threads meet.
    pub seed: u64,
}

/// What the writer has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Segments that were plugged.
    pub plugged: u64,
    /// Stretches that were unplugged, in one step or two.
    pub unplugged: u64,
    /// Refusals to unplug because readers were inside.
    pub refused: u64,
    /// Isolations that were taken back.
    pub aborted: u64,
}

impl Changes {
    fn count_unplug(&mut self, is_done: bool) {
        self.unplugged += u64::from(is_done);
        self.refused += u64::from(!is_done);
    }
}

/// What came of a race without a wrong answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tables, one after the other.
    pub tables: u64,
    /// By the readers.
    pub lookups: Lookups,
    /// By the writers.
    pub changes: Changes,
}

impl Tally {
    fn add(&mut self, lookups: Lookups, changes: Changes) {
        self.tables += 1;
        self.lookups += lookups;
        self.changes.plugged += changes.plugged;
        self.changes.unplugged += changes.unplugged;
        self.changes.refused += changes.refused;
        self.changes.aborted += changes.aborted;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lookups {
            right,
            found,
            raced,
            unjudged,
        } = self.lookups;
        let Changes {
            plugged,
            unplugged,
            refused,
            aborted,
        } = self.changes;
        write!(
            f,
            "{right} lookups right, {found} of them found something, {raced} of them raced with a \
             change, {unjudged} more could not be judged; {plugged} plugs, {unplugged} unplugs, \
             {refused} refused because of readers, {aborted} aborted; {} tables",
            self.tables
        )
    }
}

impl Race {
    /// Runs it.
    ///
    /// # Errors
    /// The first wrong answer, or the broken invariant, with what repeats the stream.
    pub fn run(&self) -> Result<Tally, String> {
        self.run_with(Meddling::NONE)
    }

    /// As [`run`](Self::run), with readers that are meddled with.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with(&self, meddling: Meddling) -> Result<Tally, String> {
        let mut tally = Tally::default();
        while tally.lookups.right < self.lookups {
            let left = self.lookups - tally.lookups.right;
            let seed = self.seed + tally.tables;
            let (lookups, changes) = self
                .on_a_table(left.min(self.lookups_per_table), seed, meddling)
                .map_err(|wrong| format!("seed {seed}: {wrong}"))?;
            tally.add(lookups, changes);
        }
        Ok(tally)
    }

    fn on_a_table(
        &self,
        lookups: u64,
        seed: u64,
        meddling: Meddling,
    ) -> Result<(Lookups, Changes), String> {
        let table = Table::with_config(SpinLock::new(), Domain::new());
        table.lock().grow_on_heap();
        let histories = STRETCHES.map(|_| History::new());
        let mut random = Random::new(seed);
        let stop = AtomicBool::new(false);
        let (begun, over) = (Random::new(random.next()), AtomicBool::new(false));
        let writer = Writer::new(&table, &STRETCHES, &histories, begun);
        thread::scope(|scope| {
            let looker = |random| Looker {
                table: &table,
                stretches: &STRETCHES,
                histories: &histories,
                random,
                tamper: meddling.tamper,
            };
            let readers = (0..self.readers).map(|_| {
                let looker = looker(Random::new(random.next()));
                let (stop, share) = (&stop, lookups.div_ceil(self.readers));
                scope.spawn(move || {
                    (meddling.at_start)();
                    let done = looker.run(share, stop);
                    // A wrong answer ends it for all.
                    stop.fetch_or(done.is_err(), Ordering::SeqCst);
                    done
                })
            });
            let readers: Vec<_> = readers.collect();
            let writing = scope.spawn(|| writer.run(&over));
            let done: Vec<_> = readers.into_iter().map(ScopedJoinHandle::join).collect();
            over.store(true, Ordering::SeqCst);
            let changes = writing.join().expect("the writer panics about itself")?;
            let mut all = Lookups::default();
            for lookups in done {
                all += lookups.expect("a reader panics about itself")?;
            }
            Ok((all, changes))
        })
    }
}
