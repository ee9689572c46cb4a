//! A shared domain costs as much as its space, although it first searches for an extent of the size
//! class.

use furlong::iova::{
    Counts, Custom, Domain, Highest, Largest, Lowest, Measure, NoTlb, OneCpu, Request, Runs,
    Shared, Sided,
};
use furlong::rbtree::{Checked, Off as Uncounted, Tally};
use furlong::sync::SpinLock;

use super::spaces::{PAGE, misaligned};
use super::{N, bound};

type Config<M> = Shared<SpinLock, OneCpu, Uncounted, Custom<M, Checked, Tally>>;
type Of<M> = Domain<NoTlb, Config<M>>;

/// `n` extents, and gaps of `2^order` pages that all begin one page above a multiple of that.
fn domain<M: Measure>(n: usize, order: u32) -> Of<M> {
    let space = misaligned(n, order).closed().build();
    Domain::with_config(space, NoTlb, OneCpu, 1).expect("there is memory")
}

fn visited<M: Measure>(domain: &Of<M>) -> u64 {
    domain.with_space(|space| space.counters().visits())
}

/// The number of nodes visited for a request, and true if it was granted. The grant is released
/// again.
fn visits<M: Measure>(domain: &Of<M>, request: &Request, policy: impl Sided) -> (u64, bool) {
    let before = visited(domain);
    let granted = domain.reserve(request, policy);
    let visits = visited(domain) - before;
    let is_granted = granted.is_ok();
    if let Ok(grant) = granted {
        domain.release_flushed(grant).expect("it is held");
        domain.drain_all();
    }
    (visits, is_granted)
}

/// Requests for gaps of `2^order` pages, of sizes whose class has no place in any gap; true if the
/// request itself has one.
fn requests(order: u32) -> Vec<(Request, bool)> {
    let len = PAGE << order;
    vec![
        (Request::new(len), true),
        (Request::new(len - PAGE / 2), true),
        (Request::new(len / 2 + 1), true),
        (Request::new(len).align(len), false),
        (Request::new(len + 1), false),
        (Request::new(2 * len), false),
    ]
}

fn costs_a_search<M: Measure>(n: usize, prepare: impl Fn(&Of<M>), what: &str) {
    for order in 1..=5 {
        let domain = domain::<M>(n, order);
        for (request, is_there) in requests(order) {
            for is_lowest in [true, false] {
                prepare(&domain);
                let (visits, is_granted) = if is_lowest {
                    visits(&domain, &request, Lowest)
                } else {
                    visits(&domain, &request, Highest)
                };
                eprintln!(
                    "{what}, {n}, order {order}, {} bytes: {visits}",
                    request.size
                );
                assert_eq!(is_granted, is_there, "{request:?}");
                assert!(visits <= bound(n), "{request:?}: {visits}");
            }
        }
    }
}

#[test]
fn where_every_gap_is_misaligned_a_domain_looks_no_further_than_its_space() {
    for n in [N, 10 * N] {
        costs_a_search::<Largest>(n, |_| (), "nothing waits");
    }
}

#[test]
fn it_looks_no_further_with_any_measure() {
    costs_a_search::<Runs<2>>(N, |_| (), "runs");
    costs_a_search::<Runs<7>>(N, |_| (), "runs");
    costs_a_search::<Counts<3>>(N, |_| (), "counts");
}

/// Puts `tokens` pages into quarantine, and as many into magazines.
fn waiting<M: Measure>(domain: &Of<M>, tokens: usize) {
    let page = Request::new(PAGE);
    let pages = (0..2 * tokens).map(|_| domain.reserve(&page, Lowest).expect("there is one"));
    for (number, grant) in pages.collect::<Vec<_>>().into_iter().enumerate() {
        if number < tokens {
            let _ = domain.release_later(grant).expect("it is held");
        } else {
            domain.release_flushed(grant).expect("it is held");
        }
    }
}

#[test]
fn it_looks_no_further_while_a_token_waits_and_a_magazine_has_something() {
    for n in [N, 10 * N] {
        costs_a_search::<Largest>(n, |domain| waiting(domain, 1), "one waits");
    }
}

#[test]
fn many_that_wait_cost_a_success_nothing_and_a_refusal_their_own_release() {
    let domain = domain::<Largest>(N, 3);
    for (request, is_there) in requests(3) {
        waiting(&domain, 50);
        let flushes = domain.cached();
        let (visits, is_granted) = visits(&domain, &request, Lowest);
        eprintln!("fifty wait: {visits}, granted {is_granted}");
        assert_eq!(is_granted, is_there);
        if is_granted {
            assert!(visits <= bound(N), "{visits}");
        } else {
            // A release visits no more nodes than one path down.
            assert!(
                visits <= 3 * bound(N) + 2 * flushes * bound(N) / 2,
                "{visits}"
            );
            assert_eq!((domain.cached(), domain.quarantined()), (0, 0));
        }
        domain.drain_all();
    }
}
