//! A script, run through one arm. Changes are timed one by one. Successive lookups are timed
//! together, repeated until there are enough, and the minimum of three times counts. Every answer
//! is compared with the script's.

use std::fmt::Debug;
use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

use furlong::addr::{Address, Extent, Pfn};
use furlong::phys::{
    Custom, Descriptor, Lookup, Node, Plug, PlugError, SegmentId, SegmentTable, Segments,
    StartError, UnplugError,
};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;
use furlong_spec::phys::{Name, Refusal};

use super::script::{Look, Script, Step};
use crate::replay::outcome::{Count, Kind, SubjectOutcome};

/// A descriptor that stores its frame, exact up to 16 TiB; frames that differ by a multiple of that
/// are not distinguished.
#[derive(Debug)]
struct Page(u32);

/// Bytes of a descriptor.
pub(super) const PAGE_BYTES: u64 = size_of::<Page>() as u64;

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        Self(frame.raw() as u32)
    }
}

type Table<L> = SegmentTable<Page, Custom<L>, 32>;
type Writer<'a, L> = Segments<'a, Page, Custom<L>, 32>;

/// Minimum number of timed lookups; successive ones are repeated until then.
const LOOKS_TIMED: usize = 4096;
/// Number of times that they are timed.
const TIMES: usize = 3;

/// Reason why a subject stops.
enum End {
    /// It cannot do what the script requires, and reports that.
    NotApplicable(String),
    /// A change was answered wrongly, so all later answers would be wrong.
    Wrong,
}

/// Timed operations of one kind.
#[derive(Default)]
struct Timed {
    operations: u64,
    time: Duration,
}

impl Timed {
    fn add(&mut self, since: Instant) {
        self.time += since.elapsed();
        self.operations += 1;
    }

    /// Times successive lookups several times and keeps the minimum: the others were interrupted.
    fn add_least(&mut self, looks: &[Look], look: impl Fn(&Look) -> bool) {
        let batches = LOOKS_TIMED.div_ceil(looks.len());
        let times = (0..TIMES).map(|_| {
            let begun = Instant::now();
            for one in (0..batches).flat_map(|_| black_box(looks)) {
                black_box(look(one));
            }
            begun.elapsed()
        });
        self.time += times.min().unwrap_or_default();
        self.operations += (batches * looks.len()) as u64;
    }

    fn kind(&self, name: &'static str, operations: u64) -> Kind {
        let mean = || self.time.as_nanos() as f64 / self.operations as f64;
        Kind {
            name,
            operations,
            time_ns_per_op: (self.operations > 0).then(mean),
        }
    }
}

/// Results so far.
#[derive(Default)]
struct Driver {
    /// Handles by name of segment.
    names: Vec<SegmentId>,
    plug: Timed,
    start: Timed,
    unplug: Timed,
    find: Timed,
    page: Timed,
    probes_find: u64,
    probes_page: u64,
    index_bytes: usize,
    answers: u64,
    wrong: u64,
    first_wrong: Option<String>,
}

/// Runs a script.
pub(super) fn run<L: Lookup>(script: &Script) -> SubjectOutcome {
    let table = Table::<L>::with_config(SpinLock::new(), Domain::new());
    let mut segments = table.lock();
    segments.grow_on_heap();
    let mut driver = Driver::default();
    for step in &script.steps {
        match driver.step(&mut segments, script, step) {
            Ok(()) => driver.index_bytes = driver.index_bytes.max(segments.index_bytes()),
            Err(End::Wrong) => break,
            Err(End::NotApplicable(why)) => {
                return SubjectOutcome {
                    na: Some(format!("{why}, and the trace asks for `{step}`")),
                    ..SubjectOutcome::default()
                };
            }
        }
    }
    driver.outcome(script)
}

impl Driver {
    fn step<L: Lookup>(
        &mut self,
        segments: &mut Writer<'_, L>,
        script: &Script,
        step: &Step,
    ) -> Result<(), End> {
        match step {
            Step::Plug {
                frames,
                node,
                expected,
            } => {
                let plug = Plug::new(*frames).node(Node(*node));
                let begun = Instant::now();
                let plugged = segments.plug(plug);
                self.plug.add(begun);
                let plugged = self.plugged(plugged, expected)?;
                self.change(step, &plugged, expected)
            }
            Step::Unplug { frames, expected } => {
                let begun = Instant::now();
                let unplugged = segments.unplug(*frames);
                self.unplug.add(begun);
                let unplugged = self.unplugged(segments, *frames, unplugged, expected)?;
                self.change(step, &unplugged, expected)
            }
            Step::Start => {
                let begun = Instant::now();
                let started = segments.start();
                self.start.add(begun);
                match started {
                    Ok(_) => Ok(()),
                    Err(StartError::Full(room)) => Err(full(room)),
                    Err(error) => Err(End::NotApplicable(error.to_string())),
                }
            }
            Step::Look(looks) => {
                self.look(segments, script, looks);
                Ok(())
            }
        }
    }

    /// Compares a change's answer with the expected one.
    fn change<T: PartialEq + Debug>(
        &mut self,
        step: &Step,
        found: &Result<T, Refusal>,
        expected: &Result<T, Refusal>,
    ) -> Result<(), End> {
        self.answers += 1;
        if found == expected {
            return Ok(());
        }
        self.miss(|| {
            format!("`{step}` returned {found:?}, the specification expects {expected:?}")
        });
        Err(End::Wrong)
    }

    fn miss(&mut self, what: impl FnOnce() -> String) {
        self.wrong += 1;
        self.first_wrong.get_or_insert_with(what);
    }

    fn name(&self, id: SegmentId) -> Name {
        let name = self.names.iter().rposition(|named| *named == id);
        // No segment has this name.
        name.unwrap_or(Name::MAX)
    }

    fn plugged(
        &mut self,
        plugged: Result<SegmentId, PlugError>,
        expected: &Result<Name, Refusal>,
    ) -> Result<Result<Name, Refusal>, End> {
        Ok(match plugged {
            Ok(id) => {
                self.names.push(id);
                Ok(self.names.len() - 1)
            }
            Err(PlugError::Beyond(_)) => Err(Refusal::Beyond),
            Err(PlugError::Overlap(id)) => Err(Refusal::Overlap(self.name(id))),
            Err(PlugError::Full(room)) if expected.is_ok() => return Err(full(room)),
            Err(PlugError::NoMemory) if expected.is_ok() => return Err(no_memory()),
            Err(_) => Err(Refusal::NoMemory),
        })
    }

    fn unplugged<L: Lookup>(
        &mut self,
        segments: &Writer<'_, L>,
        frames: Extent<Pfn>,
        unplugged: Result<(), UnplugError>,
        expected: &Result<Option<Name>, Refusal>,
    ) -> Result<Result<Option<Name>, Refusal>, End> {
        Ok(match unplugged {
            Ok(()) => Ok(self.split_at(segments, frames)),
            Err(UnplugError::Unknown(frame)) => Err(Refusal::Unknown(frame.raw())),
            Err(UnplugError::Crosses(id)) => Err(Refusal::Crosses(self.name(id))),
            Err(UnplugError::LastSegment) => Err(Refusal::LastSegment),
            Err(UnplugError::Full(room)) if expected.is_ok() => return Err(full(room)),
            Err(UnplugError::NoMemory) if expected.is_ok() => return Err(no_memory()),
            Err(_) => Err(Refusal::NoMemory),
        })
    }

    /// Returns the name of the segment above the unplugged frames, if the unplug has split it off.
    fn split_at<L: Lookup>(
        &mut self,
        segments: &Writer<'_, L>,
        frames: Extent<Pfn>,
    ) -> Option<Name> {
        let above = frames.last().raw().checked_add(1)?;
        let (id, _) = segments.find(Pfn::new(above))?;
        if self.names.contains(&id) {
            return None;
        }
        self.names.push(id);
        Some(self.names.len() - 1)
    }

    fn look<L: Lookup>(&mut self, segments: &Writer<'_, L>, script: &Script, looks: &Range<usize>) {
        let looks = &script.looks[looks.clone()];
        let view = segments.view();
        for look in looks {
            self.compare(segments, look);
            self.probes_find += view.probes_of_find(Pfn::new(look.0));
        }
        self.find
            .add_least(looks, |look| view.find(Pfn::new(look.0)).is_some());
        self.page
            .add_least(looks, |look| view.page_of(Pfn::new(look.0)).is_some());
    }

    fn compare<L: Lookup>(&mut self, segments: &Writer<'_, L>, (frame, expected): &Look) {
        let view = segments.view();
        let pfn = Pfn::new(*frame);
        self.answers += 2;
        let wanted = expected.map(|(name, offset)| (self.names.get(name).copied(), offset));
        let found = view.find(pfn).map(|(id, offset)| (Some(id), offset));
        if found != wanted {
            self.miss(|| {
                format!("find {pfn} returned {found:?}, the specification expects {wanted:?}")
            });
        }
        let page = view.page_of(pfn);
        let is_right = match (page, expected) {
            (Some(page), Some(_)) => page.0 == *frame as u32,
            (page, expected) => page.is_none() && expected.is_none(),
        };
        if !is_right {
            self.miss(|| {
                format!("page {pfn} returned {page:?}, the specification expects {expected:?}")
            });
        }
        if let Some(address) = frame.checked_shl(12) {
            self.probes_page += view.probes_of_page(furlong::addr::PhysAddr::new(address));
        }
    }

    fn outcome(self, script: &Script) -> SubjectOutcome {
        let of = |is_one: fn(&Step) -> bool| script.count(is_one);
        let looks = script.looks.len() as u64;
        let kinds = vec![
            self.plug
                .kind("plug", of(|step| matches!(step, Step::Plug { .. }))),
            self.start.kind("start", 1),
            self.unplug
                .kind("unplug", of(|step| matches!(step, Step::Unplug { .. }))),
            self.find.kind("find", looks),
            self.page.kind("page", looks),
        ];
        let per_look = |probes: u64| probes as f64 / (looks.max(1)) as f64;
        let count = |name, value| Count { name, value };
        SubjectOutcome {
            kinds,
            counts: vec![
                count("probes_find", per_look(self.probes_find)),
                count("probes_page", per_look(self.probes_page)),
                count("index_bytes", self.index_bytes as f64),
            ],
            answers: self.answers,
            wrong: self.wrong,
            first_wrong: self.first_wrong,
            ..SubjectOutcome::default()
        }
    }
}

fn full(room: usize) -> End {
    End::NotApplicable(format!("at most {room} segments"))
}

fn no_memory() -> End {
    End::NotApplicable("it has too little memory for frames so high or so many".to_owned())
}

#[cfg(test)]
mod tests {
    use furlong::phys::{Direct, Tree};
    use furlong_spec::phys::Refusal;
    use furlong_spec::phys_map::Recording;

    use super::{Look, Script, Step, run};

    #[test]
    fn a_subject_that_answers_otherwise_is_wrong() {
        let recording = include_bytes!("../../../traces/phys/hotplug-chunks.plugs");
        let recording = Recording::parse("f", recording).unwrap();
        let script = || Script::of_recording(&recording);
        let right = run::<Direct>(&script());
        assert_eq!((right.wrong, right.first_wrong), (0, None));
        let mut other = script();
        let (_, expected) = &mut other.looks[0];
        *expected = expected.take().map(|(name, offset)| (name, offset + 1));
        let found = run::<Tree>(&other);
        assert_eq!((found.answers, found.wrong), (right.answers, 1));
        assert!(
            found
                .first_wrong
                .unwrap()
                .starts_with("find 0xff returned Some(")
        );
        let mut other = script();
        let missed = |(_, expected): &&mut Look| expected.is_none();
        let (_, expected) = other.looks.iter_mut().find(missed).unwrap();
        *expected = Some((0, 0));
        assert_eq!(run::<Tree>(&other).wrong, 2, "both find and page");
    }

    #[test]
    fn a_change_that_is_answered_otherwise_ends_the_replay() {
        let recording = b"furlong.plugs/1\nplug 0 8 0\nplug 4 12 0\nfind 9\n";
        let recording = Recording::parse("f", recording).unwrap();
        let mut script = Script::of_recording(&recording);
        let Step::Plug { expected, .. } = &mut script.steps[1] else {
            panic!("{:?}", script.steps);
        };
        assert_eq!(*expected, Err(Refusal::Overlap(0)));
        *expected = Err(Refusal::Beyond);
        let found = run::<Direct>(&script);
        assert_eq!((found.answers, found.wrong), (2, 1));
        let first = found.first_wrong.unwrap();
        assert!(
            first.starts_with("`plug 0x4 0xc` returned Err(Overlap(0))"),
            "{first}"
        );
    }
}
