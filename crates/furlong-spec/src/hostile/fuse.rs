//! User code that panics at its k-th call.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

thread_local! {
    /// The number of calls of user code so far, and the one that panics. Both count from 1; 0 is
    /// none.
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static PANICS_AT: Cell<u64> = const { Cell::new(0) };
}

/// The payload of a planted panic: the name of the place.
struct Planted(&'static str);

/// The result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// No panic: there were fewer calls of user code than the one that should panic.
    Done(T),
    /// The planted panic, from the place of this name.
    Panicked(&'static str),
}

/// Marks a call of user code, at a place that the caller names (`"Clone"`, `"Augment::join"`).
/// Panics if this is the call that [`panic_at`] selected.
///
/// Does not panic in a thread that unwinds already. A second panic would end the process and show
/// nothing about the library.
pub fn user_code(place: &'static str) {
    let call = CALLS.get() + 1;
    CALLS.set(call);
    if call == PANICS_AT.get() && !thread::panicking() {
        plant(place);
    }
}

/// Panics at `place` in the way that [`panic_at`] recognises.
pub(super) fn plant(place: &'static str) -> ! {
    // Avoids the panic hook, which would print each of a hundred thousand panics.
    resume_unwind(Box::new(Planted(place)))
}

/// Runs `attempt`, whose `k`-th call of user code panics. `k` counts from 1.
///
/// # Panics
/// With every panic of `attempt` that was not planted, such as the library's own.
pub fn panic_at<T>(k: u64, attempt: impl FnOnce() -> T) -> Outcome<T> {
    CALLS.set(0);
    PANICS_AT.set(k);
    let ended = catch_unwind(AssertUnwindSafe(attempt));
    PANICS_AT.set(0);
    match ended {
        Ok(done) => Outcome::Done(done),
        Err(payload) => match payload.downcast::<Planted>() {
            Ok(planted) => Outcome::Panicked(planted.0),
            Err(other) => resume_unwind(other),
        },
    }
}

/// Runs `attempt(k)` under [`panic_at`] for `k` = 1, 2, 3 .. until one ends without a panic, and
/// passes each outcome to `look`. Each attempt builds a new structure; anything that `look`
/// inspects must live outside the attempt.
///
/// Returns the number of attempts that panicked.
pub fn panic_at_every_call<T>(
    mut attempt: impl FnMut(u64) -> T,
    mut look: impl FnMut(u64, &Outcome<T>),
) -> u64 {
    for k in 1.. {
        let outcome = panic_at(k, || attempt(k));
        look(k, &outcome);
        if let Outcome::Done(_) = outcome {
            return k - 1;
        }
    }
    unreachable!("an attempt calls user code finitely often")
}

/// Runs `attempt` without a panic, and counts its calls of user code.
pub fn count_calls<T>(attempt: impl FnOnce() -> T) -> (T, u64) {
    CALLS.set(0);
    PANICS_AT.set(0);
    let done = attempt();
    (done, CALLS.get())
}

#[cfg(test)]
mod tests {
    use super::{Outcome, count_calls, panic_at, panic_at_every_call, user_code};

    fn three_calls() {
        user_code("first");
        user_code("second");
        user_code("third");
    }

    #[test]
    fn each_call_panics_once_and_says_where() {
        let mut places = Vec::new();
        let panicked = panic_at_every_call(
            |_| three_calls(),
            |_, outcome| {
                if let Outcome::Panicked(place) = outcome {
                    places.push(*place);
                }
            },
        );
        assert_eq!(panicked, 3);
        assert_eq!(places, ["first", "second", "third"]);
    }

    #[test]
    fn calls_are_counted_and_nothing_panics_afterwards() {
        assert_eq!(panic_at(9, || 7), Outcome::Done(7));
        assert_eq!(count_calls(three_calls).1, 3);
    }

    #[test]
    #[should_panic(expected = "a panic of the library's own")]
    fn a_panic_that_was_not_planted_comes_through() {
        let _ = panic_at(1, || panic!("a panic of the library's own"));
    }
}
