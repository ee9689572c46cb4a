//! Every arm compared with the model, over streams from seeds.
#![forbid(unsafe_code)]

use core::ops::Range;

use furlong::malloc::{
    Batched, Checked, Gate, Hardening, Inlined, NoHardening, Outlined, PerCall, Secure, Tier,
};

use super::coverage::{gaps, word};
use super::model::Model;
use super::operation::{Operation, Outcome, THREADS};
use super::pages::Pages;
use super::stream::operations;
use super::subject::Allocator;
use crate::trial::Run;
use crate::{Coverage, Through, Trial, judge};

/// The number of places in a stream's program.
const PLACES: usize = 600;

/// A memory limit, in bytes, that is short for such a program.
const SHORT: usize = 26 << 20;

/// The number of operations in a stream.
const LENGTH: usize = 100_000;

/// Every arm, two arms with larger pages, and the default arm with short memory.
pub const TRIALS: [Trial; 9] = [
    of("default", streams::<Checked, Inlined, Batched, 1, false>),
    of("plain", streams::<NoHardening, Inlined, Batched, 1, false>),
    of("secure", streams::<Secure, Inlined, Batched, 1, false>),
    of("outlined", streams::<Checked, Outlined, Batched, 1, false>),
    of("per-call", streams::<Checked, Inlined, PerCall, 1, false>),
    of(
        "pages of 16 KiB",
        streams::<Checked, Inlined, Batched, 16_384, false>,
    ),
    of(
        "pages of 64 KiB",
        streams::<Checked, Inlined, Batched, 65_536, false>,
    ),
    of(
        "secure pages of 64 KiB",
        streams::<Secure, Inlined, Batched, 65_536, false>,
    ),
    Trial::new(
        "short of memory",
        streams::<Checked, Inlined, Batched, 1, true>,
        |seen, least| gaps(seen, least, true),
    ),
];

const fn of(name: &'static str, run: Run) -> Trial {
    Trial::new(name, run, |seen, least| gaps(seen, least, false))
}

/// Runs a stream for each seed, with pages of at least `PAGE` bytes.
fn streams<H: Hardening, G: Gate, T: Tier, const PAGE: usize, const IS_SHORT: bool>(
    seeds: Range<u64>,
) -> Result<Coverage, String> {
    let mut all = Coverage::default();
    for seed in seeds {
        let done = std::thread::scope(|scope| {
            let done = scope.spawn(|| one::<H, G, T>(PAGE, IS_SHORT, seed)).join();
            done.unwrap_or_else(|panic| Err(said(&*panic)))
        });
        all += done.map_err(|what| format!("seed {seed}: {what}"))?;
    }
    Ok(all)
}

fn one<H: Hardening, G: Gate, T: Tier>(
    page: usize,
    is_short: bool,
    seed: u64,
) -> Result<Coverage, String> {
    let limit = if is_short { SHORT } else { usize::MAX };
    let pages = Pages::new(limit).of(page);
    let allocator = Allocator::<H, G, T>::new(PLACES, pages);
    let mut model = Model::new(PLACES, is_short).sealed(H::SCRUB);
    let (mut coverage, mut watch) = (Coverage::default(), Watch::new());
    let mut watched = Through::new(allocator, |operation, outcome| {
        coverage.note(operation.name(), watch.note(operation, &outcome));
        outcome
    });
    let stream = operations(PLACES, LENGTH, seed);
    judge(&mut model, &mut watched, stream).map_err(|divergence| divergence.to_string())?;
    watched.0.finish()?;
    Ok(coverage)
}

/// The message of a panic.
fn said(panic: &(dyn core::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.unwrap_or_else(|| "it panicked".to_owned())
}

/// The thread that owns a place's block: its number, and how many threads had that number before.
type Owner = (usize, u32);

/// The owners of all blocks, by which the count of frees says whose block it was.
struct Watch {
    owners: Vec<(Owner, usize)>,
    lives: [u32; THREADS],
    ended: [bool; THREADS],
    now: usize,
}

impl Watch {
    fn new() -> Self {
        Self {
            owners: vec![((0, 0), 0); PLACES],
            lives: [0; THREADS],
            ended: [false; THREADS],
            now: 0,
        }
    }

    fn freed(&self, place: usize) -> &'static str {
        let (number, life) = self.owners[place].0;
        if self.ended[self.now] {
            "without a heap"
        } else if (number, life) == (self.now, self.lives[self.now]) {
            "own"
        } else if self.ended[number] || life != self.lives[number] {
            "an ended thread's"
        } else {
            "another's"
        }
    }

    /// Updates the owners, and returns the name of the outcome.
    fn note(&mut self, operation: &Operation, outcome: &Outcome) -> &'static str {
        match (*operation, *outcome) {
            (Operation::Become(number), _) => self.now = number,
            (Operation::End, _) => self.ended[self.now] = true,
            (Operation::Begin, _) => {
                self.ended[self.now] = false;
                self.lives[self.now] += 1;
            }
            (Operation::Free(place) | Operation::FreeSized(place), Outcome::Intact(_)) => {
                return self.freed(place);
            }
            (
                Operation::Allocate { place, .. } | Operation::Resize { place, .. },
                Outcome::Block { address, .. },
            ) => {
                let resized = matches!(operation, Operation::Resize { .. });
                if resized && self.owners[place].1 == address {
                    return "stayed";
                }
                self.owners[place] = ((self.now, self.lives[self.now]), address);
                return if resized { "moved" } else { "block" };
            }
            _ => {}
        }
        word(outcome)
    }
}
