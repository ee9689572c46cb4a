//! The library's table as a subject, in any arm.
#![forbid(unsafe_code)]

mod ask;
mod change;
mod hosting;
mod page;
mod refusals;

use core::cell::Cell;
use core::mem::MaybeUninit;
use core::ops::Range;

use furlong::addr::{Address, Extent, Pfn};
use furlong::check::Check;
use furlong::phys::{
    Custom, Direct, Isolated, Lookup, Segment, SegmentId, SegmentTable, Segments, State,
};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;

use self::hosting::Hosting;
pub use self::page::Page;
use self::page::alive;
use super::ground::Grounded;
use super::operation::{HELD, Name, Operation, Outcome, Refusal, Shown};
use crate::Subject;

/// Room for four segments without an allocation, so that growth is common.
type Table<L> = SegmentTable<Page, Custom<L>, 4>;
type Held<'a, L> = Segments<'a, Page, Custom<L>, 4>;
type Answer = Result<Outcome, Refusal>;

/// A table, the names of its segments, and its isolation tokens.
pub struct TableSubject<L: Lookup> {
    table: Grounded<Table<L>>,
    /// Handles by name.
    names: Vec<SegmentId>,
    held: [Option<Isolated>; HELD],
    /// The number of live descriptors before the table was made.
    alive_before: usize,
    hosting: Option<Hosting<L>>,
    /// True if the table may have changed since the last check.
    changed: Cell<bool>,
}

impl TableSubject<Direct> {
    /// An empty table that uses the heap. Lookups run as readers too, and it accepts ranges that
    /// host their own bookkeeping.
    #[must_use]
    pub fn direct() -> Self {
        let subject = Self::without_heap();
        subject.table.get().lock().grow_on_heap();
        subject
    }

    /// The same table without the heap: it has only the memory given to it.
    #[must_use]
    pub fn without_heap() -> Self {
        Self {
            hosting: Some(Hosting::new()),
            ..Self::bare()
        }
    }
}

impl<L: Lookup> Default for TableSubject<L> {
    fn default() -> Self {
        Self::new()
    }
}

impl<L: Lookup> TableSubject<L> {
    /// An empty table that uses the heap.
    #[must_use]
    pub fn new() -> Self {
        let subject = Self::bare();
        subject.table.get().lock().grow_on_heap();
        subject
    }

    /// The saved state of the table.
    ///
    /// # Panics
    /// If there is no memory.
    #[must_use]
    pub fn save(&self) -> State {
        self.lock().save().expect("there is memory")
    }

    /// A copy of the table: saved, passed through a function, and restored, with tokens of its own.
    /// Pins are not saved.
    ///
    /// # Panics
    /// If the state that comes back is not that of this table.
    #[must_use]
    pub fn moved(&self, through: impl FnOnce(&State) -> State) -> Self {
        let state = self.save();
        let mut new = Self::new();
        let restored = new.lock().restore(&through(&state));
        restored.expect("it is what a table has saved");
        assert_eq!(new.save(), state);
        let adopt = |held: &Option<Isolated>| {
            let first = held.as_ref()?.frames().start();
            Some(new.lock().adopt(first).expect("it is isolated"))
        };
        new.held = self.held.each_ref().map(adopt);
        new.names.clone_from(&self.names);
        new
    }

    fn bare() -> Self {
        let table = Table::<L>::with_config(SpinLock::new(), Domain::new());
        Self {
            table: Grounded::new(table),
            names: Vec::new(),
            held: [const { None }; HELD],
            alive_before: alive(),
            hosting: None,
            changed: Cell::new(true),
        }
    }

    fn lock(&self) -> Held<'_, L> {
        self.table.get().lock()
    }

    fn name(&self, id: SegmentId) -> Name {
        let name = self.names.iter().position(|named| *named == id);
        name.expect("every live segment has a name")
    }

    fn id(&self, name: Name) -> Result<SegmentId, Refusal> {
        self.names.get(name).copied().ok_or(Refusal::Stale(name))
    }

    /// Names the new segment, if there is one: an operation makes at most one.
    fn name_new(&mut self) {
        let segments = self.table.get().lock();
        let new = segments
            .iter()
            .find(|segment| !self.names.contains(&segment.id));
        self.names.extend(new.map(|segment| segment.id));
    }

    fn shown(&self, segment: &Segment) -> Shown {
        Shown {
            name: self.name(segment.id),
            frames: range(segment.frames),
            avail: segment.avail_start.raw()..segment.avail_end.raw(),
            node: segment.node.0,
            hint: segment.start_hint,
            user: segment.user,
        }
    }

    /// Takes back the memory that hosted removed ranges, and overwrites it, so that a late reader
    /// is noticed.
    fn take_back(&self) {
        let mut segments = self.lock();
        segments.sweep();
        while let Some(memory) = segments.take_back() {
            memory.fill(MaybeUninit::new(0xa5));
        }
    }
}

fn extent(frames: &Range<u64>) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(frames.start), Pfn::new(frames.end)).expect("it is not empty")
}

fn range(frames: Extent<Pfn>) -> Range<u64> {
    frames.start().raw()..frames.last().raw() + 1
}

impl<L: Lookup> Subject for TableSubject<L> {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        let answer = match operation {
            Operation::Unplug(_)
            | Operation::Isolate(..)
            | Operation::Remove(_)
            | Operation::Abort(_)
            | Operation::Adopt(_) => self.unplug(operation),
            Operation::Steal(_) | Operation::StealForced(_) | Operation::StealFrom(_) => {
                self.steal(operation)
            }
            Operation::Plug { .. }
            | Operation::PlugHosted { .. }
            | Operation::Make(_)
            | Operation::Start
            | Operation::Pin(..)
            | Operation::Donate(_) => self.change(operation),
            Operation::SetAvail(..)
            | Operation::SetHint(..)
            | Operation::SetUser(..)
            | Operation::SetNode(..) => self.set(operation),
            _ => return self.ask(operation).unwrap_or_else(Outcome::Refused),
        };
        self.changed.set(true);
        self.name_new();
        self.take_back();
        answer.unwrap_or_else(Outcome::Refused)
    }

    fn check(&self) -> Result<(), String> {
        if !self.changed.replace(false) {
            return Ok(());
        }
        let checked = self.lock().check();
        checked.map_err(|broken| broken.to_string())
    }
}
