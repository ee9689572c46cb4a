//! Each arm compared with a list of areas, whole samples of all arms, and an index with defects.

use std::sync::{Mutex, MutexGuard, PoisonError};

use furlong::maple::Standard;
use furlong::rbtree::Off;
use furlong_spec::Random;

use super::layout::PAGE;
use super::owned::Owned;
use super::rcu::RcuIndex;
use super::tree::Tree;
use super::{AreaIndex, Span, experiment, run};
use furlong_lab::agreement::{arms_agree, counts_repeat};
use furlong_lab::model::{Failure, Outcome, Request};

/// Pages of the tested space.
const PAGES: u64 = 64;

/// Area of each page.
struct List(Vec<Option<u32>>);

impl List {
    fn span(first: u64, pages: u64) -> Span {
        Span::of_len(first * PAGE, pages * PAGE)
    }

    /// Starts of free runs of `pages` pages in a window, in order.
    fn places(&self, window: Span, pages: u64) -> impl DoubleEndedIterator<Item = u64> {
        let (first, end) = (window.first / PAGE, (window.last + 1) / PAGE);
        let starts = first..(end + 1).saturating_sub(pages);
        let is_free = move |at: &u64| {
            let taken = &self.0[*at as usize..(at + pages) as usize];
            taken.iter().all(Option::is_none)
        };
        starts.filter(is_free).map(|at| at * PAGE)
    }

    fn mark(&mut self, span: Span, value: Option<u32>) {
        let pages = span.first / PAGE..=span.last / PAGE;
        pages.for_each(|page| self.0[page as usize] = value);
    }
}

fn agrees_with_a_list<I: AreaIndex>(seed: u64) {
    let random = &mut Random::new(seed);
    let (mut index, mut list) = (I::new(), List(vec![None; PAGES as usize]));
    let mut live: Vec<(Span, u32)> = Vec::new();
    for step in 0..2000 {
        let context = format!("seed {seed}, step {step}");
        let (one, other) = (random.below(PAGES), random.below(PAGES));
        let window = List::span(one.min(other), one.abs_diff(other) + 1);
        let pages = 1 + random.below(6);
        let found = [
            index.lowest(window, pages * PAGE),
            index.highest(window, pages * PAGE),
        ];
        let mut places = list.places(window, pages);
        let (lowest, highest) = (places.next(), places.next_back());
        let expected = [lowest, highest.or(lowest)];
        assert_eq!(found, expected, "{context}: {pages} in {window:?}");
        drop(places);
        let address = random.below(PAGES * PAGE);
        let owner = list.0[(address / PAGE) as usize];
        assert_eq!(index.find(address), owner, "{context}: {address:#x}");
        let sum = owner.map_or(0, |value| u64::from(value) + 1);
        assert_eq!(index.look_up(&[address, address]), 2 * sum, "{context}");
        if let Some(start) = found[random.index(2)].filter(|_| random.below(5) < 3) {
            let span = Span::of_len(start, pages * PAGE);
            index.store(span, step);
            list.mark(span, Some(step));
            live.push((span, step));
        } else if !live.is_empty() {
            let (span, value) = live.swap_remove(random.index(live.len()));
            assert_eq!(index.erase(span), Some(value), "{context}");
            list.mark(span, None);
        }
        index.check().unwrap();
    }
    let mixed = |areas: &mut dyn Iterator<Item = &(Span, u32)>| {
        areas.fold(0, |sum: u64, (span, value)| {
            sum.wrapping_add(span.mixed(*value))
        })
    };
    assert!(live.len() > 3, "seed {seed}");
    assert_eq!(index.sum(), mixed(&mut live.iter()));
    assert_eq!(index.duplicate().sum(), index.sum());
    let keeps = |value: u32| !value.is_multiple_of(3);
    let part = index.duplicate_part(keeps);
    let kept = &mut live.iter().filter(|(_, value)| keeps(*value));
    assert_eq!(part.sum(), mixed(kept));
}

#[test]
fn the_indices_agree_with_a_list_of_pages() {
    let _alone = alone();
    for seed in 0..4 {
        agrees_with_a_list::<Tree<Off>>(seed);
        agrees_with_a_list::<Owned<Standard>>(seed);
        agrees_with_a_list::<RcuIndex<Standard>>(seed);
    }
}

/// Keeps other tests of this file from running concurrently. All trees retire to one domain, and
/// memory is counted on the thread that frees it, which may be another test's.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn the_arms_give_the_same_answers() {
    let _alone = alone();
    for (load, outcomes) in arms_agree(&experiment(), 600) {
        // Some kinds of calls are rare, and a recording is replayed at most twice here.
        let is_of_calls = load.starts_with("kernbench-") || load.starts_with("runtimes-");
        let least = if is_of_calls { 2 } else { 600 };
        let able = if load.starts_with("readers-") { 2 } else { 3 };
        assert_eq!(outcomes.len(), able, "{load}");
        for outcome in outcomes {
            assert!(outcome.operations >= least, "{load}");
            assert!(outcome.metrics["time_ns_per_op"] > 0.0, "{load}");
        }
    }
}

#[test]
fn exact_counts_are_the_same_every_time() {
    let _alone = alone();
    for (load, outcomes) in counts_repeat(&experiment(), |_| true, 600) {
        for outcome in outcomes {
            let bytes = outcome.metrics["bytes_per_area"];
            assert!(bytes > 20.0, "{load}: {outcome:?}");
            let visits = outcome.metrics["nodes_visited_per_op"];
            // These copy or drop whole trees, or visit only the root.
            let is_whole = load.contains("fork") || ["gap-none", "kernbench-end"].contains(&&*load);
            assert!(visits > 0.0 || is_whole, "{load}");
        }
    }
}

#[test]
fn an_area_that_comes_and_goes_splits_no_leaf_each_time() {
    let _alone = alone();
    let experiment = experiment();
    let request = experiment.request("toggle-one", 4096, true);
    for arm in &experiment.arms[1..] {
        let outcome = (arm.run)(&request).unwrap();
        // A batch of 256 stays at one place, where only the first operation may split.
        assert!(outcome.metrics["splits"] <= 1.0 / 256.0, "{outcome:?}");
    }
}

/// A tree with a defect.
struct Wrong<const DEFECT: u8>(Tree<Off>);

/// The next area is found.
const FINDS_ANOTHER: u8 = 0;
/// An area is not stored.
const FORGETS: u8 = 1;
/// A gap is found where none exists.
const FINDS_GAPS: u8 = 2;
/// A copy lacks an area.
const COPIES_LESS: u8 = 3;

impl<const DEFECT: u8> AreaIndex for Wrong<DEFECT> {
    fn new() -> Self {
        Self(Tree::new())
    }

    fn store(&mut self, span: Span, value: u32) {
        if DEFECT != FORGETS || value != 7 {
            self.0.store(span, value);
        }
    }

    fn erase(&mut self, span: Span) -> Option<u32> {
        self.0.erase(span)
    }

    fn find(&self, address: u64) -> Option<u32> {
        let value = self.0.find(address);
        value.map(|value| value + u32::from(DEFECT == FINDS_ANOTHER))
    }

    fn sum(&self) -> u64 {
        self.0.sum()
    }

    fn duplicate(&self) -> Self {
        self.duplicate_part(|_| true)
    }

    fn duplicate_part(&self, keeps: impl Fn(u32) -> bool) -> Self {
        let lacks = |value| DEFECT == COPIES_LESS && value == 5;
        Self(self.0.duplicate_part(|value| keeps(value) && !lacks(value)))
    }

    fn lowest(&self, window: Span, len: u64) -> Option<u64> {
        let found = self.0.lowest(window, len);
        found.or_else(|| (DEFECT == FINDS_GAPS).then_some(window.first))
    }

    fn highest(&self, window: Span, len: u64) -> Option<u64> {
        self.0.highest(window, len)
    }
}

#[test]
fn a_wrong_answer_is_a_failure() {
    let _alone = alone();
    let said = |run: fn(&Request) -> Result<Outcome, Failure>, load| {
        let request = experiment().request(load, 64, false);
        run(&request).unwrap_err().0
    };
    let another = said(run::<Wrong<FINDS_ANOTHER>>, "lookup-1k");
    assert!(another.contains("look-ups add up to"), "{another}");
    for load in ["store-random-1k", "append", "iterate"] {
        let forgotten = said(run::<Wrong<FORGETS>>, load);
        assert!(forgotten.contains("areas add up to"), "{forgotten}");
    }
    let erased = said(run::<Wrong<FORGETS>>, "erase-random-1k");
    assert!(erased.contains("erased areas"), "{erased}");
    let gap = said(run::<Wrong<FINDS_GAPS>>, "gap-none");
    assert!(gap.contains("where none exists"), "{gap}");
    for load in ["fork-100", "bulk-fork"] {
        let copies = said(run::<Wrong<COPIES_LESS>>, load);
        assert!(copies.contains("copies add up to"), "{copies}");
    }
    let more = said(run::<Wrong<FORGETS>>, "kernbench");
    assert!(more.contains("more than an index"), "{more}");
}
