//! The bytes that an area takes in the peers' indexes and in ours: bytes on the heap, by a counting
//! allocator.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    reason = "the figures are for whoever asks to see them"
)]

use furlong::addr::{Extent, VirtAddr};
use furlong::maple::RcuMaple;
use furlong::rcu::{Domain, Rcu as _};
use furlong::sync::SpinLock;
use furlong_experiments::vmspace_index::{AreaIndex, Span};
use furlong_peers::vmspace::{ByLast, ByStart, Intervals, Overlaps, Ranges};
use furlong_spec::Random;
use furlong_spec::heap::{Failing, held_by};

#[global_allocator]
static HEAP: Failing = Failing;

const AREAS: u32 = 65_536;

const PAGE: u64 = 4096;

/// The areas of the experiment, in a random order: 1 to 16 pages, and as many between them.
fn areas() -> Vec<(Span, u32)> {
    let mut random = Random::new(5);
    let mut first = 0;
    let mut all = Vec::new();
    for number in 0..AREAS {
        let [len, gap] = [(); 2].map(|()| PAGE * (1 + random.below(16)));
        let span = Span::of_len(first, len);
        first = span.last + 1 + gap;
        all.push((span, number));
    }
    random.shuffle(&mut all);
    all
}

fn per_area<I>(build: impl FnOnce(&[(Span, u32)]) -> I) -> f64 {
    let areas = areas();
    let (index, bytes) = held_by(|| build(&areas));
    drop(index);
    bytes as f64 / f64::from(AREAS)
}

fn of_peer<I: AreaIndex>() -> f64 {
    per_area(|areas| {
        let mut index = I::new();
        areas
            .iter()
            .for_each(|(span, value)| index.store(*span, *value));
        index
    })
}

#[test]
fn an_area_takes_at_most_1_15_times_the_bytes_of_one_in_a_btreemap() {
    let domain = Domain::new();
    let maple = per_area(|areas| {
        let index: RcuMaple<VirtAddr, u32, &Domain, SpinLock> =
            RcuMaple::new(&domain, SpinLock::new());
        for (span, value) in areas {
            let at = Extent::from_last(VirtAddr::new(span.first), VirtAddr::new(span.last));
            let at = at.expect("it is no reversed one");
            let mut session = index.lock();
            drop(session.store(at, *value).expect("there is memory"));
        }
        while domain.pending() > 0 {
            domain.poll(usize::MAX);
        }
        index
    });
    let btreemap = of_peer::<ByStart>();
    println!("bytes an area of {AREAS}: maple {maple:.1}, btreemap {btreemap:.1}");
    let others = [
        ("brie-tree", of_peer::<ByLast>()),
        ("rangemap", of_peer::<Ranges>()),
        ("nodit", of_peer::<Intervals>()),
        ("iset", of_peer::<Overlaps>()),
    ];
    for (name, bytes) in others {
        println!("bytes an area of {AREAS}: {name} {bytes:.1}");
    }
    assert!(
        maple > 24.0,
        "three words an area, and it holds them: {maple}"
    );
    assert!(maple <= 1.15 * btreemap, "{maple} against {btreemap}");
}
