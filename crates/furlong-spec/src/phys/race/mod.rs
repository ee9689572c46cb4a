//! Lookups concurrent with a writer, each compared with every state that was true during it.
//!
//! One thread plugs, splits, isolates, removes and aborts without a pause; others look frames up.
//! The writer records each state in a history before and after the change. So a lookup is right
//! exactly if its result was true at some time during it. Descriptors record their frame and their
//! plug, and are poisoned on drop; a reader reads each descriptor it found once more before its
//! read section ends.
//!
//! Tables are small and are replaced often, so that growth is as common as change. Their frames lie
//! in *stretches*: within a few blocks, across sections, in whole sections, at high addresses,
//! across the border to high frames, and at the very end. One stretch never changes.
#![forbid(unsafe_code)]

mod history;
mod look;
mod page;
mod reader;
mod writer;

use core::fmt;
use core::ops::Range;
use core::sync::atomic::AtomicBool;

use furlong::phys::{Custom, Direct, SegmentTable};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;

use crate::Random;
use crate::counts::counts;
use crate::race::race;
use history::History;
pub use look::Found;
use page::Page;
use reader::Looker;
pub use reader::Lookups;
use writer::Writer;

type Config = Custom<Direct>;
/// Room for two segments without an allocation.
type Table = SegmentTable<Page, Config, 2>;

/// A range of frames that are looked up and changed together.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: u64,
    len: u64,
    /// The maximum number of frames plugged or unplugged at a time.
    longest: u64,
    /// On average, a change happens once in this many draws of the stretch.
    odds: u64,
}

impl Stretch {
    fn frames(&self) -> Range<u64> {
        self.start..self.start + self.len
    }

    /// A random frame; half of the time one of the first few, where changes are dense.
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

/// The first stretch never changes, and shares a block with the second.
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

/// A test's interference with the readers.
#[derive(Clone, Copy, Debug)]
pub struct Meddling {
    /// Modifies the result of a lookup before it is judged.
    pub tamper: fn(Found) -> Found,
    /// Called in each reader's thread at its start.
    pub at_start: fn(),
}

impl Meddling {
    /// No interference.
    pub const NONE: Self = Self {
        tamper: |found| found,
        at_start: || (),
    };
}

/// The parameters of a race.
#[derive(Clone, Copy, Debug)]
pub struct Race {
    /// The number of lookups to judge, of all readers and on all tables together.
    pub lookups: u64,
    /// The number of lookups to judge on each table.
    pub lookups_per_table: u64,
    /// The number of reader threads.
    pub readers: u64,
    /// The seed. It repeats the stream of changes, though not the interleaving of threads.
    pub seed: u64,
}

counts! {
    /// The counts of the writer's changes.
    pub struct Changes {
        /// Segments plugged.
        plugged: "plugs",
        /// Ranges unplugged, in one step or two.
        unplugged: "unplugs",
        /// Unplugs refused because of active readers.
        refused: "refused because of readers",
        /// Isolations aborted.
        aborted: "aborted",
    }
}

impl Changes {
    fn count_unplug(&mut self, is_done: bool) {
        self.unplugged += u64::from(is_done);
        self.refused += u64::from(!is_done);
    }
}

/// The counts of a race without a wrong lookup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of tables, used one after the other.
    pub tables: u64,
    /// The counts of the readers.
    pub lookups: Lookups,
    /// The counts of the writers.
    pub changes: Changes,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lookups, changes, tables) = (self.lookups, self.changes, self.tables);
        write!(f, "{lookups}; {changes}; {tables} tables")
    }
}

impl Race {
    /// Runs the race.
    ///
    /// # Errors
    /// The first wrong lookup or broken invariant, with the seed that repeats the stream.
    pub fn run(&self) -> Result<Tally, String> {
        self.run_with(Meddling::NONE)
    }

    /// As [`run`](Self::run), with interference.
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
            tally.tables += 1;
            tally.lookups += lookups;
            tally.changes += changes;
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
        let begun = Random::new(random.next());
        let writer = Writer::new(&table, &STRETCHES, &histories, begun);
        let share = lookups.div_ceil(self.readers);
        let readers = (0..self.readers).map(|_| {
            let looker = Looker {
                table: &table,
                stretches: &STRETCHES,
                histories: &histories,
                random: Random::new(random.next()),
                tamper: meddling.tamper,
            };
            move |stop: &AtomicBool| {
                (meddling.at_start)();
                looker.run(share, stop)
            }
        });
        race(readers, |over| writer.run(over))
    }
}
