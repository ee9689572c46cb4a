//! Maps with values whose clones and drops panic, with callbacks that panic, and with hostile
//! arrays.
#![forbid(unsafe_code)]

use std::ops::{Deref, DerefMut};

use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{Entries, Hint, Map, MapNode};
use furlong::rbtree::{NoMemory, Store};
use furlong_spec::hostile::{Ledger, Outcome, Tracked, Watch, panic_at, user_code};

/// An array of nodes whose every access is user code.
struct Array(Vec<MapNode<Tracked>>);

impl Deref for Array {
    type Target = [MapNode<Tracked>];
    fn deref(&self) -> &Self::Target {
        user_code("Deref::deref");
        &self.0
    }
}

impl DerefMut for Array {
    fn deref_mut(&mut self) -> &mut Self::Target {
        user_code("DerefMut::deref_mut");
        &mut self.0
    }
}

impl Store<Entries<Tracked>> for Array {
    fn try_reserve(&mut self, more: usize) -> Result<(), NoMemory> {
        user_code("Store::try_reserve");
        Store::try_reserve(&mut self.0, more)
    }

    fn push(&mut self, node: MapNode<Tracked>) -> Result<(), NoMemory> {
        user_code("Store::push");
        Store::push(&mut self.0, node)
    }
}

type Victim = Map<Tracked, Array>;

fn extent(first: u64, len: u64) -> Extent<Iova> {
    Extent::from_len(Iova::new(first), len).expect("it is not empty")
}

/// `size` entries of ten addresses each, from 100 on, at intervals of twenty.
fn grown(watch: &Watch, size: u64) -> Victim {
    let mut map = Victim::with_config(Array(Vec::new()));
    for number in 0..size {
        let value = watch.value(number);
        map.insert(extent(100 + 20 * number, 10), value)
            .expect("it is free");
    }
    for number in (0..size).filter(|number| number % 5 == 4) {
        map.remove(extent(100 + 20 * number, 10))
            .expect("it is there");
    }
    map
}

const OPERATIONS: usize = 12;

fn operate(map: &mut Victim, watch: &Watch, operation: usize, at: u64) {
    let start = 100 + 20 * at;
    let removed = |_: Extent<Iova>, value: Tracked| {
        user_code("removed");
        drop(value);
    };
    let split = |value: Tracked, _: u64| {
        user_code("split");
        (value.clone(), value)
    };
    match operation {
        0 => drop(map.insert(extent(start + 10, 5), watch.value(1))),
        1 => drop(map.insert(extent(start, 5), watch.value(2))),
        2 => drop(map.remove(extent(start, 10))),
        3 => drop(map.remove_at(Iova::new(start + 3))),
        4 => drop(map.update(Iova::new(start + 3), |value| *value = watch.value(9))),
        5 => drop(map.unmap_range(extent(start, 100), removed)),
        6 => drop(map.invalidate_range(extent(start + 5, 100), removed)),
        7 => drop(map.cut_range(extent(start + 3, 4), split, removed)),
        8 => drop(map.cut_range(extent(start + 5, 50), split, removed)),
        9 => map.clear(removed),
        10 => drop(map.lookup(Iova::new(start), &mut Hint::default())),
        _ => std::mem::forget(map.entries_in(extent(start, 100))),
    }
}

pub(crate) fn interrupt_every_operation(ledger: &mut Ledger) {
    for size in [0, 1, 2, 3, 5, 9, 17, 33, 64] {
        for operation in 0..OPERATIONS {
            for at in [0, size / 2] {
                let mut call = 1;
                loop {
                    let watch = Watch::new();
                    let mut map = grown(&watch, size);
                    let outcome = panic_at(call, || operate(&mut map, &watch, operation, at));
                    let again = panic_at(call, || map.recover());
                    map.check().unwrap_or_else(|broken| {
                        panic!("{operation}, call {call}, {size}: {broken}");
                    });
                    map.recover();
                    map.check().expect("it has recovered");
                    let entries: Vec<_> =
                        map.iter().map(|(at, value)| (at, value.number())).collect();
                    assert_eq!(watch.alive(), entries.len() as u64, "a value was lost");
                    let value = watch.value(3);
                    map.insert(extent(5000, 1), value).expect("it is free");
                    map.clear(|_, _| ());
                    map.check().expect("it is empty");
                    assert_eq!(watch.alive(), 0);
                    let again = again == Outcome::Done(());
                    ledger.note("iova::Map", (operation, call, again), (size, at));
                    if outcome == Outcome::Done(()) {
                        break;
                    }
                    call += 1;
                }
            }
        }
    }
}
