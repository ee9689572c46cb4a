//! Invalid arguments to a table of segments. Each kind has its error and changes nothing, in every
//! arm; no descriptor is made or dropped for it.

use core::ops::Range;

use furlong::addr::{Extent, Pfn};
use furlong::check::Check;
use furlong::phys::{
    Array, BigFirst, BinarySearch, Branchless, Contiguous, Custom, Direct, Flat, Linear, Lookup,
    PlugError, SegmentTable, Segments, StartError, Tree, UnplugError,
};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;
use furlong_spec::phys::{Model, Operation, Outcome, Page, TableSubject};
use furlong_spec::{Subject, compare};

use crate::frames;

type Table<L> = SegmentTable<Page, Custom<L>, 4>;
type Writer<'a, L> = Segments<'a, Page, Custom<L>, 4>;

fn plug(frames: Range<u64>, avail: Option<Range<u64>>) -> Operation {
    Operation::Plug {
        frames,
        avail,
        node: 1,
        user: 0,
    }
}

/// Plugs the segments 0 to 2.
fn boot() -> Vec<Operation> {
    let segments = [10..20, 20..30, 50..60];
    let plugged = segments.map(|frames| {
        let avail = frames.start + 1..frames.end - 1;
        plug(frames, Some(avail))
    });
    plugged.to_vec()
}

/// Also starts the table, pins frame 55 and isolates frame 57.
fn started() -> Vec<Operation> {
    let more = [
        Operation::Start,
        Operation::Pin(55, true),
        Operation::Isolate(0, 57..58),
    ];
    [boot(), more.to_vec()].concat()
}

/// Makes mistakes one after the other, after these operations. Checks that each has the expected
/// error, for the model and for the table, and changes nothing.
fn told<L: Lookup>(
    mut table: TableSubject<L>,
    room: Option<usize>,
    before: &[Operation],
    mistakes: &[(Operation, &str)],
) {
    let mut model = Model::new(0, 1024, room);
    for operation in before {
        let outcome = table.apply(operation);
        assert_eq!(outcome, model.apply(operation), "{operation:?}");
        assert!(!matches!(outcome, Outcome::Refused(_)), "{operation:?}");
    }
    let looks = [
        Operation::List,
        Operation::Isolations,
        Operation::Descriptors,
        Operation::Managed,
    ];
    let seen = looks.clone().map(|look| table.apply(&look));
    for (mistake, name) in mistakes {
        assert_eq!(model.clone().apply(mistake).kind(), *name, "{mistake:?}");
        let operations = [mistake.clone()].into_iter().chain(looks.clone());
        compare(&mut model, &mut table, operations)
            .unwrap_or_else(|divergence| panic!("{divergence}"));
        assert_eq!(looks.clone().map(|look| table.apply(&look)), seen);
    }
}

/// Mistakes that are the same during boot and after it.
fn always() -> Vec<(Operation, &'static str)> {
    let range = |start, end| start..end;
    let avail = |start, end| plug(30..40, Some(range(start, end)));
    let set = |start, end| Operation::SetAvail(0, range(start, end));
    vec![
        (plug(0..11, None), "Overlap"),
        (plug(10..20, None), "Overlap"),
        (plug(12..13, None), "Overlap"),
        (plug(29..31, None), "Overlap"),
        (plug(0..100, None), "Overlap"),
        (plug(57..58, None), "Overlap"),
        (plug(70..(1 << 40) + 1, None), "Beyond"),
        (plug(70..u64::MAX, None), "Beyond"),
        (avail(29, 35), "Avail"),
        (avail(35, 41), "Avail"),
        (avail(36, 35), "Avail"),
        (avail(41, 41), "Avail"),
        (avail(0, u64::MAX), "Avail"),
        (Operation::Unplug(0..5), "Unknown"),
        (Operation::Unplug(5..15), "Unknown"),
        (Operation::Unplug(30..60), "Unknown"),
        (Operation::Unplug(1 << 40..(1 << 40) + 1), "Unknown"),
        // Frames of two segments, and frames of a segment and of none.
        (Operation::Unplug(15..25), "Crosses"),
        (Operation::Unplug(10..30), "Crosses"),
        (Operation::Unplug(25..35), "Crosses"),
        (Operation::Unplug(25..55), "Crosses"),
        (Operation::Unplug(15..u64::MAX), "Crosses"),
        (set(9, 15), "Avail"),
        (set(15, 21), "Avail"),
        (set(16, 15), "Avail"),
        (set(u64::MAX, 0), "Avail"),
        (Operation::SetHint(0, 9), "Hint"),
        (Operation::SetHint(0, u64::MAX), "Hint"),
    ]
}

/// Mistakes about the segments 0 and 1, which are gone, and segment 2, which is the last one.
fn of_the_last() -> [(Operation, &'static str); 9] {
    [
        (Operation::Unplug(50..60), "LastSegment"),
        (Operation::Get(0), "Stale"),
        (Operation::Get(1), "Stale"),
        (Operation::Next(0), "Stale"),
        (Operation::Prev(1), "Stale"),
        (Operation::SetNode(0, 7), "Stale"),
        (Operation::SetUser(1, 7), "Stale"),
        (Operation::SetAvail(0, 12..15), "Stale"),
        (Operation::SetHint(0, 0), "Stale"),
    ]
}

fn every_mistake_is_told<L: Lookup>() {
    let told = |before: &[Vec<Operation>], mistakes: &[(Operation, &str)]| {
        told(TableSubject::<L>::new(), None, &before.concat(), mistakes);
    };
    let away = vec![Operation::Unplug(10..20), Operation::Unplug(20..30)];
    told(&[boot()], &always());
    told(&[started()], &always());
    told(&[boot(), away.clone()], &of_the_last());
    told(
        &[started(), vec![Operation::Abort(0)], away],
        &of_the_last(),
    );
    let running = [
        (Operation::Unplug(57..58), "Isolated"),
        (Operation::Unplug(50..60), "Isolated"),
        (Operation::Isolate(1, 56..58), "Isolated"),
        (Operation::Unplug(50..56), "Pinned"),
        (Operation::Steal(0), "Started"),
        (Operation::StealForced(0), "Started"),
        (Operation::StealFrom(vec![1]), "Started"),
        (Operation::Start, "Started"),
    ];
    told(&[started()], &running);
    let steals = [
        (Operation::Steal(0), "Nothing"),
        (Operation::StealFrom(vec![2]), "Nothing"),
    ];
    told(&[boot()], &steals);
    let last = [11..20, 20..30, 50..60].map(Operation::Unplug).to_vec();
    let avail = vec![Operation::SetAvail(0, 10..11)];
    let steals = [
        (Operation::Steal(0), "LastFrame"),
        (Operation::Steal(2), "Stale"),
    ];
    told(&[boot(), last, avail], &steals);
}

#[test]
fn every_mistake_has_its_name_and_changes_nothing() {
    every_mistake_is_told::<Direct>();
    every_mistake_is_told::<Tree>();
    every_mistake_is_told::<Branchless>();
    every_mistake_is_told::<Flat>();
    every_mistake_is_told::<Array<BinarySearch>>();
    every_mistake_is_told::<Array<Linear>>();
    every_mistake_is_told::<Array<BigFirst>>();
}

#[test]
fn frames_up_to_the_last_number_are_refused() {
    let table = Table::<Direct>::with_config(SpinLock::new(), Domain::new());
    let mut segments = table.lock();
    segments.grow_on_heap();
    let up_to_the_last = |start| {
        let frames = Extent::from_last(Pfn::new(start), Pfn::new(u64::MAX));
        frames.expect("not reversed")
    };
    let id = segments.plug(frames(10, 20)).expect("it is free");
    let beyond = PlugError::Beyond(Pfn::new(u64::MAX));
    assert_eq!(segments.plug(up_to_the_last(70)), Err(beyond));
    let crosses = UnplugError::Crosses(id);
    assert_eq!(segments.unplug(up_to_the_last(15)), Err(crosses));
}

#[test]
fn an_empty_or_reversed_range_cannot_be_made() {
    let extent = |start, end| Extent::from_end(Pfn::new(start), Pfn::new(end));
    assert!(extent(5, 5).is_none() && extent(6, 5).is_none() && extent(0, 0).is_none());
    assert!(Extent::from_len(Pfn::new(5), 0).is_none());
    assert!(Extent::from_len(Pfn::new(5), u64::MAX).is_none());
}

#[test]
fn an_array_that_is_full_says_how_many_it_has() {
    fn full<L: Lookup>(room: usize) {
        let plugged = (0..room as u64).map(|at| plug(10 * at..10 * at + 6, None));
        let before: Vec<_> = [Operation::Start].into_iter().chain(plugged).collect();
        let mistakes = [
            (plug(900..901, None), "Full"),
            (Operation::Unplug(2..3), "Full"),
        ];
        told(TableSubject::<L>::new(), Some(room), &before, &mistakes);
        // The front needs no room.
        let before = [before, vec![Operation::Unplug(0..2)]].concat();
        told(TableSubject::<L>::new(), Some(room), &before, &[]);
    }
    full::<Array<BinarySearch, 5>>(5);
    full::<Array<Linear, 5>>(5);
    full::<Array<BigFirst, 5>>(5);
    full::<Array<Contiguous, 5>>(1);
    let table = TableSubject::<Array<Linear, 2>>::new();
    told(table, Some(2), &boot(), &[(Operation::Start, "Full")]);
}

#[test]
fn what_is_isolated_keeps_its_place_whatever_comes_meanwhile() {
    fn kept<L: Lookup>(room: Option<usize>) {
        let table = Table::<L>::with_config(SpinLock::new(), Domain::new());
        let mut segments = table.lock();
        segments.grow_on_heap();
        for start in [10, 20, 50] {
            let frames = frames(start, start + 10);
            segments.plug(frames).expect("it is free");
        }
        segments.start().expect("there is memory");
        let mut plugged = segments.len();
        let mut plug = |segments: &mut Writer<'_, L>| {
            let start = 10_000 + 10 * plugged as u64;
            let done = segments.plug(frames(start, start + 6));
            plugged += usize::from(done.is_ok());
            done.map(drop)
        };
        for _ in 0..4 {
            plug(&mut segments).expect("there is room for a few");
        }
        let all: Vec<_> = segments.iter().map(|segment| segment.frames).collect();
        let isolate = |part: &Extent<Pfn>| segments.isolate(*part).expect("none is isolated yet");
        let isolated: Vec<_> = all.iter().map(isolate).collect();
        let more = room.map_or(40, |room| room - all.len());
        for _ in 0..more {
            plug(&mut segments).expect("there is room for more");
        }
        if let Some(room) = room {
            assert_eq!(plug(&mut segments), Err(PlugError::Full(room)));
        }
        for (part, token) in all.iter().zip(isolated) {
            assert_eq!(segments.view().find(part.start()), None);
            segments.abort(token).expect("it is isolated");
            assert!(segments.view().find(part.start()).is_some());
        }
        segments.check().expect("no invariant is broken");
    }
    kept::<Direct>(None);
    kept::<Tree>(None);
    kept::<Branchless>(None);
    kept::<Flat>(None);
    kept::<Array<BinarySearch, 9>>(Some(9));
    kept::<Array<Linear, 9>>(Some(9));
    kept::<Array<BigFirst, 9>>(Some(9));
}

#[test]
fn a_table_without_memory_is_full_and_loses_what_needs_none() {
    type Small = SegmentTable<Page, Custom<Direct>, 2>;
    let table = Small::with_config(SpinLock::new(), Domain::new());
    let mut segments = table.lock();
    for start in [0, 100] {
        segments
            .plug(frames(start, start + 50))
            .expect("there are two");
    }
    assert_eq!(segments.plug(frames(60, 70)), Err(PlugError::Full(2)));
    assert_eq!(segments.unplug(frames(10, 20)), Err(UnplugError::Full(2)));
    assert_eq!(segments.start(), Err(StartError::NoMemory));
    segments.unplug(frames(0, 10)).expect("the front");
    segments.unplug(frames(40, 50)).expect("the back");
    segments.unplug(frames(100, 150)).expect("all of one");
    segments
        .unplug(frames(20, 30))
        .expect("now there is room for two halves");
    assert_eq!(segments.len(), 2);
    segments.check().expect("no invariant is broken");
}

#[test]
fn descriptors_of_unknown_frames_are_not_made() {
    let unknown = [5, u64::MAX].map(|frame| (Operation::Make(frame), "Unknown"));
    told(TableSubject::direct(), None, &started(), &unknown);
    let unknown = [(Operation::Make(12), "Unknown")];
    told(TableSubject::direct(), None, &boot(), &unknown);
}
