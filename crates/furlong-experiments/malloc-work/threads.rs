//! Several threads that do the same work.
#![forbid(unsafe_code)]

use std::thread;

/// Runs `work` on `threads` threads, each given its number, and adds up the results. A single
/// thread is the calling one.
pub(crate) fn on_threads(threads: usize, work: impl Fn(usize) -> u64 + Sync) -> u64 {
    if threads == 1 {
        return work(0);
    }
    thread::scope(|scope| {
        let work = &work;
        let start = |thread| scope.spawn(move || work(thread));
        let threads: Vec<_> = (0..threads).map(start).collect();
        let answers = threads.into_iter().map(|one| one.join().expect("it ends"));
        answers.fold(0, u64::wrapping_add)
    })
}
