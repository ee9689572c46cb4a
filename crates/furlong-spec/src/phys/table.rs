//! The library's table as a subject, in any arm.
#![forbid(unsafe_code)]

use core::cell::Cell;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};

use furlong::addr::{Address, Extent, Pfn, PhysAddr};
use furlong::check::Check;
use furlong::phys::{
    Custom, Descriptor, Direct, Isolated, Lookup, Node, Plug, PlugError, Segment, SegmentId,
    SegmentTable, Segments, SetError, Stale, StartError, StealError, UnplugError,
};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;

use super::operation::{HELD, Name, Operation, Outcome, Refusal, Shown};
use crate::Subject;

thread_local! {
    /// Descriptors that this thread has made and not dropped.
    static ALIVE: Cell<usize> = const { Cell::new(0) };
}

/// A descriptor that knows its frame, can be pinned, and is counted.
#[derive(Debug)]
pub struct Page {
    frame: Pfn,
    pinned: AtomicBool,
}

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self {
            frame,
            pinned: AtomicBool::new(false),
        }
    }

    fn is_pinned(&self) -> bool {
        self.pinned.load(Ordering::SeqCst)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

/// Room for four segments without an allocation, so that growth is common.
type Table<L> = SegmentTable<Page, Custom<L>, 4>;
type Held<'a, L> = Segments<'a, Page, Custom<L>, 4>;
type Answer = Result<Outcome, Refusal>;

/// What a reader finds for a frame, in an arm that readers can use.
type Reads<L> = fn(&Table<L>, u64) -> Option<Option<(SegmentId, u64)>>;

/// A table, the names of its segments, and what is isolated.
pub struct TableSubject<L: Lookup> {
    table: Table<L>,
    /// Handles by name.
    names: Vec<SegmentId>,
    held: [Option<Isolated>; HELD],
    /// Descriptors that were alive when it was made.
    alive_before: usize,
    /// Lookups as a reader makes them, beside the writer's own.
    reads: Reads<L>,
}

impl TableSubject<Direct> {
    /// An empty table that is also read beside the writer.
    #[must_use]
    pub fn direct() -> Self {
        let mut subject = Self::new();
        subject.reads = |table, frame| {
            let reader = table.rcu().register().expect("a slot");
            let guard = reader.enter();
            Some(table.read(&guard).find(Pfn::new(frame)))
        };
        subject
    }
}

impl<L: Lookup> Default for TableSubject<L> {
    fn default() -> Self {
        Self::new()
    }
}

impl<L: Lookup> TableSubject<L> {
    /// An empty table that may use the heap.
    #[must_use]
    pub fn new() -> Self {
        let table = Table::<L>::with_config(SpinLock::new(), Domain::new());
        table.lock().grow_on_heap();
        Self {
            table,
            names: Vec::new(),
            held: [const { None }; HELD],
            alive_before: ALIVE.get(),
            reads: |_, _| None,
        }
    }

    /// The table.
    pub fn table(&self) -> &Table<L> {
        &self.table
    }

    fn name(&self, id: SegmentId) -> Name {
        let name = self.names.iter().position(|named| *named == id);
        name.expect("every live segment has a name")
    }

    fn id(&self, name: Name) -> Result<SegmentId, Refusal> {
        self.names.get(name).copied().ok_or(Refusal::Stale(name))
    }

    /// A segment that has come to be gets the next name: one operation makes one at most.
    fn name_new(&mut self) {
        let segments = self.table.lock();
        let new = segments
            .iter()
            .find(|segment| !self.names.contains(&segment.id));
        self.names.extend(new.map(|segment| segment.id));
    }

    fn shown(&self, segment: &Segment) -> Shown {
        let range = |extent: Extent<Pfn>| extent.start().raw()..extent.last().raw() + 1;
        Shown {
            name: self.name(segment.id),
            frames: range(segment.frames),
            avail: segment.avail_start.raw()..segment.avail_end.raw(),
            node: segment.node.0,
            hint: segment.start_hint,
            user: segment.user,
        }
    }

    fn segment(&self, found: Result<Option<SegmentId>, Stale>, name: Name) -> Answer {
        let found = found.map_err(|_| Refusal::Stale(name))?;
        Ok(Outcome::Segment(found.map(|id| self.name(id))))
    }

    fn place(&self, found: Option<(SegmentId, u64)>) -> Outcome {
        Outcome::Place(found.map(|(id, offset)| (self.name(id), offset)))
    }

    fn plug_refusal(&self, error: PlugError) -> Refusal {
        match error {
            PlugError::Beyond(_) => Refusal::Beyond,
            PlugError::Overlap(id) => Refusal::Overlap(self.name(id)),
            PlugError::Avail { .. } => Refusal::Avail,
            PlugError::Full(room) => Refusal::Full(room),
            PlugError::NoMemory | PlugError::TooSmall(_) => Refusal::NoMemory,
            PlugError::NotStarted => Refusal::NotStarted,
        }
    }

    fn unplug_refusal(&self, error: UnplugError) -> Refusal {
        match error {
            UnplugError::Unknown(frame) => Refusal::Unknown(frame.raw()),
            UnplugError::Crosses(id) => Refusal::Crosses(self.name(id)),
            UnplugError::LastSegment => Refusal::LastSegment,
            UnplugError::Isolated(frames) => {
                Refusal::Isolated(frames.start().raw()..frames.last().raw() + 1)
            }
            UnplugError::Pinned(frame) => Refusal::Pinned(frame.raw()),
            UnplugError::Full(room) => Refusal::Full(room),
            UnplugError::NoMemory => Refusal::NoMemory,
            other => panic!("{other} where nobody reads and nothing is kept in the frames"),
        }
    }

    fn steal_refusal(&self, error: StealError) -> Refusal {
        match error {
            StealError::Started => Refusal::Started,
            StealError::Nothing => Refusal::Nothing,
            StealError::LastFrame => Refusal::LastFrame,
            StealError::NoMemory => Refusal::NoMemory,
            StealError::Stale(id) => Refusal::Stale(self.name(id)),
        }
    }

    fn set_refusal(&self, error: SetError) -> Refusal {
        match error {
            SetError::Stale(id) => Refusal::Stale(self.name(id)),
            SetError::Avail => Refusal::Avail,
            SetError::Hint(hint) => Refusal::Hint(hint),
        }
    }

    fn unplug(&mut self, operation: &Operation) -> Answer {
        let mut segments = self.table.lock();
        match operation {
            Operation::Unplug(frames) => {
                let unplugged = segments.unplug(extent(frames));
                unplugged.map_err(|error| self.unplug_refusal(error))?;
            }
            Operation::Isolate(_, _) if !segments.is_started() => {
                return Err(Refusal::NotStarted);
            }
            Operation::Isolate(slot, _) if self.held[*slot].is_some() => {
                return Err(Refusal::Held);
            }
            Operation::Isolate(slot, frames) => {
                let isolated = segments.isolate(extent(frames));
                let isolated = isolated.map_err(|error| self.unplug_refusal(error))?;
                self.held[*slot] = Some(isolated);
            }
            Operation::Remove(slot) => {
                let isolated = self.held[*slot].take().ok_or(Refusal::Held)?;
                let removed = remove(&mut segments, isolated);
                drop(segments);
                if let Err((why, isolated)) = removed {
                    self.held[*slot] = Some(isolated);
                    return Err(self.unplug_refusal(why));
                }
            }
            Operation::Abort(slot) => {
                segments.abort(self.held[*slot].take().ok_or(Refusal::Held)?);
            }
            _ => unreachable!("all others are elsewhere"),
        }
        Ok(Outcome::Done)
    }

    fn steal(&mut self, operation: &Operation) -> Answer {
        let mut segments = self.table.lock();
        let stolen = match operation {
            Operation::Steal(name) => segments.steal(self.id(*name)?),
            Operation::StealForced(name) => segments.steal_forced(self.id(*name)?),
            Operation::StealFrom(nodes) => {
                let nodes: Vec<Node> = nodes.iter().copied().map(Node).collect();
                segments.steal_from(&nodes)
            }
            _ => unreachable!("all others are elsewhere"),
        };
        let stolen = stolen.map_err(|error| self.steal_refusal(error))?;
        Ok(Outcome::Number(Some(stolen.raw())))
    }

    fn change(&mut self, operation: &Operation) -> Answer {
        let mut segments = self.table.lock();
        match operation {
            Operation::Plug {
                frames,
                avail,
                node,
                user,
            } => {
                let mut plug = Plug::new(extent(frames)).node(Node(*node)).user(*user);
                if let Some(avail) = avail {
                    plug = plug.avail(Pfn::new(avail.start), Pfn::new(avail.end));
                }
                let plugged = segments.plug(plug);
                plugged.map_err(|error| self.plug_refusal(error))?;
            }
            Operation::Start => {
                let managed = segments.start().map_err(|error| match error {
                    StartError::Started => Refusal::Started,
                    StartError::Full(room) => Refusal::Full(room),
                    StartError::NoMemory => Refusal::NoMemory,
                })?;
                return Ok(Outcome::Number(Some(managed)));
            }
            Operation::Pin(frame, pinned) => {
                let view = segments.view();
                let page = view.page_of(Pfn::new(*frame));
                let page = page.ok_or(Refusal::Unknown(*frame))?;
                page.pinned.store(*pinned, Ordering::SeqCst);
            }
            Operation::SetAvail(name, avail) => {
                let (start, end) = (Pfn::new(avail.start), Pfn::new(avail.end));
                let set = segments.set_avail(self.id(*name)?, start, end);
                set.map_err(|error| self.set_refusal(error))?;
            }
            Operation::SetHint(name, hint) => {
                let set = segments.set_start_hint(self.id(*name)?, *hint);
                set.map_err(|error| self.set_refusal(error))?;
            }
            _ => unreachable!("all others are elsewhere"),
        }
        Ok(Outcome::Done)
    }

    fn ask(&self, operation: &Operation) -> Answer {
        let segments = self.table.lock();
        Ok(match operation {
            Operation::Find(frame) => {
                let found = segments.view().find(Pfn::new(*frame));
                if let Some(read) = (self.reads)(&self.table, *frame) {
                    assert_eq!(read, found, "a reader and the writer see the same");
                }
                self.place(found)
            }
            Operation::Page(frame) => {
                let page = segments.view().page(PhysAddr::new(frame << 12));
                if let (Some(page), Some((id, _))) = (page, segments.find(Pfn::new(*frame))) {
                    assert_eq!(segments.view().frame_in(id, page), Some(page.frame));
                }
                Outcome::Number(page.map(|page| page.frame.raw()))
            }
            Operation::Locate(frame) => self.place(segments.find(Pfn::new(*frame))),
            Operation::First => Outcome::Segment(segments.first().map(|id| self.name(id))),
            Operation::Last => Outcome::Segment(segments.last().map(|id| self.name(id))),
            Operation::Next(name) => self.segment(segments.next(self.id(*name)?), *name)?,
            Operation::Prev(name) => self.segment(segments.prev(self.id(*name)?), *name)?,
            Operation::Get(name) => {
                let segment = segments.get(self.id(*name)?);
                let segment = segment.map_err(|_| Refusal::Stale(*name))?;
                Outcome::Shown(self.shown(&segment))
            }
            Operation::List => Outcome::All(
                segments
                    .iter()
                    .map(|segment| self.shown(&segment))
                    .collect(),
            ),
            Operation::Highest => Outcome::Number(segments.highest_frame().map(Address::raw)),
            Operation::AvailEdges => {
                let edges = segments.avail_edges();
                Outcome::Edges(edges.map(|(first, last)| (first.raw(), last.raw())))
            }
            Operation::Managed => Outcome::Number(Some(segments.managed())),
            _ => unreachable!("all others change something"),
        })
    }
}

fn extent(frames: &Range<u64>) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(frames.start), Pfn::new(frames.end)).expect("it is not empty")
}

/// Nobody reads here, so a few tries end the grace period.
fn remove<L: Lookup>(
    segments: &mut Held<'_, L>,
    mut isolated: Isolated,
) -> Result<(), (UnplugError, Isolated)> {
    for _ in 0..3 {
        match segments.remove(isolated) {
            Ok(()) => return Ok(()),
            Err(error) if error.why == UnplugError::Readers => isolated = error.frames,
            Err(error) => return Err((error.why, error.frames)),
        }
    }
    Err((UnplugError::Readers, isolated))
}

impl<L: Lookup> Subject for TableSubject<L> {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        let answer = match operation {
            Operation::Unplug(_)
            | Operation::Isolate(..)
            | Operation::Remove(_)
            | Operation::Abort(_) => self.unplug(operation),
            Operation::Steal(_) | Operation::StealForced(_) | Operation::StealFrom(_) => {
                self.steal(operation)
            }
            Operation::Plug { .. }
            | Operation::Start
            | Operation::Pin(..)
            | Operation::SetAvail(..)
            | Operation::SetHint(..) => self.change(operation),
            _ => self.ask(operation),
        };
        self.name_new();
        answer.unwrap_or_else(Outcome::Refused)
    }

    fn check(&self) -> Result<(), String> {
        let segments = self.table.lock();
        segments.check().map_err(|broken| broken.to_string())?;
        let frames: u64 = segments.iter().map(|segment| segment.len()).sum();
        let wanted = if segments.is_started() { frames } else { 0 };
        let alive = (ALIVE.get() - self.alive_before) as u64;
        if alive != wanted {
            return Err(format!("{alive} descriptors for {wanted} frames"));
        }
        Ok(())
    }
}
