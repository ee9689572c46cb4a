//! The running kernel as an oracle. Random calls go to a real process and to the specification, and
//! the results and maps of both are compared after each call.
//!
//! Operations come from [`chosen`], and two of three are aimed at mapped areas, because in a nearly
//! empty arena most others would be refused.
//!
//! # Calls
//! `mmap`: anywhere, with a hint, `MAP_FIXED` and `MAP_FIXED_NOREPLACE`; private and shared;
//! anonymous, `MAP_GROWSDOWN`, and files in memory. Also `munmap`, `mprotect` (with
//! `PROT_GROWSDOWN` and `PROT_GROWSUP`), `madvise` (the four about fork), `mremap` (all flags),
//! `brk` and `fork`. Some arguments are 0, unaligned or overflow.
//!
//! # Comparison
//! The address or the error, and every area in the arena: its extent, its protection, whether it is
//! shared, its file and its offset. See [`maps::expected`] for anonymous memory. After a fork both
//! processes are compared: the one that does not continue keeps its map while the other one
//! changes.
//!
//! # Omissions
//! Calls that would reach out of the arena, into memory that the process needs. Page faults,
//! because merging depends on which pages were touched. The cases of [`calls::Beyond`], which are
//! the differences from Linux that `furlong::vmspace` documents.
#![deny(unsafe_code)]

mod calls;
pub(crate) mod maps;
mod process;

use std::collections::BTreeMap;
use std::fmt;

use furlong::addr::{Address, VirtAddr};
use furlong::vmspace::{Custom, Errno, Flags, Linux, Maple, Rbtree, RemapError, RemapFlags};
use furlong_spec::vmspace::{
    Gone, Mix, Model, Operation, Outcome, Refusal, Seen, SpaceSubject, World, chosen,
};
use furlong_spec::{Random, Subject};

use calls::{Asked, Beyond, Calls};
use maps::Area;
use process::{PAGE, PAGES, Process, Witness};

/// The reason that no comparison is possible here: another processor, or a kernel that does not let
/// a process fill its own addresses.
#[must_use]
pub(crate) fn unable() -> Option<String> {
    if !cfg!(target_arch = "x86_64") {
        return Some("the layout of addresses is that of x86-64".into());
    }
    Process::new().err()
}

/// The arms and the model.
struct Specification {
    model: Model,
    rbtree: SpaceSubject<Custom<Rbtree, Linux>>,
    maple: SpaceSubject<Custom<Maple, Linux>>,
}

impl Specification {
    fn new(world: World) -> Self {
        Self {
            model: Model::new(world, true),
            rbtree: SpaceSubject::new(world.layout()),
            maple: SpaceSubject::new(world.layout()),
        }
    }

    /// The outcome on which all of them agree.
    fn apply(&mut self, operation: &Operation) -> Result<Outcome, String> {
        let expected = self.model.apply(operation);
        let arms = [
            ("rbtree", self.rbtree.apply(operation)),
            ("maple", self.maple.apply(operation)),
        ];
        for (arm, outcome) in arms {
            if sorted(&outcome) != sorted(&expected) {
                return Err(format!("{arm} says {outcome:?}, the model {expected:?}"));
            }
        }
        Ok(expected)
    }
}

/// The same outcome with its pieces in order of address.
fn sorted(outcome: &Outcome) -> Outcome {
    let mut outcome = outcome.clone();
    if let Outcome::At(_, gone) | Outcome::Done(gone) | Outcome::Refused(_, gone) = &mut outcome {
        gone.sort_by_key(|piece: &Gone| piece.extent.start());
    }
    outcome
}

/// The number of times that each call was made, and was refused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    calls: BTreeMap<&'static str, [u64; 2]>,
    /// The number of comparisons of a process that does not continue.
    watched: u64,
    /// The numbers of calls left out, by reason.
    left_out: BTreeMap<Beyond, u64>,
}

impl Tally {
    /// The number of calls of all kinds.
    #[must_use]
    pub(crate) fn calls(&self) -> u64 {
        self.calls.values().map(|count| count[0]).sum()
    }

    /// A call that was never made, never refused or never granted, so that its comparison would be
    /// void.
    pub(crate) fn lacks(&self) -> Option<&'static str> {
        let all = [
            "mmap", "munmap", "mprotect", "madvise", "mremap", "brk", "fork",
        ];
        all.into_iter().find(|call| {
            let [made, refused] = self.calls.get(call).copied().unwrap_or_default();
            made == 0 || refused == made || (refused == 0) != (*call == "fork")
        })
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (call, [made, refused]) in &self.calls {
            write!(f, "{call} {made} ({refused} refused), ")?;
        }
        write!(
            f,
            "none answered differently; {} looks at the map of the other process of a fork; left \
             out {:?}",
            self.watched, self.left_out
        )
    }
}

/// A process, and its expected state.
struct Trial {
    process: Process,
    specification: Specification,
    calls: Calls,
    random: Random,
    tally: Tally,
    /// The process of the last fork that does not continue, its expected map, and the number of
    /// calls for which it is still compared.
    witness: Option<(Witness, Vec<Area>, u32)>,
}

/// Makes `calls` calls.
///
/// # Errors
/// The first call with another result in the kernel, or after which the maps differ.
pub(crate) fn compare(calls: u64, seed: u64) -> Result<Tally, String> {
    let process = Process::new()?;
    let world = World {
        first: process.start / PAGE,
        guard: calls::GUARD,
        is_inner: true,
        ..World::low(PAGES)
    };
    let mut trial = Trial {
        calls: Calls::new(&process),
        random: Random::new(!seed),
        specification: Specification::new(world),
        process,
        tally: Tally::default(),
        witness: None,
    };
    let start = Operation::StartBrk(VirtAddr::new(trial.process.start));
    trial.specification.apply(&start)?;
    // In turn, so that the arena becomes nearly empty and nearly full.
    let mixes = [Mix::Growing, Mix::Steady, Mix::Shrinking];
    for (round, mix) in (0..).zip(mixes.into_iter().cycle()) {
        let random = Random::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(round));
        for (step, operation) in chosen(world, mix, random).take(600).enumerate() {
            if trial.tally.calls() >= calls {
                return Ok(trial.tally);
            }
            let made = trial.make(&operation);
            made.map_err(|wrong| format!("seed {seed}, round {round}, step {step}: {wrong}"))?;
        }
    }
    Ok(trial.tally)
}

impl Trial {
    fn make(&mut self, operation: &Operation) -> Result<(), String> {
        let seen = self.seen()?;
        let brk = match self.specification.model.apply(&Operation::Usage) {
            Outcome::Usage(_, brk) => brk,
            other => return Err(format!("{other:?}")),
        };
        let operation = calls::aimed(operation, &seen, brk, &mut self.random);
        let Some(asked) = self.calls.asked(&operation) else {
            let left_out = self.tally.left_out.entry(Beyond::Arena).or_default();
            *left_out += u64::from(calls::is_call(&operation));
            return Ok(());
        };
        let before = self.expected(&seen);
        if let Some(why) = calls::is_told_apart(&asked.operation, &seen, &before) {
            *self.tally.left_out.entry(why).or_default() += 1;
            return Ok(());
        }
        if let Some(why) = self.would_differ(&asked.operation, &seen) {
            *self.tally.left_out.entry(why).or_default() += 1;
            return Ok(());
        }
        let wrong = |wrong: String| format!("{asked:?}: {wrong}; it was {before:#x?}");
        let (is_refused, placed) = match asked.operation {
            Operation::Fork => (self.fork(asked.goes_on).map_err(wrong)?, None),
            _ => {
                let expected = self.specification.apply(&asked.operation).map_err(wrong)?;
                let answer = self.process.call(asked.words)?;
                let is_refused = answers(&asked, answer, &expected).map_err(wrong)?;
                let placed = match expected {
                    Outcome::At(start, _) => Some(start),
                    _ => None,
                };
                (is_refused, placed)
            }
        };
        let [made, refused] = self.tally.calls.entry(asked.name).or_default();
        *made += 1;
        *refused += u64::from(is_refused);
        let found = self.process.areas()?;
        if let Some(start) = placed {
            self.calls.see(&asked, start.raw(), &found);
        }
        let should = self.areas()?;
        if found != should {
            return Err(wrong(format!("it maps {found:#x?}, not {should:#x?}")));
        }
        self.watch()
    }

    /// The reason if the outcome is one in which the specification differs from Linux.
    fn would_differ(&self, operation: &Operation, seen: &[Seen]) -> Option<Beyond> {
        let ask = || self.specification.model.clone().apply(operation);
        if let Operation::Remap(remap) = operation
            && let Outcome::Refused(refusal, gone) = ask()
        {
            let is_placed = remap.flags.contains(RemapFlags::FIXED);
            let is_old = refusal == Refusal::Remap(RemapError::OldBeyond);
            let is_other = calls::is_mistaken(operation) && errno(refusal) != Errno::Einval;
            let is_late = !gone.is_empty();
            let order = (is_placed && is_old || is_other).then_some(Beyond::Order);
            return order.or(is_late.then_some(Beyond::Late));
        }
        if calls::is_mistaken(operation) {
            return Some(Beyond::Order);
        }
        let len = calls::searched(operation)?;
        let is_growing = |seen: &Seen| seen.flags.contains(Flags::GROWS_DOWN);
        if !seen.iter().any(is_growing) {
            return None;
        }
        match ask() {
            Outcome::At(start, _) => calls::is_in_guard(start, len, seen).then_some(Beyond::Guard),
            _ => None,
        }
    }

    fn seen(&mut self) -> Result<Vec<Seen>, String> {
        match self.specification.apply(&Operation::Areas)? {
            Outcome::Areas(areas) => Ok(areas),
            other => Err(format!("{other:?}")),
        }
    }

    /// The areas that the kernel should have mapped.
    fn areas(&mut self) -> Result<Vec<Area>, String> {
        let seen = self.seen()?;
        Ok(self.expected(&seen))
    }

    fn expected(&self, seen: &[Seen]) -> Vec<Area> {
        maps::expected(seen, |object| self.calls.inode(object))
    }

    /// Forks; the specification continues as one of the two processes. Returns false, because a
    /// fork is never refused.
    fn fork(&mut self, is_child_to_go_on: bool) -> Result<bool, String> {
        self.dismiss()?;
        let kept = if is_child_to_go_on {
            let parent = self.areas()?;
            self.specification.apply(&Operation::Fork)?;
            parent
        } else {
            match self.specification.model.clone().apply(&Operation::Fork) {
                Outcome::Areas(child) => self.expected(&child),
                other => return Err(format!("{other:?}")),
            }
        };
        let witness = self.process.fork(is_child_to_go_on)?;
        self.witness = Some((witness, kept, 12));
        Ok(false)
    }

    /// Compares the map of the process that does not continue.
    fn watch(&mut self) -> Result<(), String> {
        let Some((witness, kept, rest)) = &mut self.witness else {
            return Ok(());
        };
        let found = self.process.areas_of(witness)?;
        self.tally.watched += 1;
        if found != *kept {
            return Err(format!(
                "the other process maps {found:#x?}, not {kept:#x?}"
            ));
        }
        *rest -= 1;
        if *rest == 0 { self.dismiss() } else { Ok(()) }
    }

    fn dismiss(&mut self) -> Result<(), String> {
        match self.witness.take() {
            Some((witness, ..)) => self.process.dismiss(&witness),
            None => Ok(()),
        }
    }
}

/// Checks the kernel's result against the expected outcome. Returns true if the call was refused.
fn answers(asked: &Asked, answer: i64, expected: &Outcome) -> Result<bool, String> {
    let is_brk = matches!(asked.operation, Operation::Brk(_));
    let (is_right, is_refused) = match expected {
        Outcome::At(start, _) => (answer as u64 == start.raw(), false),
        // `brk` returns the end of the heap, whatever was requested.
        Outcome::Done(_) if is_brk => (answer == asked.words[1], false),
        Outcome::Refused(..) if is_brk => (answer != asked.words[1], true),
        Outcome::Done(_) => (answer == 0, false),
        Outcome::Refused(refusal, _) => (answer == -i64::from(errno(*refusal).number()), true),
        _ => (false, false),
    };
    if is_right {
        return Ok(is_refused);
    }
    Err(format!(
        "the kernel answers {answer:#x} ({answer}), expected is {expected:x?}"
    ))
}

fn errno(refusal: Refusal) -> Errno {
    match refusal {
        Refusal::Map(error) => error.errno(),
        Refusal::Unmap(error) => error.errno(),
        Refusal::Protect(error) => error.errno(),
        Refusal::Advise(error) => error.errno(),
        Refusal::Update(error) => error.errno(),
        Refusal::Remap(error) => error.errno(),
        Refusal::Brk(error) => error.errno(),
        Refusal::Fault(error) => error.errno(),
    }
}
