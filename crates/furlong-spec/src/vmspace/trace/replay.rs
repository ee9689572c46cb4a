//! The replay of a script.

use std::collections::BTreeMap;
use std::fmt;

use furlong::addr::{Address, VirtAddr};
use furlong::vmspace::{Access, At, Errno, Remap, RemapFlags, Request};

use super::script::is_chosen;
use super::{AddressSpace, Answer, Kind, Mismatch, Report, Script, Step, Stepped};

/// All classes with their names, in order.
const CLASSES: [(Class, &str); 11] = [
    (Class::New, "new"),
    (Class::End, "end"),
    (Class::Fork, "fork"),
    (Class::Image, "image"),
    (Class::Map, "map"),
    (Class::MapFixed, "map-fixed"),
    (Class::Unmap, "unmap"),
    (Class::Protect, "protect"),
    (Class::Remap, "remap"),
    (Class::Brk, "brk"),
    (Class::Fault, "fault"),
];

/// The class of an operation, for measurements by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A new space.
    New,
    /// The end of a space.
    End,
    /// A fork.
    Fork,
    /// A part of an image.
    Image,
    /// A mapping at a place that the kernel chose.
    Map,
    /// A mapping at a fixed place.
    MapFixed,
    /// An unmap.
    Unmap,
    /// A change of protection.
    Protect,
    /// A move or resize.
    Remap,
    /// A change of the heap's end.
    Brk,
    /// A page fault.
    Fault,
}

impl Class {
    /// Name of the class.
    #[must_use]
    pub const fn name(self) -> &'static str {
        CLASSES[self as usize].1
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An observer that runs each operation of the subject, and nothing else of the replay. It can time
/// and count them.
pub trait Watch {
    /// Runs an operation.
    fn carry_out<T>(&mut self, class: Class, operation: impl FnOnce() -> T) -> T;

    /// True if the replay also calls [`AddressSpace::choice`], outside of the observed operations.
    fn asks_choice(&self) -> bool {
        true
    }
}

/// An observer that does nothing more.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn carry_out<T>(&mut self, _class: Class, operation: impl FnOnce() -> T) -> T {
        operation()
    }
}

/// Replays a script and compares every result with the kernel's.
pub fn replay<S: AddressSpace>(script: &Script, watch: &mut impl Watch) -> Report {
    replay_keeping::<S>(script, watch).0
}

/// Replays a script. Returns also the spaces that it does not end, by number.
pub fn replay_keeping<S: AddressSpace>(
    script: &Script,
    watch: &mut impl Watch,
) -> (Report, Vec<Option<S>>) {
    let mut stage = Stage {
        spaces: (0..script.spaces).map(|_| None::<S>).collect(),
        report: Report::default(),
        carried_out: [0; CLASSES.len()],
        watch,
    };
    for stepped in &script.steps {
        stage.step(stepped);
    }
    let Stage {
        spaces,
        mut report,
        carried_out,
        ..
    } = stage;
    report.carried_out = by_class(carried_out);
    (report, spaces)
}

/// The classes that occurred, with their counts. It is compiled once, the replay for each subject.
fn by_class(counts: [u64; CLASSES.len()]) -> BTreeMap<Class, u64> {
    let classes = CLASSES.into_iter().map(|(class, _)| class);
    classes
        .zip(counts)
        .filter(|(_, count)| *count > 0)
        .collect()
}

struct Stage<'a, S, W> {
    spaces: Vec<Option<S>>,
    report: Report,
    /// Counts by class.
    carried_out: [u64; CLASSES.len()],
    watch: &'a mut W,
}

fn answer(result: Result<VirtAddr, Errno>) -> Answer {
    let number = result.map_err(Errno::number);
    number.map(Address::raw)
}

fn nothing(result: Result<(), Errno>) -> Answer {
    result.map(|()| 0).map_err(Errno::number)
}

impl<S: AddressSpace, W: Watch> Stage<'_, S, W> {
    /// Carries out an operation on a space.
    fn on<T>(&mut self, at: &Stepped, class: Class, operation: impl FnOnce(&mut S) -> T) -> T {
        self.carried_out[class as usize] += 1;
        let space = self.spaces[at.space].as_mut();
        let space = space.expect("a script begins every space before it is used");
        self.watch.carry_out(class, || operation(space))
    }

    /// Counts a comparison, and records its difference from the kernel, if there is one.
    fn note(&mut self, at: &Stepped, class: Class, differs: Option<Kind>) {
        let line = at.line;
        self.report.compared += 1;
        if let Some(kind) = differs {
            self.report.mismatches.push(Mismatch { line, class, kind });
        }
    }

    fn compare(&mut self, at: &Stepped, class: Class, expected: Answer, found: Answer) {
        let differs = expected != found;
        let kind = differs.then_some(Kind::Answer { expected, found });
        self.note(at, class, kind);
    }

    fn step(&mut self, at: &Stepped) {
        match &at.step {
            Step::New(layout) => {
                self.carried_out[Class::New as usize] += 1;
                let space = self.watch.carry_out(Class::New, || S::new(layout));
                self.spaces[at.space] = Some(space);
            }
            Step::Fork { child } => {
                let space = self.on(at, Class::Fork, |space| space.fork());
                self.spaces[*child] = Some(space);
            }
            Step::End => self.end(at),
            Step::Image(request) => {
                let found = answer(self.on(at, Class::Image, |space| space.map(request)));
                if let At::Fixed(start) = request.at {
                    self.compare(at, Class::Image, Ok(start.raw()), found);
                }
            }
            Step::Map { request, answer } if is_chosen(request) => {
                self.map_chosen(at, request, *answer);
            }
            Step::Map {
                request,
                answer: expected,
            } => {
                let found = answer(self.on(at, Class::MapFixed, |space| space.map(request)));
                self.compare(at, Class::MapFixed, *expected, found);
            }
            Step::Unmap(start, len, expected) => {
                let found = self.on(at, Class::Unmap, |space| space.unmap(*start, *len));
                self.compare(at, Class::Unmap, *expected, nothing(found));
            }
            Step::Protect(start, len, prot, expected) => {
                let done = self.on(at, Class::Protect, |space| {
                    space.protect(*start, *len, *prot)
                });
                self.compare(at, Class::Protect, *expected, nothing(done));
            }
            Step::Remap(remap, expected) => self.remap(at, remap, *expected),
            Step::StartBrk(start) => self.on(at, Class::Brk, |space| space.start_brk(*start)),
            Step::Brk(end, expected) => {
                let found = self.on(at, Class::Brk, |space| space.brk(*end));
                self.compare(at, Class::Brk, *expected, Ok(found.raw()));
            }
            Step::UnknownHeap => self.note(at, Class::Brk, Some(Kind::UnknownHeap)),
            Step::Fault(address, access) => self.fault(at, *address, *access),
            Step::Moved(start, len) => {
                let moved = self.on(at, Class::Image, |space| space.unmap(*start, *len));
                self.compare(at, Class::Image, Ok(0), nothing(moved));
            }
            Step::Grown(start) => {
                let grow = |space: &mut S| space.fault(*start, Access::Write);
                let refused = self.on(at, Class::Image, grow).err();
                let kind = refused.map(|error| Kind::Fault(*start, error));
                self.note(at, Class::Image, kind);
            }
        }
    }

    fn end(&mut self, at: &Stepped) {
        let space = self.spaces[at.space].take();
        let areas = space.as_ref().map_or(0, AddressSpace::areas);
        self.report.areas_max = self.report.areas_max.max(areas);
        self.carried_out[Class::End as usize] += 1;
        self.watch.carry_out(Class::End, || drop(space));
    }

    fn fault(&mut self, at: &Stepped, address: VirtAddr, access: Access) {
        let found = self.on(at, Class::Fault, |space| space.fault(address, access));
        let kind = found.err().map(|error| Kind::Fault(address, error));
        self.note(at, Class::Fault, kind);
    }

    /// Maps at the place that the kernel chose. The place has to be free; otherwise the mapping
    /// replaces its contents.
    fn map_chosen(&mut self, at: &Stepped, request: &Request<u32>, expected: Answer) {
        let Ok(start) = expected.map(VirtAddr::new) else {
            let found = answer(self.on(at, Class::Map, |space| space.map(request)));
            self.compare(at, Class::Map, expected, found);
            if let Ok(start) = found {
                let undo = |space: &mut S| space.unmap(VirtAddr::new(start), request.len);
                // Undone to match the kernel. The result of this unmap is not compared.
                let _ = self.on(at, Class::Unmap, undo);
            }
            return;
        };
        if self.watch.asks_choice() {
            let space = self.spaces[at.space].as_ref();
            let choice = space.and_then(|space| space.choice(request));
            self.report.choices.0 += 1;
            self.report.choices.1 += u64::from(choice == Some(start));
        }
        let vacant = request.clone().at(At::Vacant(start));
        let found = self.on(at, Class::Map, |space| space.map(&vacant));
        let kind = found.err().map(|errno| Kind::Place(start, errno.number()));
        self.note(at, Class::Map, kind);
        if kind.is_some() {
            let fixed = request.clone().at(At::Fixed(start));
            let found = answer(self.on(at, Class::Map, |space| space.map(&fixed)));
            self.compare(at, Class::Map, expected, found);
        }
    }

    /// Remaps. A move is directed to the place that the kernel chose.
    fn remap(&mut self, at: &Stepped, remap: &Remap, expected: Answer) {
        let moved = expected.ok().map(VirtAddr::new);
        let moved = moved.filter(|start| *start != remap.start);
        let is_fixed = remap.flags.contains(RemapFlags::FIXED);
        let imposed = match moved {
            Some(new_start) if !is_fixed => Remap {
                flags: remap.flags | RemapFlags::FIXED,
                new_start,
                ..*remap
            },
            _ => *remap,
        };
        let found = answer(self.on(at, Class::Remap, |space| space.remap(&imposed)));
        self.compare(at, Class::Remap, expected, found);
    }
}
