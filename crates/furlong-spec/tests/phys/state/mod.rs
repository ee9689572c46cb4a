//! A restored table of segments behaves as the one that was saved, and no corrupted state makes a
//! table with a broken invariant.
#![forbid(unsafe_code)]

mod spoiled;

use furlong::addr::{Address, Extent, Pfn};
use furlong::check::Check;
use furlong::phys::{
    Array, BinarySearch, Branchless, Custom, Descriptor, Direct, Flat, Isolated, Lookup, Node,
    Plug, SegmentId, SegmentTable, State, Tree,
};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;
use furlong_spec::Random;

/// A descriptor that records its frame.
struct Page(Pfn);

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        Self(frame)
    }
}

type Table<L> = SegmentTable<Page, Custom<L>, 4>;

/// The number of frames that a stream uses: parts of three sections, whole ones included.
const FRAMES: u64 = 3 * 4096;

fn frames(start: u64, end: u64) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(start), Pfn::new(end)).expect("not empty")
}

fn table<L: Lookup>() -> Table<L> {
    let table = Table::with_config(SpinLock::new(), Domain::new());
    table.lock().grow_on_heap();
    table
}

/// A table and its isolation tokens.
struct Side<L: Lookup> {
    table: Table<L>,
    tokens: Vec<Isolated>,
}

#[derive(Clone, Debug)]
enum Step {
    Plug(Plug),
    Unplug(Extent<Pfn>),
    Isolate(Extent<Pfn>),
    Remove(usize),
    Abort(usize),
    SetAvail(Pfn, Pfn, Pfn),
    SetHint(Pfn, u64),
    Steal(Pfn),
    Start,
}

fn step(random: &mut Random, tokens: usize) -> Step {
    let start = random.below(FRAMES);
    let longest = [1, 3, 64, 500, 5000][random.index(5)];
    let len = 1 + random.below(longest);
    let range = frames(start, (start + len).min(FRAMES + 64));
    let (first, last) = (range.start(), range.last());
    match random.below(20) {
        0..6 => {
            let plug = Plug::new(range).node(Node(random.below(3) as u32));
            let plug = plug.user(random.next());
            Step::Plug(if random.below(3) == 0 {
                plug.avail(first, last)
            } else {
                plug
            })
        }
        6..11 => Step::Unplug(range),
        11..13 => Step::Isolate(range),
        13..15 if tokens > 0 => Step::Remove(random.index(tokens)),
        15 if tokens > 0 => Step::Abort(random.index(tokens)),
        16 => Step::SetAvail(first, first, last),
        17 => Step::SetHint(first, random.below(8)),
        18 => Step::Start,
        _ => Step::Steal(first),
    }
}

impl<L: Lookup> Side<L> {
    fn new() -> Self {
        Self {
            table: table(),
            tokens: Vec::new(),
        }
    }

    fn segment(&self, frame: Pfn) -> Option<SegmentId> {
        Some(self.table.lock().find(frame)?.0)
    }

    /// Carries out a step, and describes its outcome.
    fn apply(&mut self, step: &Step) -> String {
        let segments = || self.table.lock();
        let found = |frame: &Pfn| self.segment(*frame);
        match step {
            Step::Plug(plug) => format!("{:?}", segments().plug(*plug)),
            Step::Unplug(range) => format!("{:?}", segments().unplug(*range)),
            Step::Isolate(range) => {
                let isolated = segments().isolate(*range);
                let said = format!("{:?}", isolated.as_ref().map(Isolated::frames));
                self.tokens.extend(isolated);
                said
            }
            Step::Remove(at) => {
                let removed = segments().remove(self.tokens.remove(*at));
                let said = format!("{:?}", removed.as_ref().map_err(|error| error.cause));
                self.tokens.extend(removed.err().map(|error| error.frames));
                said
            }
            Step::Abort(at) => {
                let aborted = segments().abort(self.tokens.remove(*at));
                format!("{:?}", aborted.is_ok())
            }
            Step::SetAvail(frame, start, end) => {
                let set = found(frame).map(|id| segments().set_avail(id, *start, *end));
                format!("{set:?}")
            }
            Step::SetHint(frame, hint) => {
                let set = found(frame).map(|id| segments().set_start_hint(id, *hint));
                format!("{set:?}")
            }
            Step::Steal(frame) => {
                let stolen = found(frame).map(|id| segments().steal_forced(id));
                format!("{stolen:?}")
            }
            Step::Start => format!("{:?}", segments().start()),
        }
    }

    /// All observable state of the table.
    fn shown(&self) -> String {
        let segments = self.table.lock();
        segments.check().expect("no invariant is broken");
        let view = segments.view();
        let mut found = Vec::new();
        for frame in (0..FRAMES + 64).step_by(7) {
            let frame = Pfn::new(frame);
            let page = view.page_of(frame);
            assert!(page.is_none_or(|page| page.0 == frame), "{frame}");
            found.push((view.find(frame), page.is_some()));
        }
        let isolated: Vec<_> = segments.isolated().collect();
        format!("{segments:?} {isolated:?} {} {found:?}", segments.managed())
    }

    /// The same table after a save and restore through text, with tokens of the new table.
    fn moved(&self) -> Self {
        let state = self.table.lock().save().expect("there is memory");
        let text = serde_json::to_string(&state).expect("numbers are numbers");
        let read: State = serde_json::from_str(&text).expect("what was written is read");
        assert_eq!(read, state);
        let table = table::<L>();
        table.lock().restore(&read).expect("a good state");
        assert_eq!(table.lock().save().as_ref(), Ok(&state));
        let adopt = |token: &Isolated| {
            let token = table.lock().adopt(token.frames().start());
            token.expect("it is isolated")
        };
        let tokens = self.tokens.iter().map(adopt).collect();
        Self { table, tokens }
    }
}

fn behaves_as_the_one_that_was_saved<L: Lookup>(seeds: u64) {
    for seed in 0..seeds {
        let mut random = Random::new(seed);
        let mut old = Side::<L>::new();
        for _ in 0..10 + 7 * seed {
            old.apply(&step(&mut random, old.tokens.len()));
        }
        let mut new = old.moved();
        assert_eq!(old.shown(), new.shown(), "seed {seed}");
        for at in 0..120 {
            let step = step(&mut random, old.tokens.len());
            let said = [old.apply(&step), new.apply(&step)];
            assert_eq!(said[0], said[1], "seed {seed}, step {at}: {step:?}");
        }
        assert_eq!(old.shown(), new.shown(), "seed {seed}");
        let saved = |side: &Side<L>| side.table.lock().save();
        assert_eq!(saved(&old), saved(&new), "seed {seed}");
    }
}

#[test]
fn a_restored_table_behaves_as_the_one_that_was_saved() {
    behaves_as_the_one_that_was_saved::<Direct>(25);
}

#[test]
fn a_restored_table_behaves_as_the_one_that_was_saved_in_other_arms() {
    behaves_as_the_one_that_was_saved::<Tree>(10);
    behaves_as_the_one_that_was_saved::<Branchless>(10);
    behaves_as_the_one_that_was_saved::<Flat>(10);
    behaves_as_the_one_that_was_saved::<Array<BinarySearch, 32>>(10);
}

#[test]
fn handles_live_or_stale_survive_a_journey() {
    let mut old = Side::<Direct>::new();
    let plug = |side: &Side<Direct>, start| {
        let plugged = side.table.lock().plug(frames(start, start + 10));
        plugged.expect("it is free")
    };
    let handles = [0, 100, 200, 300].map(|start| plug(&old, start));
    old.apply(&Step::Start);
    old.apply(&Step::Unplug(frames(100, 110)));
    let text = serde_json::to_string(&handles).expect("numbers are numbers");
    let read: [SegmentId; 4] = serde_json::from_str(&text).expect("what was written is read");
    let new = old.moved();
    for (at, id) in read.into_iter().enumerate() {
        let segments = [old.table.lock().get(id), new.table.lock().get(id)];
        assert_eq!(segments[0], segments[1]);
        assert_eq!(segments[0].is_err(), at == 1, "it is the one that is gone");
    }
    assert_eq!(plug(&old, 500), plug(&new, 500), "so will the next be");
}

#[test]
fn tokens_of_the_table_that_was_saved_are_refused_by_the_restored_one() {
    let mut old = Side::<Direct>::new();
    old.apply(&Step::Plug(Plug::new(frames(0, 100))));
    old.apply(&Step::Start);
    old.apply(&Step::Isolate(frames(10, 20)));
    let new = old.moved();
    let token = old.tokens.pop().expect("it was isolated");
    assert!(new.table.lock().abort(token).is_err());
    assert!(new.table.lock().isolated().eq([frames(10, 20)]));
}

#[test]
fn a_table_with_every_frame_that_there_can_be_is_saved_and_restored() {
    let old = table::<Direct>();
    let last = (1 << 40) - 1;
    for start in [0, 1 << 28, last] {
        old.lock()
            .plug(frames(start, start + 1))
            .expect("it is free");
    }
    old.lock().start().expect("there is memory");
    let state = old.lock().save().expect("there is memory");
    let new = table::<Direct>();
    new.lock().restore(&state).expect("a good state");
    assert_eq!(new.lock().highest_frame(), Some(Pfn::new(last)));
    let found = new
        .lock()
        .view()
        .page_of(Pfn::new(last))
        .map(|page| page.0.raw());
    assert_eq!(found, Some(last));
}
