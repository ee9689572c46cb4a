//! Invalid arguments to a table of segments. Each kind has its error and changes nothing, in every
//! arm; no descriptor is made, moved or dropped for it.
#![forbid(unsafe_code)]

use core::cell::Cell;

use furlong::addr::{Address, Extent, Pfn};
use furlong::check::Check;
use furlong::phys::{
    Array, BigFirst, BinarySearch, Branchless, Contiguous, Custom, Descriptor, Direct, Flat,
    Linear, Lookup, MakeError, Node, Plug, PlugError, SegmentId, SegmentTable, Segments, SetError,
    Stale, StartError, StealError, Tree, UnplugError,
};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;

thread_local! {
    /// The total numbers of descriptors made and dropped.
    static COUNTS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// A descriptor that counts itself.
struct Page(Pfn);

/// The one frame that may not be unplugged.
const PINNED: u64 = 55;

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        let (made, dropped) = COUNTS.get();
        COUNTS.set((made + 1, dropped));
        Self(frame)
    }

    fn is_pinned(&self) -> bool {
        self.0.raw() == PINNED
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let (made, dropped) = COUNTS.get();
        COUNTS.set((made, dropped + 1));
    }
}

type Table<L> = SegmentTable<Page, Custom<L>, 4>;
type Writer<'a, L> = Segments<'a, Page, Custom<L>, 4>;

fn frames(start: u64, end: u64) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(start), Pfn::new(end)).expect("not empty")
}

/// A table with the segments 10..20, 20..30 and 50..60. [`started`] isolates frame 57.
fn boot<L: Lookup>() -> (Table<L>, [SegmentId; 3]) {
    let table = Table::with_config(SpinLock::new(), Domain::new());
    let mut segments = table.lock();
    segments.grow_on_heap();
    let ids = [(10, 20), (20, 30), (50, 60)].map(|(start, end)| {
        let plug = Plug::new(frames(start, end)).node(Node(1));
        segments
            .plug(plug.avail(Pfn::new(start + 1), Pfn::new(end - 1)))
            .expect("it is free")
    });
    drop(segments);
    (table, ids)
}

fn started<L: Lookup>() -> (Table<L>, [SegmentId; 3]) {
    let (table, ids) = boot();
    table.lock().start().expect("there is memory");
    drop(table.lock().isolate(frames(57, 58)).expect("it is there"));
    (table, ids)
}

/// All observable state of the table, the addresses of its descriptors, and their total counts.
fn seen<L: Lookup>(segments: &Writer<'_, L>) -> String {
    segments.check().expect("no invariant is broken");
    let view = segments.view();
    let page = |frame| {
        view.page_of(Pfn::new(frame))
            .map(core::ptr::from_ref::<Page>)
    };
    let pages: Vec<_> = (0..70).map(page).collect();
    let isolated: Vec<_> = segments.isolated().collect();
    let managed = segments.managed();
    format!(
        "{segments:?} {isolated:?} {managed} {pages:?} {:?}",
        COUNTS.get()
    )
}

/// A call with a mistake.
type Mistake<'m, L, E> = &'m dyn Fn(&mut Writer<'_, L>) -> Result<(), E>;

/// Makes mistakes one after the other. Checks that each has the expected error and changes nothing.
fn told<L: Lookup, E: PartialEq + core::fmt::Debug>(
    table: &Table<L>,
    mistakes: &[(Mistake<'_, L, E>, E)],
) {
    let mut segments = table.lock();
    let before = seen(&segments);
    for (mistake, expected) in mistakes {
        assert_eq!(mistake(&mut segments).as_ref(), Err(expected));
        assert_eq!(seen(&segments), before, "{expected:?}");
    }
}

fn plugs_told<L: Lookup>((table, ids): (Table<L>, [SegmentId; 3])) {
    let plug = |start, end| {
        move |segments: &mut Writer<'_, L>| segments.plug(frames(start, end)).map(drop)
    };
    let avail = |start, end| {
        move |segments: &mut Writer<'_, L>| {
            let plug = Plug::new(frames(30, 40)).avail(Pfn::new(start), Pfn::new(end));
            segments.plug(plug).map(drop)
        }
    };
    let no_avail = |start, end| PlugError::Avail {
        start: Pfn::new(start),
        end: Pfn::new(end),
    };
    let whole = move |segments: &mut Writer<'_, L>| {
        let all = Extent::from_last(Pfn::new(70), Pfn::new(u64::MAX)).expect("not reversed");
        segments.plug(all).map(drop)
    };
    told(
        &table,
        &[
            (&plug(0, 11), PlugError::Overlap(ids[0])),
            (&plug(10, 20), PlugError::Overlap(ids[0])),
            (&plug(12, 13), PlugError::Overlap(ids[0])),
            (&plug(29, 31), PlugError::Overlap(ids[1])),
            (&plug(0, 100), PlugError::Overlap(ids[0])),
            (&plug(57, 58), PlugError::Overlap(ids[2])),
            (
                &plug(70, (1 << 40) + 1),
                PlugError::Beyond(Pfn::new(1 << 40)),
            ),
            (&whole, PlugError::Beyond(Pfn::new(u64::MAX))),
            (&avail(29, 35), no_avail(29, 35)),
            (&avail(35, 41), no_avail(35, 41)),
            (&avail(36, 35), no_avail(36, 35)),
            (&avail(41, 41), no_avail(41, 41)),
            (&avail(0, u64::MAX), no_avail(0, u64::MAX)),
        ],
    );
}

fn unplugs_told<L: Lookup>((table, ids): (Table<L>, [SegmentId; 3])) {
    let unplug =
        |start, end| move |segments: &mut Writer<'_, L>| segments.unplug(frames(start, end));
    let beyond = move |segments: &mut Writer<'_, L>| {
        let all = Extent::from_last(Pfn::new(15), Pfn::new(u64::MAX)).expect("not reversed");
        segments.unplug(all)
    };
    told(
        &table,
        &[
            (&unplug(0, 5), UnplugError::Unknown(Pfn::new(0))),
            (&unplug(5, 15), UnplugError::Unknown(Pfn::new(5))),
            (&unplug(30, 60), UnplugError::Unknown(Pfn::new(30))),
            (
                &unplug(1 << 40, (1 << 40) + 1),
                UnplugError::Unknown(Pfn::new(1 << 40)),
            ),
            // Frames of two segments, and frames of a segment and of none.
            (&unplug(15, 25), UnplugError::Crosses(ids[0])),
            (&unplug(10, 30), UnplugError::Crosses(ids[0])),
            (&unplug(25, 35), UnplugError::Crosses(ids[1])),
            (&unplug(25, 55), UnplugError::Crosses(ids[1])),
            (&beyond, UnplugError::Crosses(ids[0])),
        ],
    );
}

fn running_unplugs_told<L: Lookup>((table, _): (Table<L>, [SegmentId; 3])) {
    let unplug =
        |start, end| move |segments: &mut Writer<'_, L>| segments.unplug(frames(start, end));
    let isolate = |start, end| {
        move |segments: &mut Writer<'_, L>| segments.isolate(frames(start, end)).map(drop)
    };
    let isolated = UnplugError::Isolated(frames(57, 58));
    told(
        &table,
        &[
            (&unplug(57, 58), isolated),
            (&unplug(50, 60), isolated),
            (&isolate(56, 58), isolated),
            (&unplug(50, 56), UnplugError::Pinned(Pfn::new(PINNED))),
        ],
    );
}

fn last_segment_told<L: Lookup>((table, ids): (Table<L>, [SegmentId; 3])) {
    table
        .lock()
        .unplug(frames(10, 20))
        .expect("there are others");
    table
        .lock()
        .unplug(frames(20, 30))
        .expect("there is another");
    if table.lock().is_started() {
        let token = table.lock().adopt(Pfn::new(57)).expect("it is isolated");
        table.lock().abort(token).expect("it is this table's");
    }
    let last = |segments: &mut Writer<'_, L>| segments.unplug(frames(50, 60));
    told(&table, &[(&last, UnplugError::LastSegment)]);
    let stale = |at: usize| {
        let id = ids[at];
        move |segments: &mut Writer<'_, L>| segments.get(id).map(drop)
    };
    told(
        &table,
        &[(&stale(0), Stale(ids[0])), (&stale(1), Stale(ids[1]))],
    );
    let next = |segments: &mut Writer<'_, L>| segments.next(ids[0]).map(drop);
    let prev = |segments: &mut Writer<'_, L>| segments.prev(ids[1]).map(drop);
    let node = |segments: &mut Writer<'_, L>| segments.set_node(ids[0], Node(7));
    let user = |segments: &mut Writer<'_, L>| segments.set_user(ids[1], 7);
    let stale = [Stale(ids[0]), Stale(ids[1])];
    told(
        &table,
        &[
            (&next, stale[0]),
            (&prev, stale[1]),
            (&node, stale[0]),
            (&user, stale[1]),
        ],
    );
}

fn sets_told<L: Lookup>((table, ids): (Table<L>, [SegmentId; 3])) {
    let avail = |start, end| {
        move |segments: &mut Writer<'_, L>| {
            segments.set_avail(ids[0], Pfn::new(start), Pfn::new(end))
        }
    };
    let hint = |hint| move |segments: &mut Writer<'_, L>| segments.set_start_hint(ids[0], hint);
    told(
        &table,
        &[
            (&avail(9, 15), SetError::Avail),
            (&avail(15, 21), SetError::Avail),
            (&avail(16, 15), SetError::Avail),
            (&avail(u64::MAX, 0), SetError::Avail),
            (&hint(9), SetError::Hint(9)),
            (&hint(u64::MAX), SetError::Hint(u64::MAX)),
        ],
    );
    table
        .lock()
        .unplug(frames(10, 20))
        .expect("there are others");
    told(
        &table,
        &[
            (&avail(12, 15), SetError::Stale(ids[0])),
            (&hint(0), SetError::Stale(ids[0])),
        ],
    );
}

fn steals_told<L: Lookup>() {
    let (table, ids) = boot::<L>();
    let steal = |segments: &mut Writer<'_, L>| segments.steal(ids[0]).map(drop);
    let other_list = |segments: &mut Writer<'_, L>| segments.steal_from(&[Node(2)]).map(drop);
    told(
        &table,
        &[
            (&steal, StealError::Nothing),
            (&other_list, StealError::Nothing),
        ],
    );
    table.lock().start().expect("there is memory");
    let forced = |segments: &mut Writer<'_, L>| segments.steal_forced(ids[0]).map(drop);
    let any = |segments: &mut Writer<'_, L>| segments.steal_from(&[Node(1)]).map(drop);
    told(
        &table,
        &[
            (&steal, StealError::Started),
            (&forced, StealError::Started),
            (&any, StealError::Started),
        ],
    );
    let again = |segments: &mut Writer<'_, L>| segments.start().map(drop);
    told(&table, &[(&again, StartError::Started)]);

    let (table, _) = boot::<L>();
    for range in [(11, 20), (20, 30), (50, 60)] {
        table
            .lock()
            .unplug(frames(range.0, range.1))
            .expect("there are others");
    }
    let id = table.lock().first().expect("there is one");
    table
        .lock()
        .set_avail(id, Pfn::new(10), Pfn::new(11))
        .expect("it is in it");
    let steal = |segments: &mut Writer<'_, L>| segments.steal(id).map(drop);
    let stale = |segments: &mut Writer<'_, L>| segments.steal(ids[2]).map(drop);
    let stale_error = StealError::Stale(ids[2]);
    told(
        &table,
        &[(&steal, StealError::LastFrame), (&stale, stale_error)],
    );
}

fn every_mistake_is_told<L: Lookup>() {
    plugs_told::<L>(boot());
    plugs_told::<L>(started());
    unplugs_told::<L>(boot());
    unplugs_told::<L>(started());
    running_unplugs_told::<L>(started());
    last_segment_told::<L>(boot());
    last_segment_told::<L>(started());
    sets_told::<L>(boot());
    sets_told::<L>(started());
    steals_told::<L>();
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
fn an_empty_or_reversed_range_cannot_be_made() {
    let extent = |start, end| Extent::from_end(Pfn::new(start), Pfn::new(end));
    assert!(extent(5, 5).is_none() && extent(6, 5).is_none() && extent(0, 0).is_none());
    assert!(Extent::from_len(Pfn::new(5), 0).is_none());
    assert!(Extent::from_len(Pfn::new(5), u64::MAX).is_none());
}

#[test]
fn an_array_that_is_full_says_how_many_it_has() {
    fn full<L: Lookup>(room: usize) {
        let table = Table::<L>::with_config(SpinLock::new(), Domain::new());
        table.lock().grow_on_heap();
        table.lock().start().expect("there is memory");
        for at in 0..room as u64 {
            table
                .lock()
                .plug(frames(10 * at, 10 * at + 6))
                .expect("there is room");
        }
        let plug = |segments: &mut Writer<'_, L>| segments.plug(frames(900, 901)).map(drop);
        told(&table, &[(&plug, PlugError::Full(room))]);
        let unplug = |segments: &mut Writer<'_, L>| segments.unplug(frames(2, 3));
        told(&table, &[(&unplug, UnplugError::Full(room))]);
        let front = table.lock().unplug(frames(0, 2));
        front.expect("it needs no room");
    }
    full::<Array<BinarySearch, 5>>(5);
    full::<Array<Linear, 5>>(5);
    full::<Array<BigFirst, 5>>(5);
    full::<Array<Contiguous, 5>>(1);
    let (table, _) = boot::<Array<Linear, 2>>();
    let start = |segments: &mut Writer<'_, Array<Linear, 2>>| segments.start().map(drop);
    told(&table, &[(&start, StartError::Full(2))]);
}

#[test]
fn what_is_isolated_keeps_its_place_whatever_comes_meanwhile() {
    fn kept<L: Lookup>(room: Option<usize>) {
        let (table, _) = boot::<L>();
        let mut segments = table.lock();
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
    let (table, _) = started::<Direct>();
    let make =
        |frame| move |segments: &mut Writer<'_, Direct>| segments.make(Pfn::new(frame)).map(drop);
    let unknown = |frame| MakeError::Unknown(Pfn::new(frame));
    told(
        &table,
        &[(&make(5), unknown(5)), (&make(u64::MAX), unknown(u64::MAX))],
    );
    let (table, _) = boot::<Direct>();
    told(&table, &[(&make(12), unknown(12))]);
}
