//! Interrupts of readers, at any instruction, during changes by the writer; and interrupts of the
//! writer, at any instruction, with lookups. The interrupt is a signal handler.
#![cfg(target_os = "linux")]

mod nmi;
mod signal;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use furlong_spec::phys::race::{Meddling, Race};
use signal::Handler;

/// Lets one test run at a time, because the handler is chosen for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// The pause between interrupts. Without it the next one would be there when a handler ends, and a
/// thread would hardly do anything else.
const PAUSE: Duration = Duration::from_nanos(3 * signal::LONG_NS);

/// Interrupts all registered threads while `work` runs.
fn interrupted<T>(handler: Handler, work: impl FnOnce() -> T) -> (T, u64) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    signal::install(handler);
    let before = signal::INTERRUPTS.load(Ordering::SeqCst);
    let over = AtomicBool::new(false);
    let done = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                signal::interrupt();
                thread::sleep(PAUSE);
            }
        });
        let done = work();
        over.store(true, Ordering::SeqCst);
        done
    });
    (done, signal::INTERRUPTS.load(Ordering::SeqCst) - before)
}

/// One race beside interrupts. True if enough happened in it.
fn is_enough(seed: u64) -> bool {
    let race = Race {
        lookups: 300_000,
        lookups_per_table: 100_000,
        readers: 1,
        seed,
    };
    let meddling = Meddling {
        at_start: signal::may_interrupt_this_thread,
        ..Meddling::NONE
    };
    let (tally, interrupts) = interrupted(Handler::Linger, || race.run_with(meddling));
    let tally = tally.unwrap_or_else(|wrong| panic!("{wrong}"));
    interrupts > 100 && tally.lookups.raced > 100 && tally.changes.unplugged > 100
}

/// A wrong answer fails at once. On a busy machine one side of a race may hardly run, so enough may
/// take several races.
#[test]
fn a_reader_that_is_interrupted_anywhere_finds_only_what_is_true() {
    let met = (100..150).any(is_enough);
    assert!(met, "too little happened in each of 50 races");
}

#[test]
fn lookups_in_an_interrupt_of_the_writer_wait_for_nobody() {
    let mut segments = nmi::TABLE.lock();
    segments.grow_on_heap();
    segments.plug(nmi::frames(nmi::STAYS)).unwrap();
    segments.start().unwrap();
    drop(segments);
    nmi::register();
    let seen = &nmi::SEEN;
    let ((), interrupts) = interrupted(Handler::Look, || {
        signal::may_interrupt_this_thread();
        // Until interrupts have covered all cases.
        while seen.within_changes.load(Ordering::SeqCst) < 200
            || seen.found.load(Ordering::SeqCst) < 200
            || seen.missed.load(Ordering::SeqCst) < 200
        {
            let mut segments = nmi::TABLE.lock();
            nmi::CHANGING.store(true, Ordering::SeqCst);
            segments.plug(nmi::frames(nmi::COMES)).unwrap();
            segments.unplug(nmi::frames(nmi::COMES)).unwrap();
            nmi::CHANGING.store(false, Ordering::SeqCst);
        }
        signal::spare_this_thread();
    });
    assert_eq!(seen.wrong.load(Ordering::SeqCst), 0, "{seen:?}");
    assert!(seen.lookups.load(Ordering::SeqCst) <= interrupts);
}
