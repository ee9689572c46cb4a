//! Workers on CPUs. Each has a thread of its own for timing; all take turns on one thread for
//! counting.

use std::hint;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::cpu_binding::CpuBinding;
use furlong_lab::model::Failure;

/// Spins before the CPU is yielded to the other threads.
const LOOKS: u32 = 1000;

/// Runs every worker on this thread, in turn: the same events in the same order each time.
///
/// # Errors
/// The first error of a turn.
pub(crate) fn in_turn<W>(
    workers: &mut [W],
    binding: CpuBinding,
    turns: u64,
    turn: impl Fn(&mut W) -> Result<(), Failure>,
) -> Result<Duration, Failure> {
    let begin = Instant::now();
    for _ in 0..turns {
        for (number, worker) in workers.iter_mut().enumerate() {
            binding.play(number);
            turn(worker)?;
        }
    }
    Ok(begin.elapsed())
}

/// Runs every worker on a thread of its own. Returns the time from the first start to the last end.
/// A single worker runs on this thread.
///
/// # Errors
/// The first error of a turn, which ends all.
pub(crate) fn at_once<W: Send>(
    workers: &mut [W],
    binding: CpuBinding,
    turns: u64,
    turn: impl Fn(&mut W) -> Result<(), Failure> + Sync,
) -> Result<Duration, Failure> {
    if workers.len() == 1 {
        return in_turn(workers, binding, turns, turn);
    }
    let (ready, failure) = (AtomicUsize::new(0), OnceLock::new());
    let all = workers.len();
    let work = |number: usize, worker: &mut W| {
        binding.take(number);
        ready.fetch_add(1, Ordering::SeqCst);
        wait_for(&ready, all);
        let begin = Instant::now();
        for _ in 0..turns {
            if failure.get().is_some() {
                break;
            }
            if let Err(why) = turn(worker) {
                // Only the first error is kept.
                let _ = failure.set(why);
            }
        }
        (begin, Instant::now())
    };
    let work = &work;
    let mut jobs = Vec::<Job<'_>>::with_capacity(all);
    for (number, worker) in workers.iter_mut().enumerate() {
        jobs.push(Box::new(move || work(number, worker)));
    }
    let span = span(jobs);
    match failure.into_inner() {
        Some(why) => Err(why),
        None => span.ok_or_else(|| Failure("there is no CPU".to_owned())),
    }
}

/// Work of a thread, which returns its start and its end. Boxed, so that the code that starts
/// threads is compiled once, and not for every workload.
type Job<'a> = Box<dyn FnOnce() -> (Instant, Instant) + Send + 'a>;

/// Runs every job on a thread of its own. Returns the time from the first start to the last end;
/// `None` without a job.
fn span(jobs: Vec<Job<'_>>) -> Option<Duration> {
    let spans: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = jobs.into_iter().map(|job| scope.spawn(job)).collect();
        let ended = threads.into_iter().map(thread::ScopedJoinHandle::join);
        ended
            .map(|span| span.expect("a worker does not panic"))
            .collect()
    });
    let begin = spans.iter().map(|(begin, _)| *begin).min()?;
    let end = spans.iter().map(|(_, end)| *end).max()?;
    Some(end - begin)
}

fn wait_for(ready: &AtomicUsize, all: usize) {
    let mut looks = 0_u32;
    while ready.load(Ordering::SeqCst) < all {
        looks += 1;
        if looks.is_multiple_of(LOOKS) {
            thread::yield_now();
        } else {
            hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CpuBinding, at_once, in_turn};
    use crate::iova_magazine::cpu;
    use furlong_lab::model::Failure;

    #[test]
    fn every_worker_has_its_turns_on_its_own_cpu() {
        let turn = |seen: &mut Vec<usize>| {
            seen.push(cpu());
            Ok(())
        };
        for number in [1, 3] {
            let mut workers = vec![vec![]; number];
            in_turn(&mut workers, CpuBinding::Own, 2, turn).unwrap();
            at_once(&mut workers, CpuBinding::Own, 5, turn).unwrap();
            for (number, seen) in workers.iter().enumerate() {
                assert_eq!(*seen, [number; 7]);
            }
        }
    }

    #[test]
    fn a_failure_ends_all_of_them() {
        let turn = |left: &mut u64| {
            *left = left.checked_sub(1).ok_or(Failure("spent".to_owned()))?;
            Ok(())
        };
        let mut workers = [u64::MAX, 3, u64::MAX];
        let ended = at_once(&mut workers, CpuBinding::Own, u64::MAX, turn);
        assert_eq!(ended, Err(Failure("spent".to_owned())));
        assert_eq!(
            in_turn(&mut [1_u64], CpuBinding::Own, 2, turn),
            Err(Failure("spent".to_owned()))
        );
    }
}
