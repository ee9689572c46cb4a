//! User code that panics at its k-th call, for every k, in every operation that calls any.

use furlong::addr::{Address, Pfn};
use furlong::phys::{Direct, Lookup, State as Saved, Tree};
use furlong::rcu::Rcu;
use furlong_spec::hostile::{Grace, Ledger, Outcome, Watch, panic_at, thinned};

use crate::page::{State, Table, frames, is_usable, is_whole, lent, may};

type Attack<L, R> = (&'static str, fn(&Table<L, R>, State));

/// The range of the segment with this index, if there is one.
fn segment(state: State, at: u64) -> Option<(u64, u64)> {
    state.ranges().nth(at as usize)
}

fn unplug<L: Lookup, R: Rcu>(
    table: &Table<L, R>,
    state: State,
    at: u64,
    of: fn(u64, u64) -> (u64, u64),
) {
    let Some((start, end)) = segment(state, at) else {
        return;
    };
    let (start, end) = of(start, end);
    if start < end {
        may(table.lock().unplug(frames(start, end)));
    }
}

fn attacks<L: Lookup, R: Rcu>() -> Vec<Attack<L, R>> {
    vec![
        ("start", |table, _| may(table.lock().start())),
        ("plug above", |table, state| {
            may(table.lock().plug(frames(state.end(), state.end() + 7)));
        }),
        ("plug far above", |table, state| {
            let start = state.end() + (1 << 21);
            may(table.lock().plug(frames(start, start + 6)));
        }),
        ("plug what is there", |table, state| {
            may(table.lock().plug(frames(state.base, state.end() + 1)));
        }),
        ("unplug the first", |table, state| {
            unplug(table, state, 0, |start, end| (start, end));
        }),
        ("unplug a front", |table, state| {
            unplug(table, state, state.segments / 2, |start, end| {
                (start, end - 1)
            });
        }),
        ("unplug a back", |table, state| {
            unplug(table, state, state.segments / 3, |start, end| {
                (start + 1, end)
            });
        }),
        ("unplug a hole", |table, state| {
            unplug(table, state, state.segments / 2, |start, end| {
                (start + 1, end - 1)
            });
        }),
        ("unplug the last", |table, state| {
            let last = state.segments.saturating_sub(1);
            unplug(table, state, last, |start, end| (start, end));
        }),
        ("isolate and remove", |table, state| {
            if let Some((start, end)) = segment(state, 1) {
                let mut segments = table.lock();
                if let Ok(token) = segments.isolate(frames(start, end)) {
                    may(segments.remove(token));
                }
            }
        }),
        ("plug again what has gone", |table, state| {
            unplug(table, state, 1, |start, end| (start, end));
            if let Some((start, end)) = segment(state, 1) {
                may(table.lock().plug(frames(start, end)));
            }
        }),
    ]
}

/// Makes each call of user code in an attack panic in turn.
fn attack<L: Lookup, R: Rcu>(
    ledger: &mut Ledger,
    of: &'static str,
    state: State,
    make: impl Fn() -> (Table<L, R>, Watch),
) {
    for (name, attack) in attacks() {
        for k in 1.. {
            let (table, watch) = make();
            let outcome = panic_at(k, || attack(&table, state));
            ledger.note(of, (name, k), state);
            is_whole(&table, &watch);
            is_usable(table, &watch);
            if let Outcome::Done(()) = outcome {
                break;
            }
        }
    }
    // The same for dropping the table.
    for k in 1.. {
        let (table, watch) = make();
        let outcome = panic_at(k, || drop(table));
        ledger.note("phys::SegmentTable", ("drop", k), state);
        assert_eq!(watch.alive(), 0, "one panic keeps no other from its drop");
        if let Outcome::Done(()) = outcome {
            break;
        }
    }
}

fn states(bases: &'static [u64]) -> impl Iterator<Item = State> {
    let sizes = thinned((0..=64).filter(|size| *size < 12 || size % 8 == 0));
    sizes.flat_map(move |segments| {
        let place = bases.iter().enumerate();
        place.flat_map(move |(at, base)| {
            [true, false].into_iter().map(move |is_started| State {
                segments,
                base: *base,
                seed: segments * 8 + at as u64,
                is_started,
            })
        })
    })
}

#[test]
fn a_panic_in_a_change_of_direct_leaves_the_table_whole() {
    let mut ledger = Ledger::new();
    for state in states(&[0, 1 << 20, 1 << 30]) {
        attack(&mut ledger, "phys::Segments", state, || {
            state.table::<Direct>()
        });
    }
    ledger.report(8_000);
}

#[test]
fn a_panic_in_a_change_of_a_search_leaves_the_table_whole() {
    let mut ledger = Ledger::new();
    for state in states(&[5]) {
        attack(&mut ledger, "phys::Tree", state, || state.table::<Tree>());
    }
    ledger.report(2_500);
}

#[test]
fn a_panic_of_the_domain_leaves_the_table_whole() {
    let mut ledger = Ledger::new();
    for state in states(&[0, 1 << 30]) {
        attack(&mut ledger, "phys::Segments", state, || {
            state.table_with::<Direct, _>(Grace::new())
        });
    }
    ledger.report(7_500);
}

/// The saved state of another table.
fn saved(state: State) -> Saved {
    let (table, _) = state.table::<Direct>();
    if let Some((start, end)) = segment(state, state.segments / 2) {
        may(table.lock().isolate(frames(start, end)));
    }
    table.lock().save().expect("there is memory")
}

#[test]
fn a_panic_in_a_restore_restores_nothing() {
    let mut ledger = Ledger::new();
    for segments in (0..=64).step_by(3) {
        let state = State {
            segments,
            base: 9,
            seed: segments,
            is_started: true,
        };
        let saved = saved(state);
        let empty = State {
            segments: 0,
            is_started: false,
            ..state
        };
        for k in 1.. {
            let (table, watch) = empty.table::<Direct>();
            let outcome = panic_at(k, || table.lock().restore(&saved));
            ledger.note("phys::State", ("restore", k), state);
            is_whole(&table, &watch);
            if let Outcome::Done(done) = outcome {
                done.expect("it can be restored");
                is_usable(table, &watch);
                break;
            }
            assert!(table.lock().is_empty());
            table.lock().restore(&saved).expect("nothing has changed");
            is_usable(table, &watch);
        }
    }
    ledger.report(1_500);
}

#[test]
fn a_panic_while_a_section_is_made_makes_none_of_it() {
    const RANGE: (u64, u64) = (1 << 20, (1 << 20) + 40);
    let mut ledger = Ledger::new();
    for holes in 0..8 {
        for k in 1.. {
            let state = State {
                segments: 2,
                base: 0,
                seed: holes,
                is_started: true,
            };
            let (table, watch) = state.table::<Direct>();
            let before = watch.alive();
            let mut segments = table.lock();
            let range = frames(RANGE.0, RANGE.1 + 4096 * 8);
            let need = segments.hosted_bytes(range).expect("frames");
            segments.plug_hosted(range, lent(need)).expect("enough");
            // The remainder of the last section has few frames.
            let section = range.last().raw() & !4095;
            segments
                .unplug(frames(section - 4096, section))
                .expect("it may go");
            for hole in 0..holes {
                let start = section + 2 + 4 * hole;
                segments
                    .unplug(frames(start, start + 1))
                    .expect("it may go");
            }
            drop(segments);
            let made = watch.alive() - before;
            assert_eq!(made, 0, "late");
            let outcome = panic_at(k, || table.lock().make(Pfn::new(section + 1)));
            ledger.note("phys::Segments", ("make", k), state);
            table.lock().sweep();
            if let Outcome::Done(done) = outcome {
                assert_eq!(done, Ok(true));
                drop(table);
                assert_eq!(watch.alive(), 0);
                break;
            }
            assert_eq!(watch.alive(), before);
            drop(table);
            assert_eq!(watch.alive(), 0);
        }
    }
    ledger.report(200);
}
