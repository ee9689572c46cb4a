//! Requests with a boundary: logarithmic where the measure supports that boundary, and a bounded
//! number of looks where it does not.

use furlong::addr::Address;
use furlong::iova::{
    Best, Boundary, Guard, Highest, Largest, Lowest, Measure, PATIENCE, Request, ReserveError,
    Split,
};

use super::spaces::{
    Layout, PAGE, checkerboard, crossings, scattered, straddling, straddling_but_one,
};
use super::{Counted, Most, N, bound, forms, requests, visits};

/// Spaces of `n` extents in which a boundary is hard, each with a name and the boundary's order.
fn layouts(n: usize) -> [(&'static str, u32, Layout); 5] {
    let within = scattered(n);
    let request = within.request.size(2 * PAGE).boundary(4 * PAGE);
    [
        ("all across", 4, straddling(n)),
        ("one is not", 4, straddling_but_one(n, n / 3)),
        ("the last one is not", 4, straddling_but_one(n, n - 1)),
        ("all sorts", 3, crossings(n, 1)),
        ("gaps of two in a window", 2, within.request(request)),
    ]
}

/// The request of a layout and similar ones, with and without guards, to be cut or not.
fn asked(layout: &Layout, windows: usize) -> Vec<Request> {
    let guards = [(0, 0), (1, 1), (0, 1), (1, 0)].map(|(before, after)| Guard { before, after });
    let splits = [Split::Never, Split::AtBoundary];
    let requests = requests(layout, windows).into_iter();
    let guarded = requests.flat_map(|request| guards.map(|guard| request.guard(guard)));
    let cut = guarded.flat_map(|request| splits.map(|split| request.split(split)));
    // A request longer than its boundary is searched only if it may be cut.
    cut.filter(|request| request.boundary >= Some(request.size))
        .collect()
}

fn hold<M: Measure>(name: &str, n: usize, layout: &Layout, windows: usize, bound: u64) {
    for (form, layout) in forms(layout) {
        let mut space: Counted<M> = layout.build();
        let most = Most::of(&mut space, &asked(&layout, windows));
        most.holds(bound, &format!("{name}, {form}, {n}"));
    }
}

#[test]
fn a_declared_boundary_costs_a_logarithm() {
    for (n, windows) in [(N, 20), (10 * N, 4)] {
        let bound = bound(n);
        for (name, order, layout) in layouts(n) {
            match order {
                2 => hold::<Boundary<2>>(name, n, &layout, windows, bound),
                3 => hold::<Boundary<3>>(name, n, &layout, windows, bound),
                _ => hold::<Boundary<3, Boundary<4>>>(name, n, &layout, windows, bound),
            }
        }
    }
}

#[test]
fn what_another_boundary_declares_helps_no_other() {
    let layout = straddling(N).closed();
    hold::<Boundary<10>>("another one declared", N, &layout, 2, PATIENCE * bound(N));
}

#[test]
fn any_other_boundary_costs_so_many_times_that_at_most() {
    for (n, windows) in [(N, 4), (10 * N, 1)] {
        let bound = PATIENCE * bound(n);
        for (name, _, layout) in layouts(n) {
            hold::<Largest>(name, n, &layout, windows, bound);
        }
    }
}

#[test]
fn the_one_gap_that_is_not_across_a_declared_boundary_is_found_from_both_ends() {
    for at in [1, N / 3, N - 1] {
        let layout = straddling_but_one(N, at).closed();
        let mut space: Counted<Boundary<4>> = layout.build();
        for policy in [true, false] {
            let granted = if policy {
                space.reserve(&layout.request, Lowest)
            } else {
                space.reserve(&layout.request, Highest)
            };
            let grant = granted.expect("there is a place");
            assert_eq!(grant.data().start().raw() % (16 * PAGE), 13 * PAGE);
            space.release(grant).expect("it is held");
        }
    }
}

#[test]
fn a_search_that_gives_up_says_so_and_the_best_fit_does_not() {
    let layout = straddling_but_one(10 * N, 5 * N).closed();
    let mut space: Counted = layout.build();
    let before = space.counters().visits();
    let refused = space.reserve(&layout.request, Lowest);
    assert_eq!(refused, Err(ReserveError::GaveUp(16 * PAGE)));
    // Three quarters of the limit, and two searches, for a start and for a gap that surely suits.
    let visits = space.counters().visits() - before;
    let a_search = 4 * u64::from(space.len().ilog2()) + 16;
    let patience = PATIENCE * 3 / 4 * a_search;
    assert!(
        (patience..=patience + 2 * a_search).contains(&visits),
        "{visits} nodes"
    );
    // A request that may be cut is granted here, although an uncut place exists elsewhere.
    let cut = layout.request.split(Split::AtBoundary);
    let grant = space.reserve(&cut, Lowest).expect("it may be cut");
    assert_eq!(grant.data().len(), Some(PAGE));
    space.release(grant).expect("it is held");
    let grant = space
        .reserve(&layout.request, Best)
        .expect("there is a place");
    assert_eq!(grant.data().start().raw() % (16 * PAGE), 13 * PAGE);
}

#[test]
fn nobody_gives_up_before_a_thousand_gaps() {
    for at in [1, 500, 999] {
        let layout = straddling_but_one(1000, at).closed();
        let mut space: Counted = layout.build();
        let grant = space
            .reserve(&layout.request, Lowest)
            .expect("there is a place");
        space.release(grant).expect("it is held");
        let grant = space
            .reserve(&layout.request, Highest)
            .expect("there is a place");
        space.release(grant).expect("it is held");
    }
}

#[test]
fn a_boundary_that_every_place_keeps_costs_a_search() {
    for layout in [straddling(N).closed(), checkerboard(N)] {
        let mut space: Counted = layout.build();
        for request in [
            Request::new(PAGE).boundary(PAGE),
            Request::new(2 * PAGE).align(2 * PAGE).boundary(16 * PAGE),
            Request::new(16 * PAGE).boundary(16 * PAGE),
        ] {
            assert!(visits(&mut space, &request, Lowest) <= bound(N));
        }
    }
}
