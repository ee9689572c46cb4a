//! The library's space as a subject.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use furlong::addr::VirtAddr;
use furlong::check::Check;
use furlong::rcu::{Domain, Rcu};
use furlong::sync::SpinLock;
use furlong::vmspace::{
    Area, Config, Flags, Freed, Hold, Layout, Prot, Remap, Request, Shared, SharedConfig, Space,
    Standard, Value,
};

use super::{Gone, Operation, Outcome, Refusal, Seen};
use crate::Subject;

/// The value of an area: the number of its object. It counts its live copies.
#[derive(Debug)]
pub struct Kept {
    object: u32,
    alive: Arc<AtomicUsize>,
}

impl Kept {
    /// A new value, counted in `alive`.
    fn new(object: u32, alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        Self {
            object,
            alive: Arc::clone(alive),
        }
    }

    /// True if areas of these objects may merge: of the same object, except every fourth object.
    #[must_use]
    pub fn may_merge(one: u32, other: u32) -> bool {
        one == other && one % 4 != 3
    }
}

impl Clone for Kept {
    fn clone(&self) -> Self {
        Self::new(self.object, &self.alive)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Value for Kept {
    fn merges(&self, next: &Self) -> bool {
        Self::may_merge(self.object, next.object)
    }
}

/// A space, and the number of its live values.
pub struct SpaceSubject<C: Config = Standard> {
    space: Space<Kept, C>,
    alive: Arc<AtomicUsize>,
}

impl<C: Config<Index<Kept>: Default>> SpaceSubject<C> {
    /// An empty space.
    ///
    /// # Panics
    /// If the layout is invalid.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        let space = Space::with_config(layout);
        Self {
            space: space.expect("the layout makes sense"),
            alive: Arc::default(),
        }
    }

    /// The space.
    #[must_use]
    pub fn space(&self) -> &Space<Kept, C> {
        &self.space
    }

    fn fork(&mut self) -> Outcome {
        let copy = |area: Area<'_, Kept>| Ok::<_, ()>(area.value.clone());
        let child = self.space.fork(copy);
        self.space = child.expect("there is memory for a child");
        areas(&self.space)
    }
}

fn map<C: Config, H: Hold>(
    space: &mut Space<Kept, C, H>,
    alive: &Arc<AtomicUsize>,
    request: &Request<u32>,
) -> Outcome {
    let value = Kept::new(request.value, alive);
    let request = Request {
        len: request.len,
        at: request.at,
        prot: request.prot,
        may: request.may,
        flags: request.flags,
        offset: request.offset,
        align: request.align,
        window: request.window,
        refusal: request.refusal,
        value,
    };
    let would = space.would_map(&request);
    let mut gone = Vec::new();
    let mapped = space.map(request, |freed| note(&mut gone, freed));
    let mapped = mapped.map_err(|refused| refused.cause);
    assert_eq!(would, mapped, "it was said beforehand");
    match mapped {
        Ok(start) => Outcome::At(start, gone),
        Err(cause) => Outcome::Refused(Refusal::Map(cause), gone),
    }
}

fn remap<C: Config, H: Hold>(space: &mut Space<Kept, C, H>, remap: &Remap) -> Outcome {
    let mut gone = Vec::new();
    match space.remap(remap, |freed| note(&mut gone, freed)) {
        Ok(start) => Outcome::At(start, gone),
        Err(cause) => Outcome::Refused(Refusal::Remap(cause), gone),
    }
}

fn areas<C: Config, H: Hold>(space: &Space<Kept, C, H>) -> Outcome {
    Outcome::Areas(space.areas().map(seen).collect())
}

fn usage<C: Config, H: Hold>(space: &Space<Kept, C, H>) -> Outcome {
    let with = |bits: usize| space.usage().with(Prot::from_bits(bits as u32));
    Outcome::Usage(core::array::from_fn(with), space.brk())
}

/// Carries out any operation except a fork.
fn apply<C: Config, H: Hold>(
    space: &mut Space<Kept, C, H>,
    alive: &Arc<AtomicUsize>,
    operation: &Operation,
) -> Outcome {
    let mut gone = Vec::new();
    match *operation {
        Operation::Map(ref request) => map(space, alive, request),
        Operation::Unmap(start, len) => {
            let done = space.unmap(start, len, |freed| note(&mut gone, freed));
            answer(done.map_err(Refusal::Unmap), gone)
        }
        Operation::Protect(start, len, prot) => {
            let done = space.protect(start, len, prot, |freed| note(&mut gone, freed));
            answer(done.map_err(Refusal::Protect), gone)
        }
        Operation::Advise(start, len, advice) => {
            let done = space.advise(start, len, advice, |freed| note(&mut gone, freed));
            answer(done.map_err(Refusal::Advise), gone)
        }
        Operation::Update(start, len, [set, clear]) => {
            let new = |flags: Flags| flags.without(clear) | set;
            let done = space.update(start, len, new, |freed| note(&mut gone, freed));
            answer(done.map_err(Refusal::Update), gone)
        }
        Operation::Remap(ref arguments) => remap(space, arguments),
        Operation::StartBrk(start) => {
            space.start_brk(start);
            Outcome::Done(gone)
        }
        Operation::Brk(end) => {
            let value = Kept::new(0, alive);
            let set = space.set_brk(end, value, |freed| note(&mut gone, freed));
            answer(set.map_err(Refusal::Brk), gone)
        }
        Operation::Fault(address, access) => match space.fault(address, access) {
            Ok(area) => Outcome::Area(Some(seen(area))),
            Err(error) => Outcome::Refused(Refusal::Fault(error), gone),
        },
        Operation::Find(address) => Outcome::Area(space.find(address).map(seen)),
        Operation::Next(address) => Outcome::Area(space.next(address).map(seen)),
        Operation::AreasIn(extent) => Outcome::Areas(space.areas_in(extent).map(seen).collect()),
        Operation::Areas | Operation::Fork => areas(space),
        Operation::Usage => usage(space),
        Operation::Clear => {
            space.clear(|freed| note(&mut gone, freed));
            gone.sort_by_key(|piece| piece.extent.start());
            Outcome::Done(gone)
        }
    }
}

/// Checks that there is one live value for each area.
fn check_alive(alive: &AtomicUsize, areas: usize) -> Result<(), String> {
    let alive = alive.load(Ordering::SeqCst);
    if alive != areas {
        return Err(format!("{alive} values for {areas} areas"));
    }
    Ok(())
}

fn seen(area: Area<'_, Kept>) -> Seen {
    Seen {
        extent: area.extent,
        prot: area.prot,
        may: area.may,
        flags: area.flags,
        offset: area.offset,
        object: area.value.object,
    }
}

fn note(gone: &mut Vec<Gone>, freed: Freed<Kept>) {
    if let Freed::Unmapped(piece) = freed {
        gone.push(Gone {
            extent: piece.extent,
            prot: piece.prot,
            flags: piece.flags,
            offset: piece.offset,
            object: piece.value.as_ref().map(|value| value.object),
        });
    }
}

fn answer(result: Result<(), Refusal>, gone: Vec<Gone>) -> Outcome {
    match result {
        Ok(()) => Outcome::Done(gone),
        Err(refusal) => Outcome::Refused(refusal, gone),
    }
}

impl<C: Config> fmt::Debug for SpaceSubject<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.space.fmt(f)
    }
}

impl<C: Config<Index<Kept>: Default>> Subject for SpaceSubject<C> {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        match operation {
            Operation::Fork => self.fork(),
            _ => apply(&mut self.space, &self.alive, operation),
        }
    }

    fn check(&self) -> Result<(), String> {
        self.space.check().map_err(|broken| broken.to_string())?;
        check_alive(&self.alive, self.space.len())
    }
}

/// A space whose areas are also looked up without a lock.
pub struct SharedSubject<C: SharedConfig = Standard> {
    space: Shared<Kept, Arc<Domain>, SpinLock, C>,
    alive: Arc<AtomicUsize>,
}

impl<C: SharedConfig> SharedSubject<C> {
    /// An empty space.
    ///
    /// # Panics
    /// If the layout is invalid.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        let domain = Arc::new(Domain::new());
        let space = Shared::new(layout, domain, SpinLock::new());
        Self {
            space: space.expect("the layout makes sense"),
            alive: Arc::default(),
        }
    }

    /// Looks up an address without the lock. The result has to equal that under the lock.
    fn look(&self, address: VirtAddr) -> Outcome {
        let reader = self.space.rcu().register().expect("there is a slot");
        let guard = reader.enter();
        let seen_without = self.space.look(&guard, address);
        let found = seen_without.as_ref().map(|glimpse| {
            assert!(glimpse.is_current(), "nobody changes it meanwhile");
            seen(glimpse.area())
        });
        assert_eq!(found, self.space.lock().find(address).map(seen));
        Outcome::Area(found)
    }

    fn fork(&mut self) -> Outcome {
        let child = Self::new(*self.space.lock().layout());
        let copy = |area: Area<'_, Kept>| Ok::<_, ()>(area.value.clone());
        let copied = child.space.lock().copy_from(&self.space.lock(), copy);
        copied.expect("there is memory for a child");
        let alive = Arc::clone(&self.alive);
        *self = Self { alive, ..child };
        areas(&self.space.lock())
    }
}

impl<C: SharedConfig> Subject for SharedSubject<C> {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        match operation {
            Operation::Fork => self.fork(),
            Operation::Find(address) => self.look(*address),
            _ => apply(&mut self.space.lock(), &self.alive, operation),
        }
    }

    fn check(&self) -> Result<(), String> {
        self.space.check().map_err(|broken| broken.to_string())?;
        while self.space.rcu().pending() > 0 {
            self.space.rcu().poll(usize::MAX);
        }
        check_alive(&self.alive, self.space.lock().len())
    }
}

impl<C: SharedConfig> fmt::Debug for SharedSubject<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.space.lock().fmt(f)
    }
}
