//! The hostile caller of trees. Every function of an augmentation, every comparison and every
//! counter panics at each of its calls, or lies. Intrusive items are freed as soon as the tree
//! reports their removal.
#![deny(unsafe_code)]

mod items;

use furlong::check::Check;
use furlong::rbtree::{Arena, Checked, Config, Deferred, Eager, Node, NodeId, RbTree, Side};
use furlong_spec::Random;
use furlong_spec::hostile::{Ledger, Outcome, panic_at, thinned, user_code};

use items::{Hanging, Item, Sums, With, lie};

/// The number of items in the largest tree.
const PLACES: usize = 64;

/// A tree of `size` items out of `PLACES`, made without a panic, and the order of the items.
fn grown<C: Config>(size: usize, seed: u64) -> (Hanging<C>, Vec<usize>) {
    let mut random = Random::new(seed);
    let mut order: Vec<usize> = (0..PLACES).collect();
    random.shuffle(&mut order);
    let mut tree = Hanging::new(PLACES);
    // More items than needed, so that removals have shaped the tree as well.
    let more = (size + size / 2).min(PLACES);
    for &number in &order[..more] {
        tree.toggle(number);
    }
    for &number in &order[size..more] {
        tree.toggle(number);
    }
    (tree, order)
}

/// A change of the tree.
#[derive(Clone, Copy, Debug, Hash)]
enum Change {
    Toggle(usize),
    Refresh(usize),
}

fn apply<C: Config>(tree: &mut Hanging<C>, change: Change) {
    match change {
        Change::Toggle(number) => tree.toggle(number),
        Change::Refresh(number) => tree.refresh(number),
    }
}

/// Panics at every call of user code in one change of a tree. After each panic the tree has every
/// item or has lost one for good, and can be used and dropped.
fn interrupt<C: Config>(ledger: &mut Ledger, size: usize, seed: u64, change: Change) {
    let of = "rbtree::Intrusive";
    let mut next = 1;
    loop {
        let (mut tree, order) = grown::<C>(size, seed);
        let outcome = panic_at(next, || apply(&mut tree, change));
        tree.sweep();
        tree.check();
        let before: Vec<u64> = sorted(&order[..size]);
        let after = tree.numbers();
        if let Change::Toggle(number) = change {
            let others = |all: &[u64]| -> Vec<u64> {
                let others = all.iter().filter(|one| **one != number as u64);
                others.copied().collect()
            };
            assert_eq!(others(&after), others(&before), "{change:?} at call {next}");
        } else {
            assert_eq!(after, before);
        }
        // A second panic, in the recovery.
        let again = panic_at(next, || tree.recover());
        tree.check();
        tree.recover();
        tree.check();
        tree.toggle(order[PLACES - 1]);
        tree.toggle(order[0]);
        tree.look(order[0] as u64);
        tree.check();
        ledger.note(
            of,
            (next, change, matches!(again, Outcome::Done(()))),
            (size, seed),
        );
        if let Outcome::Done(()) = outcome {
            return;
        }
        next += 1;
    }
}

fn sorted(numbers: &[usize]) -> Vec<u64> {
    let mut numbers: Vec<_> = numbers.iter().map(|number| *number as u64).collect();
    numbers.sort_unstable();
    numbers
}

fn every_call_of_every_change<C: Config>(ledger: &mut Ledger, seeds: u64) {
    for size in [0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 17, 31, 48, 63] {
        for seed in thinned(0..seeds) {
            let mut random = Random::new(seed ^ (size as u64) << 8);
            for _ in 0..3 {
                let number = random.index(PLACES);
                interrupt::<C>(ledger, size, seed, Change::Toggle(number));
                interrupt::<C>(ledger, size, seed, Change::Refresh(number));
            }
        }
    }
}

#[test]
fn a_panic_at_any_call_leaves_every_struct_in_the_tree_or_out_of_it() {
    let mut ledger = Ledger::new();
    every_call_of_every_change::<With<Checked>>(&mut ledger, 4);
    every_call_of_every_change::<With<Deferred>>(&mut ledger, 2);
    every_call_of_every_change::<With<Eager>>(&mut ledger, 2);
    ledger.report(4_000);
}

/// A tree that lies and panics for a long time. No freed memory is accessed.
#[test]
fn lies_of_an_augmentation_lead_to_no_memory_that_is_gone() {
    let mut ledger = Ledger::new();
    for seed in thinned(0..120) {
        let mut random = Random::new(seed);
        let mut tree = Hanging::<With<Checked>>::new(PLACES);
        for step in 0..120_u64 {
            let number = random.index(PLACES);
            let other = random.index(PLACES);
            let call = 1 + random.below(200);
            let kind = random.below(8);
            lie(Some(random.next()));
            let outcome = panic_at(call, || match kind {
                0 => tree.refresh(number),
                1 => tree.misplace(number, Some(other)),
                2 => tree.misplace(number, None),
                3 => tree.look(number as u64),
                4 => tree.recover(),
                _ => tree.toggle(number),
            });
            lie(None);
            tree.sweep();
            let numbers = tree.numbers();
            let place = (kind, number, outcome == Outcome::Done(()), call);
            ledger.note("rbtree::Intrusive", place, (step, numbers));
        }
        // After an honest restart from this state, the tree works again when it is cleared and
        // filled.
        tree.clear();
        tree.check();
        for number in 0..PLACES {
            tree.toggle(number);
        }
        tree.check();
    }
    ledger.report(10_000);
}

/// An array of nodes whose every access is user code.
struct Loud(Vec<Node<Sums>>);

impl std::ops::Deref for Loud {
    type Target = [Node<Sums>];
    fn deref(&self) -> &[Node<Sums>] {
        user_code("Deref::deref");
        &self.0
    }
}

impl std::ops::DerefMut for Loud {
    fn deref_mut(&mut self) -> &mut [Node<Sums>] {
        user_code("DerefMut::deref_mut");
        &mut self.0
    }
}

type Array = RbTree<Arena<Sums, Loud>, With<Checked>>;

/// A tree of the nodes `0..size` in an array with a few more nodes.
fn array(size: usize, seed: u64) -> Array {
    let nodes = (0..size + 2).map(|number| Node::of(Item::new(number as u64)));
    let mut tree = RbTree::with_config(Arena::new(Loud(nodes.collect())));
    let mut order: Vec<_> = tree.nodes().ids().take(size).collect();
    Random::new(seed).shuffle(&mut order);
    for at in order {
        tree.insert(at).unwrap();
    }
    tree
}

/// Changes a tree in an array in one of all possible ways, by number.
fn change(tree: &mut Array, what: usize, at: NodeId, new: NodeId) {
    match what {
        0 => drop(tree.insert(new)),
        1 => drop(tree.remove(at)),
        2 => drop(tree.refresh(at)),
        3 => tree.update(at, |_| user_code("update")),
        4 => drop(tree.replace(new, Item::new(7))),
        5 => drop(tree.insert_before(None, new)),
        6 => drop(tree.insert_after(tree.last(), new)),
        7 => {
            if let Some(before) = tree.prev(at) {
                let _ = tree.remove(before);
            }
        }
        8 => {
            tree.set_mark(at, 3);
            let mut iter = tree.iter();
            iter.next();
            iter.next_back();
        }
        9 => drop(tree.insert_at_edge(tree.root().map(|root| (root, Side::Right)), new)),
        _ => tree.clear(),
    }
}

/// Panics at every call of user code in one change of a tree in an array.
fn interrupt_array(ledger: &mut Ledger, size: usize, what: usize, at: usize) {
    let [at, new] = [at, size + 1].map(|index| NodeId::from_index(index).expect("it is small"));
    let mut call = 1;
    loop {
        let mut tree = array(size, 5);
        let outcome = panic_at(call, || change(&mut tree, what, at, new));
        tree.check().unwrap();
        assert_eq!(tree.iter().count(), tree.len());
        let again = panic_at(call, || tree.recover());
        tree.check().unwrap();
        let _ = tree.remove(at);
        let _ = tree.insert(at);
        assert!(!tree.is_interrupted());
        tree.check().unwrap();
        ledger.note(
            "rbtree::Arena",
            (what, call, again == Outcome::Done(())),
            (size, at),
        );
        if outcome == Outcome::Done(()) {
            return;
        }
        call += 1;
    }
}

#[test]
fn a_panic_of_an_array_or_a_closure_leaves_a_tree_that_can_be_walked() {
    let mut ledger = Ledger::new();
    for size in [1_usize, 2, 3, 5, 8, 13, 30, 62] {
        for what in 0..11 {
            for at in [0, size / 2, size - 1] {
                interrupt_array(&mut ledger, size, what, at);
            }
        }
    }
    ledger.report(4_000);
}

/// The links of all nodes stay valid, whatever was forgotten.
#[test]
fn forgotten_iterators_and_trees_leave_their_nodes_alone() {
    let mut ledger = Ledger::new();
    for size in 0..=62_usize {
        let tree = array(size, 9);
        let ids: Vec<_> = tree.nodes().ids().collect();
        for step in 0..ids.len() {
            for (way, place) in ["rbtree::Iter", "rbtree::Iter back"]
                .into_iter()
                .enumerate()
            {
                let mut iter = tree.iter();
                if way == 0 {
                    iter.nth(step);
                } else {
                    iter.nth_back(step);
                }
                tree.check().unwrap();
                ledger.note(place, step, size);
            }
        }
        std::mem::forget(tree);
    }
    ledger.report(4_000);
}
