//! Lock-free looks concurrent with a writer, each compared with every state that was true during
//! it.
//!
//! One thread maps, unmaps, protects, moves and grows without a pause; others look pages up, as
//! faults do. The writer records each state in a history before and after the change. So a look is
//! right exactly if its result was true at some time during it. Values are poisoned on drop; a
//! reader reads each value it found once more before its read section ends.

mod history;
mod page;
mod reader;
mod writer;

use core::fmt;
use core::sync::atomic::AtomicBool;
use std::sync::Arc;

use furlong::addr::VirtAddr;
use furlong::check::Check;
use furlong::maple::{self, Fan, Heap};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;
use furlong::vmspace::{Custom, Direction, Layout, Maple, Shared, SharedConfig, Standard};

use crate::Random;
use crate::race::{Twin, race};
use history::History;
use reader::Looker;
pub use reader::Looks;
pub use writer::Changes;
use writer::Writer;

type Raced<C> = Shared<Twin, Arc<Domain>, SpinLock, C>;

/// A space with these pages, in which stacks grow close to other areas.
const LAYOUT: Layout = Layout {
    page: page::PAGE,
    last: VirtAddr::new((1 << 32) - 1),
    low: VirtAddr::new(0),
    bottom: VirtAddr::new(0),
    top: VirtAddr::new((1 << 32) - 1),
    direction: Direction::TopDown,
    guard: 1,
    areas_max: usize::MAX >> 1,
    pages_max: u64::MAX,
    stack_max: 24,
};

/// The node size of the tree that indexes the space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// The default node size.
    Usual,
    /// Three slots a leaf and three children a node, which makes every path of a write common.
    Tiny,
}

type Tiny = Custom<Maple<maple::Custom<Fan<3, 3, 32>, Heap>>>;

/// The parameters of a race.
#[derive(Clone, Copy, Debug)]
pub struct Race {
    /// The node size.
    pub nodes: Nodes,
    /// The number of looks to judge, of all readers together.
    pub looks: u64,
    /// The number of reader threads.
    pub readers: u64,
    /// The seed. It repeats the stream of changes, though not the interleaving of threads.
    pub seed: u64,
    /// A test's modification of the words of areas found, applied before they are judged.
    pub tamper: fn(u64) -> u64,
}

impl Race {
    /// A race without such modifications.
    #[must_use]
    pub const fn new(nodes: Nodes, looks: u64, readers: u64, seed: u64) -> Self {
        let tamper = |word| word;
        Self {
            nodes,
            looks,
            readers,
            seed,
            tamper,
        }
    }
}

/// The counts of a race without an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The counts of the readers.
    pub looks: Looks,
    /// The counts of the writer.
    pub changes: Changes,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.looks, self.changes)
    }
}

impl Race {
    /// Runs the race.
    ///
    /// # Errors
    /// The first wrong look or broken invariant, with the seed that repeats the stream of changes.
    pub fn run(&self) -> Result<Tally, String> {
        let tally = match self.nodes {
            Nodes::Usual => self.run_on::<Standard>(),
            Nodes::Tiny => self.run_on::<Tiny>(),
        };
        tally.map_err(|wrong| format!("seed {}: {wrong}", self.seed))
    }

    fn run_on<C: SharedConfig>(&self) -> Result<Tally, String>
    where
        Raced<C>: Sync,
    {
        let domain = Arc::new(Domain::new());
        let space = Raced::<C>::new(LAYOUT, Arc::clone(&domain), SpinLock::new());
        let space = space.expect("the layout makes sense");
        let history = History::new();
        let mut random = Random::new(self.seed);
        let share = self.looks.div_ceil(self.readers);
        let reader = |random| {
            let looker = Looker::<C> {
                space: &space,
                domain: &domain,
                history: &history,
                random,
                tamper: self.tamper,
            };
            move |stop: &AtomicBool| looker.run(share, stop)
        };
        let seeds: Vec<_> = (0..=self.readers).map(|_| random.next()).collect();
        let (last, seeds) = seeds.split_last().expect("the last is the writer's");
        let writer = Writer::<C> {
            space: &space,
            domain: &domain,
            history: &history,
            random: Random::new(*last),
        };
        let readers = seeds.iter().map(|seed| reader(Random::new(*seed)));
        let raced = race(readers, |over| writer.run(over));
        let tally = raced.map(|(looks, changes)| Tally { looks, changes });
        let checked = space.check();
        checked.map_err(|broken| broken.to_string()).and(tally)
    }
}
