//! Values that lie: they merge at random, and their clones differ from them.

use std::any::type_name;

use furlong::addr::VirtAddr;
use furlong::check::Check;
use furlong::maple;
use furlong::rcu::Rcu;
use furlong::vmspace::{
    At, Config, Custom, Hold, Maple, Prot, Rbtree, Remap, RemapFlags, Request, Shared, Space,
    Standard, Value,
};
use furlong_spec::Random;
use furlong_spec::hostile::{Grace, Latch, Ledger, Memory, Tracked, Watch, thinned};

use super::stream::LAYOUT;
use super::world::page;

thread_local! {
    /// The source of lies.
    static LIES: std::cell::RefCell<Random> = const { std::cell::RefCell::new(Random::new(7)) };
}

fn lie(limit: u64) -> u64 {
    LIES.with_borrow_mut(|random| random.below(limit))
}

/// A value whose answers are random.
struct Liar(Watch, Tracked);

impl Liar {
    fn new(watch: &Watch) -> Self {
        Self(watch.clone(), watch.value(lie(1000)))
    }
}

impl Clone for Liar {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Value for Liar {
    fn merges(&self, next: &Self) -> bool {
        self.1.number() + next.1.number() + lie(2) > 500 && lie(2) == 0
    }
}

/// Runs one operation after another. None may break an invariant of the space.
fn lie_on<C: Config, H: Hold>(space: &mut Space<Liar, C, H>, random: &mut Random, watch: &Watch) {
    let (at, len) = (VirtAddr::new(page(random.below(64))), 1 + random.below(20));
    let bytes = len << 12;
    match random.below(8) {
        0..=2 => {
            let request = Request::anonymous(bytes, Prot::READ, Liar::new(watch));
            drop(space.map(request.at(At::Fixed(at)), drop));
        }
        3 => {
            let _ = space.unmap(at, bytes, drop);
        }
        4 | 5 => {
            let prot = [Prot::READ, Prot::WRITE][random.index(2)];
            let _ = space.protect(at, bytes, prot, drop);
        }
        6 => {
            let _ = space.set_brk(at, Liar::new(watch), drop);
        }
        _ => {
            let new_len = (1 + random.below(20)) << 12;
            let flags = RemapFlags::MAY_MOVE;
            let remap = Remap {
                start: at,
                old_len: bytes,
                new_len,
                flags,
                new_start: at,
            };
            let _ = space.remap(&remap, drop);
        }
    }
}

type Tiny = Custom<Maple<maple::Custom<maple::Fan<3, 3, 48>, Memory>>>;

fn lie_to<C: Config<Index<Liar>: Default>>(ledger: &mut Ledger) {
    for seed in thinned(0..40) {
        let (watch, mut random) = (Watch::new(), Random::new(seed));
        let mut space: Space<Liar, C> = Space::with_config(LAYOUT).expect("it is Linux's own");
        for step in 0..60 {
            lie_on(&mut space, &mut random, &watch);
            space
                .check()
                .unwrap_or_else(|broken| panic!("seed {seed}, step {step}: {broken}"));
            assert_eq!(watch.alive(), space.len() as u64, "an area has a value");
            ledger.note("vmspace::Value", step, (seed, type_name::<C>()));
        }
        drop(space);
        assert_eq!(watch.alive(), 0);
    }
}

#[test]
fn values_that_lie_break_no_space() {
    let mut ledger = Ledger::new();
    lie_to::<Standard>(&mut ledger);
    lie_to::<Custom<Rbtree>>(&mut ledger);
    lie_to::<Tiny>(&mut ledger);
    ledger.report(6000);
}

#[test]
fn values_that_lie_break_no_space_beside_readers() {
    for seed in thinned(0..40) {
        let (watch, rcu, mut random) = (Watch::new(), Grace::new(), Random::new(seed));
        let space = Shared::<Liar, _, _, Tiny>::new(LAYOUT, &rcu, Latch::default());
        let space = space.expect("it is Linux's own");
        for step in 0..60 {
            lie_on(&mut space.lock(), &mut random, &watch);
            space
                .check()
                .unwrap_or_else(|broken| panic!("seed {seed}, step {step}: {broken}"));
        }
        drop(space);
        rcu.poll(usize::MAX);
        rcu.poll(usize::MAX);
        assert_eq!(watch.alive(), 0);
    }
}
