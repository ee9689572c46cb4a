//! Forgotten results: no entry in them is returned by a later call.
#![forbid(unsafe_code)]

use std::mem::forget;
use std::sync::Arc;

use furlong::check::Check;
use furlong::maple::Heap;
use furlong::rcu::{Domain, Rcu, RcuBox};
use furlong_spec::hostile::{Grace, Watch};

use super::world::{Tiny, beside, counted, extent, read};

#[test]
fn a_displaced_entry_that_was_forgotten_is_never_handed_out_again() {
    for taken in 0..4 {
        let watch = Watch::new();
        let mut map = counted(40, &watch);
        let mut displaced = map.erase_range(extent(0, 999)).expect("there is memory");
        let kept: Vec<_> = displaced.by_ref().take(taken).collect();
        forget(displaced);
        map.check().expect("the map is whole");
        assert_eq!(map.len(), 30);

        let everything = extent(0, u64::MAX);
        let other = Arc::new(watch.value(99));
        let numbers: Vec<u64> = map
            .store(everything, other)
            .expect("there is memory")
            .map(|(_, entry)| entry.number())
            .collect();
        assert_eq!(numbers, (10..40).collect::<Vec<_>>());
        map.check().expect("the map is whole");
        drop(map);
        drop(kept);
        assert_eq!(
            watch.alive(),
            10 - taken as u64,
            "what was forgotten is leaked"
        );
    }
}

#[test]
fn a_removed_entry_that_was_forgotten_is_never_handed_out_again() {
    for taken in 0..4 {
        let (watch, rcu) = (Watch::new(), Domain::new());
        let map = beside(40, &rcu, &watch);
        let mut session = map.lock();
        let mut removed = session
            .erase_range(extent(0, 999))
            .expect("there is memory");
        let kept: Vec<_> = removed.by_ref().take(taken).collect();
        forget(removed);
        let other = RcuBox::new(watch.value(99));
        let numbers: Vec<u64> = session
            .store(extent(0, u64::MAX), other)
            .expect("there is memory")
            .map(|(_, entry)| entry.number())
            .collect();
        assert_eq!(numbers, (10..40).collect::<Vec<_>>());
        drop(session);
        map.check().expect("the map is whole");
        drop(kept);
        drop(map);
        rcu.poll(usize::MAX);
        assert_eq!(
            watch.alive(),
            10 - taken as u64,
            "what was forgotten is leaked"
        );
    }
}

#[test]
fn a_map_whose_session_was_forgotten_can_be_dropped() {
    // A lock that panics if it is held already. With one that waits, the test would hang.
    let (watch, rcu) = (Watch::new(), Grace::new());
    let pieces: Vec<_> = (0..40)
        .map(|number| (number * 9, number * 9, number))
        .collect();
    let map = read::<Tiny<Heap>>(&pieces, &rcu, &watch);
    let mut session = map.lock();
    let all = extent(0, u64::MAX);
    drop(session.erase_range(all).expect("there is memory"));
    forget(session);
    drop(map);
    rcu.poll(usize::MAX);
    assert_eq!(watch.alive(), 0);
}
