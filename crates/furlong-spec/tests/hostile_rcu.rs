//! A hostile caller of read-copy-update. It forgets guards and readers, and its drop functions
//! panic and re-enter their domain; its pauses and CPUs panic too.
#![forbid(unsafe_code)]

use std::mem::forget;
use std::ops::ControlFlow;

use furlong::rcu::{Domain, PerCpu, Rcu, RcuBox, RcuCell, Reader, ReaderSlot};
use furlong_spec::hostile::{Alone, Ledger, Outcome, Tracked, Watch, panic_at, thinned, user_code};

type Small = Domain<[ReaderSlot; 2]>;
type Cpus = PerCpu<Alone, [ReaderSlot; 1]>;

/// An operation on a domain with pending objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Operation {
    Poll(usize),
    Reclaim(usize),
    Barrier,
    Replace,
    Enter,
    DropCell,
    DropDomain,
}

/// The reader's state during an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Beside {
    Nothing,
    Guard,
    ForgottenGuard,
    ForgottenReader,
    ForgottenBoth,
}

const OPERATIONS: [Operation; 11] = [
    Operation::Poll(usize::MAX),
    Operation::Poll(1),
    Operation::Poll(3),
    Operation::Reclaim(usize::MAX),
    Operation::Reclaim(0),
    Operation::Reclaim(7),
    Operation::Barrier,
    Operation::Replace,
    Operation::Enter,
    Operation::DropCell,
    Operation::DropDomain,
];

const BESIDE: [Beside; 5] = [
    Beside::Nothing,
    Beside::Guard,
    Beside::ForgottenGuard,
    Beside::ForgottenReader,
    Beside::ForgottenBoth,
];

/// The interface of a domain to an attack.
trait Subject: Rcu + Sized {
    const NAME: &'static str;

    fn new() -> Self;
    /// Runs `inside` with a reader in the state `beside`. A value protected by the guard stays
    /// readable.
    fn beside<T>(&self, beside: Beside, inside: impl FnOnce(Option<&Self::Guard<'_>>) -> T) -> T;
    /// Enters and leaves a read section.
    fn enter(&self);
}

impl Subject for Small {
    const NAME: &'static str = "rcu::Domain";

    fn new() -> Self {
        Self::with_slots(ReaderSlot::array())
    }

    fn beside<T>(&self, beside: Beside, inside: impl FnOnce(Option<&Self::Guard<'_>>) -> T) -> T {
        let reader: Reader<'_> = self.register().expect("there are slots");
        match beside {
            Beside::Nothing => inside(None),
            Beside::Guard => inside(Some(&reader.enter())),
            Beside::ForgottenGuard => {
                forget(reader.enter());
                inside(None)
            }
            Beside::ForgottenReader => {
                forget(reader);
                inside(None)
            }
            Beside::ForgottenBoth => {
                forget(reader.enter());
                forget(reader);
                inside(None)
            }
        }
    }

    fn enter(&self) {
        if let Ok(reader) = self.register() {
            let (first, second) = (reader.enter(), reader.enter());
            user_code("under a guard");
            drop(first);
            drop(second);
        }
    }
}

impl Subject for Cpus {
    const NAME: &'static str = "rcu::PerCpu";

    fn new() -> Self {
        Self::new(Alone::default(), ReaderSlot::array())
    }

    fn beside<T>(&self, beside: Beside, inside: impl FnOnce(Option<&Self::Guard<'_>>) -> T) -> T {
        match beside {
            Beside::Nothing | Beside::ForgottenReader => inside(None),
            Beside::Guard => inside(Some(&self.enter())),
            Beside::ForgottenGuard | Beside::ForgottenBoth => {
                forget(self.enter());
                inside(None)
            }
        }
    }

    fn enter(&self) {
        let (first, second) = (self.enter(), self.enter());
        user_code("under a guard");
        drop(first);
        drop(second);
    }
}

type Cell<'d, R> = RcuCell<Tracked, &'d R>;

/// A cell in a domain with `pending` objects pending.
fn cell<'d, R: Subject>(pending: u64, rcu: &'d R, watch: &Watch) -> Cell<'d, R> {
    let cell = RcuCell::new(rcu, RcuBox::new(watch.value(0)));
    for number in 1..=pending {
        cell.replace(RcuBox::new(watch.value(number)));
    }
    cell
}

/// Runs an operation on a domain and its cell. Operations that end one of them are elsewhere.
fn apply<R: Subject>(operation: Operation, rcu: &R, cell: &Cell<'_, R>, watch: &Watch) {
    match operation {
        Operation::Poll(max) => drop(rcu.poll(max)),
        Operation::Reclaim(max) => {
            let period = rcu.snapshot();
            while !rcu.elapsed(period) && rcu.advance() == furlong::rcu::Progress::Ended {}
            rcu.reclaim(max);
        }
        Operation::Barrier => {
            let mut pauses = 0;
            let _ = rcu.barrier(|| {
                user_code("pause");
                pauses += 1;
                if pauses < 4 {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            });
        }
        Operation::Replace => cell.replace(RcuBox::new(watch.value(99))),
        Operation::Enter => rcu.enter(),
        Operation::DropCell | Operation::DropDomain => {}
    }
}

/// Makes one attack on a domain with `pending` objects pending. Returns true if a call of user code
/// panicked.
fn attack<R: Subject>(pending: u64, operation: Operation, beside: Beside, k: u64) -> bool {
    let watch = Watch::new();
    let rcu = R::new();
    let map = cell(pending, &rcu, &watch);
    let told = (R::NAME, pending, operation, beside, k);
    let outcome = rcu.beside(beside, |guard| {
        let seen = guard.map(|guard| map.load(guard));
        let outcome = panic_at(k, || apply(operation, &rcu, &map, &watch));
        if let Some(seen) = seen {
            assert_eq!(seen.number(), pending, "the guard is held: {told:?}");
        }
        outcome
    });
    let there = rcu.pending() as u64 + 1;
    assert_eq!(watch.alive(), there, "each is dropped once: {told:?}");
    rcu.enter();
    map.replace(RcuBox::new(watch.value(100)));
    rcu.poll(2);
    assert_eq!(watch.alive(), rcu.pending() as u64 + 1, "{told:?}");
    let outcome = match operation {
        Operation::DropCell => panic_at(k, || drop(map)),
        _ => {
            drop(map);
            outcome
        }
    };
    assert_eq!(watch.alive(), rcu.pending() as u64, "{told:?}");
    let outcome = match operation {
        Operation::DropDomain => panic_at(k, || drop(rcu)),
        _ => {
            drop(rcu);
            outcome
        }
    };
    assert_eq!(watch.alive(), 0, "a domain drops what is pending: {told:?}");
    matches!(outcome, Outcome::Panicked(_))
}

fn attack_all<R: Subject>(ledger: &mut Ledger) {
    for pending in thinned(0..=64) {
        for operation in OPERATIONS {
            for beside in BESIDE {
                for k in 1.. {
                    let panics = attack::<R>(pending, operation, beside, k);
                    ledger.note(R::NAME, (operation, k), (pending, beside));
                    if !panics {
                        break;
                    }
                }
            }
        }
    }
}

#[test]
fn a_domain_drops_every_object_once_whatever_is_forgotten_and_panics() {
    let mut ledger = Ledger::new();
    attack_all::<Small>(&mut ledger);
    ledger.report(10_000);
}

#[test]
fn a_domain_of_cpus_drops_every_object_once_whatever_is_forgotten_and_panics() {
    let mut ledger = Ledger::new();
    attack_all::<Cpus>(&mut ledger);
    ledger.report(10_000);
}

/// The action of an object in its drop function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Act {
    Retires,
    Polls,
    Waits,
    Enters,
    DropsACell,
}

const ACTS: [Act; 5] = [
    Act::Retires,
    Act::Polls,
    Act::Waits,
    Act::Enters,
    Act::DropsACell,
];

/// An object that re-enters its domain when it is dropped.
struct Nested {
    rcu: &'static Small,
    act: Act,
    watch: Watch,
    /// Dropped after the action.
    #[expect(dead_code, reason = "held for its drop")]
    value: Tracked,
}

impl Drop for Nested {
    fn drop(&mut self) {
        user_code("Nested::drop");
        let cell = || RcuCell::new(self.rcu, RcuBox::new(self.watch.value(50)));
        match self.act {
            Act::Retires => cell().replace(RcuBox::new(self.watch.value(51))),
            Act::Polls => drop(self.rcu.poll(usize::MAX)),
            Act::Waits => drop(self.rcu.barrier(|| ControlFlow::Break(()))),
            Act::Enters => self.rcu.enter(),
            Act::DropsACell => drop(cell()),
        }
    }
}

#[test]
fn an_object_may_come_back_to_its_domain_when_it_is_dropped() {
    let mut ledger = Ledger::new();
    for pending in 0..=24 {
        for act in ACTS {
            for k in 1.. {
                let watch = Watch::new();
                let rcu: &'static Small = Box::leak(Box::new(Subject::new()));
                let nested = |number| Nested {
                    rcu,
                    act,
                    watch: watch.clone(),
                    value: watch.value(number),
                };
                let cell = RcuCell::new(rcu, RcuBox::new(nested(0)));
                (1..=pending).for_each(|number| cell.replace(RcuBox::new(nested(number))));
                let outcome = panic_at(k, || rcu.poll(usize::MAX));
                ledger.note("rcu::RcuCell", (act, k), pending);
                drop(cell);
                while rcu.pending() > 0 {
                    rcu.poll(usize::MAX);
                }
                assert_eq!(watch.alive(), 0, "{act:?}, {pending} pending, call {k}");
                if matches!(outcome, Outcome::Done(_)) {
                    break;
                }
            }
        }
    }
    ledger.report(1000);
}
