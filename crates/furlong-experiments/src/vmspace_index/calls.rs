//! The calls of one kind, timed during the replay of a recording.
//!
//! The whole recording is replayed, so spaces, caches and retired nodes are in the recorded state
//! when a call comes. The clock runs from the first of successive calls of the kind to the next
//! operation of another kind. Clock readings take about as long as a call, and so does the replay's
//! own work around it. Both are measured by the same replay on a space that does nothing, and
//! subtracted.

use std::hint::black_box;
use std::time::{Duration, Instant};

use furlong::addr::VirtAddr;
use furlong::vmspace::{Access, At, Errno, FaultError, Layout, Prot, Remap, RemapFlags, Request};
use furlong_spec::vmspace::trace::{AddressSpace, Class, Script, Watch, replay};

use super::driver::{Score, same};
use super::ledger::{Ledger, note_work};
use super::spaces::of_report;
use super::trace;
use furlong_lab::model::Failure;

/// Replays on a space that does nothing. The minimum counts, because the others were interrupted.
const EMPTY_REPLAYS: u32 = 3;

/// Runs the clock only during operations of one kind.
struct Only {
    class: Class,
    /// Start of the current series of them.
    since: Option<Instant>,
    timed: Duration,
    calls: u64,
}

impl Only {
    fn new(class: Class) -> Self {
        Self {
            class,
            since: None,
            timed: Duration::ZERO,
            calls: 0,
        }
    }

    #[inline(always)]
    fn stop(&mut self) {
        if let Some(since) = self.since.take() {
            self.timed += since.elapsed();
            note_work(false);
        }
    }
}

impl Watch for Only {
    #[inline(always)]
    fn carry_out<T>(&mut self, class: Class, operation: impl FnOnce() -> T) -> T {
        if class != self.class {
            self.stop();
            return operation();
        }
        self.calls += 1;
        if self.since.is_none() {
            note_work(true);
            self.since = Some(Instant::now());
        }
        operation()
    }

    fn asks_choice(&self) -> bool {
        false
    }
}

/// Replays a script once. Returns the time of the calls with the work around them, their number,
/// and a digest of the answers.
fn once<S: AddressSpace>(script: &Script, class: Class) -> (Duration, u64, u64) {
    let mut only = Only::new(class);
    note_work(false);
    let report = replay::<S>(black_box(script), &mut only);
    only.stop();
    (only.timed, only.calls, of_report(&report))
}

/// Replays the calls of a kind in a recording repeatedly, at most `replays` times if the workload
/// sets that. An operation is a call.
pub(super) fn calls<S: AddressSpace>(
    class: Class,
    request: &furlong_lab::model::Request,
) -> Result<Score, Failure> {
    let script = trace::script(&request.workload)?;
    // The first replay is not timed.
    let (_, calls, digest) = once::<S>(&script, class);
    if calls == 0 {
        let class = class.name();
        return Err(Failure(format!("the recording has no {class}")));
    }
    let around = (0..EMPTY_REPLAYS).map(|_| once::<Nothing>(&script, class).0);
    let around = around.min().unwrap_or_default();
    let mut score = Score {
        digest,
        ..Score::default()
    };
    Ledger::take();
    let replays_max = request.workload.params.get("replays").copied();
    for _ in 0..replays_max.unwrap_or(u64::MAX) {
        if score.operations >= request.operations {
            break;
        }
        let begin = Instant::now();
        let (timed, calls, answers) = once::<S>(&script, class);
        let timed = timed.saturating_sub(around);
        score.timed += timed;
        score.between += begin.elapsed() - timed;
        score.operations += calls;
        same("the answers of a replay", answers, digest)?;
    }
    Ok(score)
}

/// A space that accepts everything and does nothing.
struct Nothing;

impl AddressSpace for Nothing {
    fn new(_: &Layout) -> Self {
        Self
    }

    fn fork(&self) -> Self {
        Self
    }

    fn map(&mut self, request: &Request<u32>) -> Result<VirtAddr, Errno> {
        Ok(match request.at {
            At::Fixed(start) | At::Vacant(start) => start,
            At::Anywhere | At::Hint(_) => VirtAddr::new(0),
        })
    }

    fn unmap(&mut self, _: VirtAddr, _: u64) -> Result<(), Errno> {
        Ok(())
    }

    fn protect(&mut self, _: VirtAddr, _: u64, _: Prot) -> Result<(), Errno> {
        Ok(())
    }

    fn remap(&mut self, remap: &Remap) -> Result<VirtAddr, Errno> {
        let moves = remap.flags.contains(RemapFlags::FIXED);
        Ok(if moves { remap.new_start } else { remap.start })
    }

    fn start_brk(&mut self, _: VirtAddr) {}

    fn brk(&mut self, end: VirtAddr) -> VirtAddr {
        end
    }

    fn fault(&mut self, _: VirtAddr, _: Access) -> Result<(), FaultError> {
        Ok(())
    }

    fn areas(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use furlong_spec::vmspace::trace::{Class, Watch};

    use super::Only;

    #[test]
    fn the_clock_runs_from_the_first_call_of_the_kind_to_the_next_of_another() {
        let mut only = Only::new(Class::Map);
        only.carry_out(Class::Fault, || ());
        assert!(only.since.is_none());
        only.carry_out(Class::Map, || ());
        let since = only.since;
        only.carry_out(Class::Map, || ());
        assert!(since.is_some() && only.since == since);
        only.carry_out(Class::Brk, || ());
        assert!(only.since.is_none() && only.calls == 2);
    }
}
