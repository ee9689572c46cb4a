//! Every operation on trees of 0 to 64 entries, by a caller that forgets results, and with a panic
//! at every call of user code.

use furlong::maple::Config;
use furlong::rcu::Rcu;
use furlong_spec::Random;
use furlong_spec::hostile::{Grace, Ledger, Memory, Outcome, Watch, panic_at, thinned};

use super::stream::{BEHIND, Caller, Operation, Piece, after, operation, pieces};
use super::world::{Shell, Tiny, Wide, owned, read};

/// The number of the entry that an operation adds.
const NEW: u64 = 1000;

/// An attack: the tree's initial pieces, an operation, the caller's treatment of results, and the
/// number of the call that panics (0 for none).
struct Attack<'a> {
    before: &'a [Piece],
    operation: Operation,
    caller: Caller,
    k: u64,
}

impl Attack<'_> {
    /// Makes the attack and checks the tree. Returns true if a call of user code panicked.
    fn make<S: Shell>(
        &self,
        build: impl FnOnce(&[Piece], &Watch) -> S,
        settle: impl Fn() -> u64,
        can_be_locked: bool,
    ) -> bool {
        let watch = Watch::new();
        let mut shell = build(self.before, &watch);
        let outcome = panic_at(self.k, || {
            shell.apply(self.operation, NEW, self.caller, &watch);
        });
        let (left, displaced) = after(self.before, self.operation, NEW);
        let now = shell.contents();
        let is_made = now == left;
        assert!(is_made || now == self.before, "a change is made or not");
        let panicked = match outcome {
            Outcome::Done(()) => {
                assert!(is_made, "it was refused without a reason");
                None
            }
            Outcome::Panicked(place) => Some(place),
        };
        let leaked = match (self.caller, self.operation) {
            (_, Operation::Clear) | (Caller::Drops | Caller::ForgetsAll, _) => 0,
            (Caller::Forgets(taken), _) => displaced.saturating_sub(taken),
        };
        if can_be_locked {
            shell.check();
            // Later changes work as if nothing had happened, above all entries and over existing
            // ones. The first one finds whatever was left behind, so either is first at times.
            let mut later = [Operation::Insert(BEHIND, BEHIND), Operation::Store(2, 40)];
            later.rotate_left(self.before.len() % 2);
            for operation in later {
                let there = shell.contents();
                shell.apply(operation, NEW + 1, Caller::Drops, &watch);
                assert_eq!(shell.contents(), after(&there, operation, NEW + 1).0);
                shell.check();
            }
            let waits = settle();
            let there = shell.contents().len() as u64;
            let dead = watch.alive() - there;
            let most = waits + leaked + self.may_leak(panicked, displaced);
            let told = (panicked, self.operation, self.k);
            assert!(dead <= most, "{dead} entries are in no tree: {told:?}");
            assert!(dead >= leaked, "an entry was dropped twice: {told:?}");
        }
        drop(shell);
        settle();
        let most = leaked + self.may_leak(panicked, displaced);
        let alive = watch.alive();
        assert!((leaked..=most).contains(&alive), "{alive} entries are left");
        panicked.is_some()
    }

    /// The maximum number of entries that a panic may leak: the displaced entries if it is in
    /// `retire`, and the new entry if it is in `allocate`.
    fn may_leak(&self, panicked: Option<&str>, displaced: u64) -> u64 {
        match panicked {
            Some("Rcu::retire") => displaced,
            Some("Source::allocate") => 1,
            _ => 0,
        }
    }
}

/// Makes all attacks on the trees of one seed.
fn attack<S: Shell>(
    seed: u64,
    operations: u64,
    has_session: bool,
    names: [&'static str; 3],
    ledger: &mut Ledger,
    build: impl Fn(&[Piece], &Watch) -> S,
    settle: impl Fn() -> u64,
) {
    let [of_panics, of_results, of_sessions] = names;
    for len in thinned(0..=64) {
        let mut random = Random::new(seed * 1000 + len);
        let before = pieces(len, &mut random);
        for _ in 0..operations {
            let operation = match operation(&before, &mut random) {
                // Beside readers no value is changed in place.
                Operation::Change(at, _) if has_session => Operation::Look(at),
                operation => operation,
            };
            let attack = |caller, k| Attack {
                before: &before,
                operation,
                caller,
                k,
            };
            for k in 1.. {
                let panics = attack(Caller::Drops, k).make(&build, &settle, true);
                ledger.note(of_panics, (operation, k), &before);
                if !panics {
                    break;
                }
            }
            for taken in 0..4 {
                let forgets = Caller::Forgets(taken);
                attack(forgets, 0).make(&build, &settle, true);
                ledger.note(of_results, (operation, taken), &before);
            }
            attack(Caller::ForgetsAll, 0).make(&build, &settle, !has_session);
            ledger.note(of_sessions, operation, &before);
        }
    }
}

fn attack_owned<C: Config>(seeds: std::ops::Range<u64>, at_least: usize) {
    let mut ledger = Ledger::new();
    let names = ["maple::Maple", "maple::Displaced", "maple::Displaced"];
    for seed in seeds {
        attack(seed, 6, false, names, &mut ledger, owned::<C>, || 0);
    }
    ledger.report(at_least);
}

fn attack_beside<C: Config>(seeds: std::ops::Range<u64>, at_least: usize) {
    let mut ledger = Ledger::new();
    let names = ["maple::RcuMaple", "maple::Removed", "maple::Session"];
    for seed in seeds {
        let rcu = Grace::new();
        let build = |before: &[Piece], watch: &Watch| read::<C>(before, &rcu, watch);
        let settle = || {
            rcu.poll(usize::MAX);
            rcu.pending() as u64
        };
        attack(seed, 6, true, names, &mut ledger, build, settle);
    }
    ledger.report(at_least);
}

#[test]
fn a_tree_of_tiny_nodes_stays_whole_whatever_its_caller_forgets_and_panics_in() {
    attack_owned::<Tiny<Memory>>(0..1, 12_000);
}

#[test]
fn a_tree_of_wide_nodes_stays_whole_whatever_its_caller_forgets_and_panics_in() {
    attack_owned::<Wide>(10..11, 5_000);
}

#[test]
fn a_tree_of_tiny_nodes_beside_readers_stays_whole_whatever_its_caller_does() {
    attack_beside::<Tiny<Memory>>(20..21, 8_000);
}

#[test]
fn a_tree_of_wide_nodes_beside_readers_stays_whole_whatever_its_caller_does() {
    attack_beside::<Wide>(30..31, 5_000);
}
