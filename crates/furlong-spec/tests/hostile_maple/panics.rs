//! User code that panics at its k-th call.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::sync::Arc;

use furlong::check::Check;
use furlong::rcu::{Domain, Rcu, RcuBox};
use furlong::sync::SpinLock;
use furlong_spec::hostile::{Outcome, Watch, panic_at_every_call, user_code};

use super::world::{Counted, beside, counted, extent, place};

#[test]
fn an_entry_whose_drop_panics_leaves_the_map_and_all_other_entries_whole() {
    let watch = Watch::new();
    let map = RefCell::new(None);
    let panicked = panic_at_every_call(
        |_| {
            let mut map = map.borrow_mut();
            let map = map.insert(counted(40, &watch));
            let other = Arc::new(watch.value(99));
            drop(map.store(extent(5, 2004), other).expect("there is memory"));
        },
        |_, _| {
            let map = map.take().expect("it was made");
            assert_eq!(watch.alive(), 22, "all others were dropped");
            map.check().expect("the map is whole");
            drop(map);
            assert_eq!(watch.alive(), 0);
        },
    );
    assert_eq!(panicked, 19);
}

#[test]
fn an_entry_whose_clone_panics_in_a_store_is_whole_and_the_new_one_is_dropped() {
    let (watch, rcu) = (Watch::new(), Domain::new());
    let map = beside(0, &rcu, &watch);
    let mut session = map.lock();
    let wide = RcuBox::new(watch.value(1));
    session.insert(extent(0, 999), wide).expect("it is free");
    drop(session);
    let panicked = panic_at_every_call(
        |_| {
            let middle = RcuBox::new(watch.value(2));
            let stored = map.lock().store(extent(500, 509), middle).map(drop);
            stored.expect("there is memory");
        },
        |_, outcome| {
            map.check().expect("the map is whole");
            let (len, alive) = match outcome {
                Outcome::Panicked(_) => (1, 1),
                Outcome::Done(()) => (3, 3),
            };
            assert_eq!((map.lock().view().len(), watch.alive()), (len, alive));
        },
    );
    assert_eq!(panicked, 1);
    drop(map);
    assert_eq!(watch.alive(), 0);
}

#[test]
fn what_was_loaded_before_a_panic_of_the_iterator_is_dropped() {
    let watch = Watch::new();
    for len in 0..40 {
        let entries = |number| {
            user_code("Iterator::next");
            (place(number), Arc::new(watch.value(number)))
        };
        let panicked = panic_at_every_call(
            |_| drop(Counted::from_sorted((0..len).map(entries)).expect("they are in order")),
            |_, _| assert_eq!(watch.alive(), 0),
        );
        assert_eq!(panicked, 2 * len);
    }
}

#[test]
fn what_was_copied_before_a_panic_is_dropped() {
    for len in 0..40 {
        let watch = Watch::new();
        let map = counted(len, &watch);
        let panicked = panic_at_every_call(
            |_| {
                let copy = map.duplicate(|_, entry| Ok::<_, ()>(Arc::new((*entry).clone())));
                assert_eq!(copy.expect("there is memory").check(), Ok(()));
            },
            |_, _| assert_eq!(watch.alive(), len),
        );
        assert_eq!(panicked, 2 * len);
    }
}

#[test]
fn what_was_copied_beside_readers_before_a_panic_is_dropped() {
    for len in 0..40 {
        let (watch, rcu) = (Watch::new(), Domain::new());
        let map = beside(len, &rcu, &watch);
        let session = map.lock();
        panic_at_every_call(
            |_| {
                let copy = |_, entry: &_| Ok::<_, ()>(RcuBox::new(Clone::clone(entry)));
                let copy = session.duplicate(&rcu, SpinLock::new(), copy);
                assert_eq!(copy.expect("there is memory").check(), Ok(()));
            },
            |_, _| {
                rcu.poll(usize::MAX);
                assert_eq!(watch.alive(), len);
            },
        );
    }
}
