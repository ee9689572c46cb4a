//! Whole spaces under the recorded operations of programs.

use std::hint::black_box;
use std::time::Instant;

use furlong::addr::{Address, VirtAddr};
use furlong::vmspace::{Access, Layout, Prot, Request as Mapping};
use furlong_spec::Random;
use furlong_spec::maple::Metered;
use furlong_spec::vmspace::trace::{
    AddressSpace, Class, Report, Step, Watch, replay, replay_keeping,
};

use super::calls::calls;
use super::driver::{Score, same};
use super::layout::{PAGE, PAGES_MAX};
use super::ledger::{Counting, Ledger, Noted, note_work};
use super::rcu::settle;
use super::shape::{Kind, Shape};
use super::trace;
use super::work::Work;
use furlong_lab::hash::digest;
use furlong_lab::model::{Failure, Outcome, Request};

/// Operations between two clock readings.
const BATCH: u64 = 256;

/// Start of the heap.
const HEAP: u64 = 0x5555_5600_0000;

/// Times one sample.
pub(super) fn time<S: Counting>(request: &Request) -> Result<Outcome, Failure> {
    let shape = Shape::of(&request.workload)?;
    let score = match shape.kind {
        Kind::Build => build::<S>(request),
        Kind::Calls(class) => calls::<S>(class, request),
        Kind::Faults => faults::<S>(request),
        _ => heap::<S>(shape.areas, request),
    };
    score?.outcome(false)
}

/// Counts the events of one sample.
pub(super) fn count<S: Counting>(request: &Request) -> Result<Outcome, Failure> {
    let shape = Shape::of(&request.workload)?;
    let score = match shape.kind {
        Kind::Build => build::<Noted<S>>(request).map(noted),
        Kind::Calls(class) => {
            let score = calls::<Noted<S>>(class, request).map(noted);
            note_work(true);
            score
        }
        Kind::Faults => faults::<S>(request),
        _ => heap::<S>(shape.areas, request),
    };
    score?.outcome(true)
}

/// Completes a score with the recorded work of the spaces.
fn noted(score: Score) -> Score {
    let Ledger { work, bytes, areas } = Ledger::take();
    Score {
        work,
        bytes: (bytes, areas),
        ..score
    }
}

/// Observes nothing.
struct Blind;

impl Watch for Blind {
    #[inline(always)]
    fn carry_out<T>(&mut self, _: Class, run: impl FnOnce() -> T) -> T {
        run()
    }

    fn asks_choice(&self) -> bool {
        false
    }
}

/// Digest of a replay's answers.
pub(super) fn of_report(report: &Report) -> u64 {
    let counts = report.carried_out.values().copied();
    let lines = report.mismatches.iter().map(|one| u64::from(one.line));
    let areas = [report.areas_max as u64];
    digest(0, counts.chain(lines).chain(areas))
}

/// Replays the recorded build repeatedly. An operation is a step of it.
fn build<S: AddressSpace>(request: &Request) -> Result<Score, Failure> {
    let script = trace::script(&request.workload)?;
    // The first replay is not timed.
    let mut score = Score {
        digest: of_report(&replay::<S>(&script, &mut Blind)),
        ..Score::default()
    };
    Ledger::take();
    while score.operations < request.operations {
        let begin = Instant::now();
        let report = replay::<S>(black_box(&script), &mut Blind);
        score.timed += begin.elapsed();
        score.operations += script.steps.len() as u64;
        same("the answers of a replay", of_report(&report), score.digest)?;
    }
    Ok(score)
}

/// Total counts of spaces.
fn work<S: Counting>(spaces: &[S]) -> Work {
    let works = spaces.iter().map(Counting::work);
    works.fold(Work::default(), |all, work| all + work)
}

/// Bytes and areas of spaces, which must be the only ones.
fn bytes<S: Counting>(spaces: &[S]) -> (u64, u64) {
    settle();
    let own: u64 = spaces.iter().map(Counting::bytes).sum();
    let areas = spaces.iter().map(|space| space.areas() as u64);
    (own + Metered::bytes(), areas.sum())
}

/// A fault in one of several spaces.
#[derive(Clone, Copy)]
struct Fault {
    space: u32,
    access: Access,
    address: VirtAddr,
}

/// The recorded faults, in order, in the spaces' final states. Faults in areas that are unmapped by
/// then are left out. An operation is a fault.
fn faults<S: Counting>(request: &Request) -> Result<Score, Failure> {
    let mut script = trace::script(&request.workload)?;
    script.steps.retain(|stepped| stepped.step != Step::End);
    let (_, spaces) = replay_keeping::<S>(&script, &mut Blind);
    let mut spaces: Vec<S> = spaces.into_iter().flatten().collect();
    let faults = script
        .steps
        .iter()
        .filter_map(|stepped| match stepped.step {
            Step::Fault(address, access) => Some(Fault {
                space: stepped.space as u32,
                access,
                address,
            }),
            _ => None,
        });
    let mut faults: Vec<Fault> = faults.collect();
    drop(script);
    faults.retain(|fault| serve(&mut spaces, fault));
    let mut score = Score::default();
    let before = work(&spaces);
    while score.operations < request.operations {
        let queries = black_box(faults.as_slice());
        let begin = Instant::now();
        let served = queries.iter().filter(|fault| serve(&mut spaces, fault));
        let served = served.count();
        score.timed += begin.elapsed();
        score.operations += faults.len() as u64;
        same(
            "faults that find their area",
            served as u64,
            faults.len() as u64,
        )?;
    }
    score.work = work(&spaces) - before;
    score.bytes = bytes(&spaces);
    score.digest = digest(faults.len() as u64, [score.bytes.1]);
    Ok(score)
}

#[inline]
fn serve<S: AddressSpace>(spaces: &mut [S], fault: &Fault) -> bool {
    let space = &mut spaces[fault.space as usize];
    space.fault(fault.address, fault.access).is_ok()
}

/// A mapping without a requested address.
fn mapping(pages: u64, random: &mut Random) -> Mapping<u32> {
    let prot = [
        Prot::READ,
        Prot::READ | Prot::WRITE,
        Prot::READ | Prot::EXEC,
    ][random.index(3)];
    // Distinct numbers, so that no two areas merge.
    Mapping::object(pages * PAGE, prot, 0, random.next() as u32)
}

/// Moves the break of a process with some areas up and down again: an operation is both.
fn heap<S: Counting>(areas: usize, request: &Request) -> Result<Score, Failure> {
    let mut random = Random::new(request.seed);
    let mut space = S::new(&Layout::LINUX_X86_64);
    for _ in 0..areas {
        let pages = 1 + random.below(PAGES_MAX);
        let mapped = space.map(&mapping(pages, &mut random));
        mapped.map_err(|errno| Failure(format!("a mapping is refused: {errno:?}")))?;
    }
    let start = VirtAddr::new(HEAP);
    space.start_brk(start);
    // The heap keeps one page throughout.
    let low = space.brk(VirtAddr::new(HEAP + PAGE));
    let mut spaces = [space];
    let before = work(&spaces);
    let mut score = Score::default();
    let mut ends = Vec::with_capacity(BATCH as usize);
    while score.operations < request.operations.max(1) {
        let now = BATCH.min(request.operations.max(1) - score.operations);
        ends.clear();
        ends.extend((0..now).map(|_| {
            let pages = 1 + random.below(PAGES_MAX);
            VirtAddr::new(low.raw() + pages * PAGE)
        }));
        let [space] = &mut spaces;
        let queries = black_box(ends.as_slice());
        let begin = Instant::now();
        let moved = queries.iter().filter(|end| {
            let high = space.brk(**end);
            high == **end && space.brk(low) == low
        });
        let moved = moved.count() as u64;
        score.timed += begin.elapsed();
        score.operations += now;
        same("breaks that moved", moved, now)?;
    }
    score.work = work(&spaces) - before;
    score.bytes = bytes(&spaces);
    score.digest = digest(score.operations, [score.bytes.1]);
    Ok(score)
}
