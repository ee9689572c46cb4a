//! A restored table of segments behaves as the one that was saved, and no corrupted state makes a
//! table with a broken invariant.

mod spoiled;

use furlong::addr::{Address, Pfn};
use furlong::phys::{
    Array, BinarySearch, Branchless, Custom, Descriptor, Direct, Flat, Lookup, SegmentId,
    SegmentTable, State, Tree,
};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;
use furlong_spec::phys::{Operation, TableSubject, operations};
use furlong_spec::{Subject, compare};

use crate::frames;

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

fn table<L: Lookup>() -> Table<L> {
    let table = Table::with_config(SpinLock::new(), Domain::new());
    table.lock().grow_on_heap();
    table
}

fn written_and_read(state: &State) -> State {
    let text = serde_json::to_string(state).expect("numbers are numbers");
    let read = serde_json::from_str(&text).expect("what was written is read");
    assert_eq!(*state, read);
    read
}

fn moved<L: Lookup>(old: &Table<L>) -> Table<L> {
    let state = old.lock().save().expect("there is memory");
    let new = table();
    new.lock()
        .restore(&written_and_read(&state))
        .expect("a good state");
    new
}

/// Pins belong to descriptors, which are not saved.
fn is_no_pin(operation: &Operation) -> bool {
    !matches!(operation, Operation::Pin(..))
}

fn behaves_as_the_one_that_was_saved<L: Lookup>(seeds: u64) {
    for seed in 0..seeds {
        let before = 10 + 7 * seed as usize;
        let mut stream = operations(0, FRAMES, before + 120, seed).filter(is_no_pin);
        let mut old = TableSubject::<L>::new();
        for operation in stream.by_ref().take(before) {
            old.apply(&operation);
        }
        let mut new = old.moved(written_and_read);
        let looks = [Operation::List, Operation::Isolations, Operation::Managed];
        let frames = (0..FRAMES + 64).step_by(7);
        let pages = frames.flat_map(|frame| [Operation::Find(frame), Operation::Page(frame)]);
        let all = looks.into_iter().chain(pages);
        compare(&mut old, &mut new, all.clone().chain(stream).chain(all))
            .unwrap_or_else(|divergence| panic!("seed {seed}: {divergence}"));
        assert_eq!(old.save(), new.save(), "seed {seed}");
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
    let old = table::<Direct>();
    let plug = |table: &Table<Direct>, start| {
        let plugged = table.lock().plug(frames(start, start + 10));
        plugged.expect("it is free")
    };
    let handles = [0, 100, 200, 300].map(|start| plug(&old, start));
    old.lock().start().expect("there is memory");
    old.lock().unplug(frames(100, 110)).expect("it is there");
    let text = serde_json::to_string(&handles).expect("numbers are numbers");
    let read: [SegmentId; 4] = serde_json::from_str(&text).expect("what was written is read");
    let new = moved(&old);
    for (at, id) in read.into_iter().enumerate() {
        let segments = [old.lock().get(id), new.lock().get(id)];
        assert_eq!(segments[0], segments[1]);
        assert_eq!(segments[0].is_err(), at == 1, "it is the one that is gone");
    }
    assert_eq!(plug(&old, 500), plug(&new, 500), "so will the next be");
}

#[test]
fn tokens_of_the_table_that_was_saved_are_refused_by_the_restored_one() {
    let old = table::<Direct>();
    old.lock().plug(frames(0, 100)).expect("it is free");
    old.lock().start().expect("there is memory");
    let token = old.lock().isolate(frames(10, 20)).expect("it is there");
    let new = moved(&old);
    assert!(new.lock().abort(token).is_err());
    assert!(new.lock().isolated().eq([frames(10, 20)]));
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
