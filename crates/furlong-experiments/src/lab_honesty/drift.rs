//! Varying background load: a randomly drifting share of every processor's time.

use std::hint::spin_loop;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use furlong_stats::random::Random;

/// Length of a period, of which the share is busy. Shorter than a measured run, so that no run fits
/// between two busy parts.
const TURN: Duration = Duration::from_millis(4);

/// Factor by which the level decays per period: it halves in 0.14 s.
const MEMORY: f64 = 0.98;

/// Maximum of the share.
const SHARE_MAX: f64 = 0.9;

/// The drifting share, from 0 to [`SHARE_MAX`].
struct Share {
    /// Has mean 0 and variance 1.
    level: f64,
    random: Random,
}

impl Share {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self {
            level: random.normal(),
            random,
        }
    }

    fn next(&mut self) -> f64 {
        let news = (1.0 - MEMORY * MEMORY).sqrt();
        self.level = MEMORY * self.level + news * self.random.normal();
        (0.4 + 0.25 * self.level).clamp(0.0, SHARE_MAX)
    }
}

/// The background load; it ends when this is dropped.
pub(super) struct Drift {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Drift {
    /// Starts the load, with the same load for the same seed on every processor of this process.
    /// Each thread is pinned to its processor: unpinned threads would move away, and the measured
    /// program would never meet them.
    pub(super) fn begin(seed: u64) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let allowed = sched_getaffinity(None)?;
        let processors = (0..CpuSet::MAX_CPU).filter(|&processor| allowed.is_set(processor));
        let threads = processors.map(|processor| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                let mut here = CpuSet::new();
                here.set(processor);
                // A processor that was taken away meanwhile needs no load.
                if sched_setaffinity(None, &here).is_ok() {
                    work(&mut Share::new(seed), &stop);
                }
            })
        });
        Ok(Self {
            threads: threads.collect(),
            stop,
        })
    }
}

fn work(share: &mut Share, stop: &AtomicBool) {
    // Relaxed: the flag publishes no other data.
    while !stop.load(Ordering::Relaxed) {
        let share = share.next();
        let until = Instant::now() + TURN.mul_f64(share);
        while Instant::now() < until {
            spin_loop();
        }
        thread::sleep(TURN.mul_f64(1.0 - share));
    }
}

impl Drop for Drift {
    fn drop(&mut self) {
        // Relaxed: as in `work`.
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SHARE_MAX, Share};

    #[test]
    fn the_share_wanders_and_comes_back() {
        let mut share = Share::new(7);
        let shares: Vec<f64> = (0..20_000).map(|_| share.next()).collect();
        assert!(shares.iter().all(|share| (0.0..=SHARE_MAX).contains(share)));
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        assert!((mean - 0.4).abs() < 0.1, "{mean}");
        let step = |apart: usize| {
            let steps = shares.iter().zip(&shares[apart..]);
            steps.map(|(a, b)| (a - b).abs()).sum::<f64>() / (shares.len() - apart) as f64
        };
        assert!(step(1) < 0.3 * step(200), "neighbours are alike");
        let again: Vec<f64> = {
            let mut share = Share::new(7);
            (0..100).map(|_| share.next()).collect()
        };
        assert_eq!(again, shares[..100]);
    }
}
