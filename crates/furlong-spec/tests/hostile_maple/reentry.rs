//! User code that re-enters the map while its lock is held.

use std::sync::OnceLock;

use furlong::addr::VirtAddr;
use furlong::check::Check;
use furlong::maple::{Custom, Fan, Heap, RcuMaple};
use furlong::rcu::{Rcu, RcuBox};
use furlong_spec::hostile::{Grace, Latch, Ledger, Outcome, Tracked, Watch, panic_at};

use super::world::extent;

type Map = RcuMaple<VirtAddr, RcuBox<Entry>, &'static Grace, Latch, Custom<Fan<3, 3, 48>, Heap>>;

/// The action of an entry when it is cloned or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Act {
    Reads,
    Changes,
    Polls,
}

/// An entry with a reference to its map.
struct Entry {
    map: &'static OnceLock<Map>,
    act: Act,
    value: Tracked,
}

impl Entry {
    fn acts(&self) {
        let Some(map) = self.map.get() else { return };
        match self.act {
            Act::Reads => {
                let reader = map.rcu().0.register().expect("there are slots");
                let guard = reader.enter();
                let sum: u64 = map
                    .read(&guard)
                    .iter()
                    .map(|(_, entry)| entry.value.number())
                    .sum();
                assert!(sum < 10_000, "what is read was not freed");
            }
            Act::Changes => drop(map.lock().erase(VirtAddr::new(0))),
            Act::Polls => drop(map.rcu().poll(usize::MAX)),
        }
    }
}

impl Clone for Entry {
    fn clone(&self) -> Self {
        self.acts();
        let value = self.value.clone();
        Self { value, ..*self }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.acts();
        }
    }
}

/// A map of `len` entries. Each covers the first ten indices of a hundred.
fn map(len: u64, act: Act, watch: &Watch) -> (&'static Map, &'static OnceLock<Map>) {
    let place: &'static OnceLock<Map> = Box::leak(Box::default());
    let rcu: &'static Grace = Box::leak(Box::default());
    let new = Map::with_config(rcu, Latch::default());
    for number in 0..len {
        let value = watch.value(number);
        let map = place;
        let entry = RcuBox::new(Entry { map, act, value });
        let inserted = new
            .lock()
            .insert(extent(number * 100, number * 100 + 9), entry);
        assert!(inserted.is_ok(), "the place is free");
    }
    assert!(place.set(new).is_ok(), "it is set once");
    (place.get().expect("it was set"), place)
}

#[test]
fn a_lock_that_user_code_takes_again_is_refused_and_the_map_stays_whole() {
    let mut ledger = Ledger::new();
    for len in 1..=40 {
        for act in [Act::Reads, Act::Changes, Act::Polls] {
            for cut in 0..len {
                let watch = Watch::new();
                let (map, place) = map(len, act, &watch);
                let value = watch.value(len);
                let entry = RcuBox::new(Entry {
                    map: place,
                    act,
                    value,
                });
                // Within an entry, which is therefore cloned under the lock.
                let at = extent(cut * 100 + 3, cut * 100 + 5);
                let outcome = panic_at(0, || drop(map.lock().store(at, entry)));
                let is_refused = act == Act::Changes;
                assert_eq!(matches!(outcome, Outcome::Panicked(_)), is_refused);
                map.check().expect("the map is whole");
                assert_eq!(
                    map.lock().view().len() as u64,
                    len + 2 * u64::from(!is_refused)
                );
                // Outside the lock, because drops after the grace period may take it.
                let all = extent(0, u64::MAX);
                drop(map.lock().erase_range(all));
                let rcu = map.rcu();
                while rcu.pending() > 0 {
                    rcu.poll(usize::MAX);
                }
                map.check().expect("the map is whole");
                ledger.note("maple::Session", (act, cut), len);
            }
        }
    }
    ledger.report(2000);
}
