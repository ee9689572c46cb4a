//! Reader threads concurrent with a writer. An entry that always exists is always found, and every
//! entry found is one that was stored.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use furlong::addr::{Address, Extent, VirtAddr};
use furlong::check::Check;
use furlong::maple::{Custom, Fan, Heap, RcuMaple};
use furlong::rcu::{Domain, Rcu, RcuBox};
use furlong::sync::SpinLock;
use furlong_spec::Random;
use furlong_spec::maple::race::Race;

/// An entry that holds its number twice.
#[derive(Clone, Debug)]
struct Area {
    index: u64,
    copy: u64,
}

type Map<const LEAF: usize, const INNER: usize> =
    RcuMaple<VirtAddr, RcuBox<Area>, &'static Domain, SpinLock, Custom<Fan<LEAF, INNER, 32>, Heap>>;

static RCU: Domain = Domain::new();
const AREAS: u64 = 400;

/// The extent of an entry: the first five of ten indices. Entries with even numbers are never
/// removed.
fn at(index: u64) -> Extent<VirtAddr> {
    Extent::from_len(VirtAddr::new(10 * index), 5).unwrap()
}

fn area(index: u64) -> RcuBox<Area> {
    RcuBox::new(Area { index, copy: index })
}

/// Looks up entries until it is stopped, and counts its rounds.
fn read<const LEAF: usize, const INNER: usize>(
    map: &Map<LEAF, INNER>,
    rounds: &AtomicU64,
    stop: &AtomicBool,
) {
    let reader = RCU.register().unwrap();
    let mut random = Random::new(7);
    while !stop.load(Ordering::SeqCst) {
        let guard = reader.enter();
        let view = map.read(&guard);
        for _ in 0..64 {
            let index = random.below(AREAS);
            let found = view.get(at(index).start());
            assert!(found.is_some() || index % 2 == 1, "{index} is always there");
            if let Some((extent, area)) = found {
                assert_eq!((extent, area.index, area.copy), (at(index), index, index));
            }
        }
        let found: Vec<u64> = view
            .iter()
            .map(|(extent, _)| extent.start().raw() / 10)
            .collect();
        assert!(
            found.is_sorted_by(|one, next| one < next),
            "in order, each once"
        );
        let always = found.iter().filter(|index| *index % 2 == 0).count() as u64;
        assert_eq!(always, AREAS / 2);
        rounds.fetch_add(1, Ordering::SeqCst);
    }
}

/// Makes at least `changes` changes, and continues until `done` returns true.
fn write<const LEAF: usize, const INNER: usize>(
    map: &Map<LEAF, INNER>,
    changes: u32,
    done: impl Fn() -> bool,
) {
    let mut random = Random::new(8);
    let mut made = 0;
    while made < changes || !done() {
        made += 1;
        let index = 2 * random.below(AREAS / 2) + 1;
        let mut session = map.lock();
        match random.below(3) {
            0 => drop(session.erase(at(index).start()).unwrap()),
            1 => drop(session.store(at(index), area(index)).unwrap()),
            _ => drop(session.store(at(index - 1), area(index - 1)).unwrap()),
        }
        drop(session);
        RCU.poll(usize::MAX);
    }
}

fn readers_see_what_is_there<const LEAF: usize, const INNER: usize>(changes: u32) {
    let map = Map::<LEAF, INNER>::with_config(&RCU, SpinLock::new());
    for index in 0..AREAS {
        map.lock().insert(at(index), area(index)).unwrap();
    }
    let stop = AtomicBool::new(false);
    let rounds = [const { AtomicU64::new(0) }; 2];
    thread::scope(|scope| {
        let (map, stop) = (&map, &stop);
        let start = |rounds| scope.spawn(move || read(map, rounds, stop));
        let readers = rounds.each_ref().map(start);
        write(map, changes, || {
            let looked = rounds
                .iter()
                .all(|rounds| rounds.load(Ordering::SeqCst) > 50);
            looked || readers.iter().any(thread::ScopedJoinHandle::is_finished)
        });
        stop.store(true, Ordering::SeqCst);
        for reader in readers {
            reader.join().unwrap();
        }
    });
    map.check().unwrap();
}

#[test]
fn readers_of_tiny_nodes_see_what_is_there() {
    readers_see_what_is_there::<3, 3>(30_000);
}

#[test]
fn readers_of_wide_nodes_see_what_is_there() {
    readers_see_what_is_there::<15, 32>(30_000);
}

#[test]
fn what_readers_find_is_what_the_writer_says() {
    for readers in [1, 2] {
        let race = Race {
            looks: 100_000,
            readers,
            seed: 5,
        };
        let tiny = race.run::<3, 3>(100).unwrap();
        let wide = race.run::<15, 32>(3000).unwrap();
        assert!(tiny.judged.min(wide.judged) > 90_000, "{tiny}; {wide}");
    }
}
