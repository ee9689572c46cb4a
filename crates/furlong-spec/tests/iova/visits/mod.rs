//! Searches visit O(log n) nodes in the spaces where a gap is hardest to find. The visits are
//! counted exactly; `--nocapture` prints them.

use furlong::addr::{Address, Extent, Iova};
use furlong::iova::{
    Counts, Custom, Guard, Highest, LOOKS, Largest, Lowest, Measure, Near, Policy, Random, Request,
    ReserveError, Runs, VecSpace,
};
use furlong::rbtree::{Checked, Tally};

mod boundary;
mod domain;
mod pruned;
mod spaces;

use self::spaces::{
    Layout, PAGE, aligned, by_deletions, checkerboard, high_full, low_full, low_one, misaligned,
    one_fits, scattered, too_small, unguarded,
};

type Counted<M = Largest> = VecSpace<Custom<M, Checked, Tally>>;

/// The number of extents in most layouts.
const N: usize = 10_000;

/// The maximum number of nodes that one search may visit among `n` extents.
fn bound(n: usize) -> u64 {
    (4.0 * (n as f64).log2() + 16.0) as u64
}

/// The number of nodes visited for a request. The grant is released again.
fn visits<M: Measure>(space: &mut Counted<M>, request: &Request, policy: impl Policy) -> u64 {
    let before = space.counters().visits();
    let granted = space.reserve(request, policy);
    let visits = space.counters().visits() - before;
    match granted {
        Ok(grant) => space.release(grant).expect("it is held"),
        Err(ReserveError::NoSpace { .. } | ReserveError::GaveUp(_)) => {}
        Err(error) => panic!("{error}"),
    }
    visits
}

/// The maximum number of nodes visited by any request, by policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Most {
    lowest: u64,
    highest: u64,
    near: u64,
}

impl Most {
    fn of<M: Measure>(space: &mut Counted<M>, requests: &[Request]) -> Self {
        let mut most = Self::default();
        for request in requests {
            let middle = request.low.raw().midpoint(request.high.raw());
            let near = Near(Iova::new(middle));
            most.lowest = most.lowest.max(visits(space, request, Lowest));
            most.highest = most.highest.max(visits(space, request, Highest));
            most.near = most.near.max(visits(space, request, near));
        }
        most
    }

    #[track_caller]
    fn holds(self, bound: u64, what: &str) {
        eprintln!("{what}: {self:?}, at most {bound}");
        assert!(self.lowest <= bound, "{what}: {self:?}, {bound}");
        assert!(self.highest <= bound, "{what}: {self:?}, {bound}");
        // `Near` searches on both sides of its hint.
        assert!(self.near <= 2 * bound, "{what}: {self:?}, {bound}");
    }
}

/// The request of a layout, and slightly smaller and larger ones. Their windows are spread over the
/// space, and begin and end within extents and gaps, at their edges and next to them.
fn requests(layout: &Layout, count: usize) -> Vec<Request> {
    let live = layout.live();
    let near_edges = |extent: &Extent<Iova>| {
        let (start, last) = (extent.start().raw(), extent.last().raw());
        [
            start.saturating_sub(1),
            start,
            start.midpoint(last),
            last,
            last.saturating_add(1 + PAGE / 2),
        ]
    };
    let sampled = live.iter().step_by((live.len() / count).max(1));
    let edges: Vec<u64> = sampled.chain(live.last()).flat_map(near_edges).collect();
    let asked = layout.request;
    let sizes = [
        asked.size / 2,
        asked.size - 1,
        asked.size,
        asked.size + 1,
        2 * asked.size,
    ];
    let windows = edges.iter().flat_map(|edge| {
        let other = edges[(*edge / PAGE) as usize * 7 % edges.len()];
        let edge = *edge;
        [
            (edge, u64::MAX),
            (0, edge),
            (edge.min(other), edge.max(other)),
        ]
    });
    let windows: Vec<_> = windows.collect();
    let mut requests = vec![asked];
    for size in sizes {
        requests.push(asked.size(size));
        for (low, high) in &windows {
            let window = asked.size(size).window(Iova::new(*low), Iova::new(*high));
            requests.push(window);
        }
    }
    requests
}

/// The layout as it is, without a gap above its last extent, and reserved in another order.
fn forms(layout: &Layout) -> [(&'static str, Layout); 3] {
    [
        ("open", layout.clone()),
        ("closed", layout.clone().closed()),
        ("shuffled", layout.clone().shuffled(1)),
    ]
}

#[test]
fn size_and_window_cost_a_logarithm_in_every_hard_space() {
    let layouts = [
        ("checkerboard", checkerboard(N)),
        ("gaps one page too small", too_small(N, 8)),
        ("gaps without room for guards", unguarded(N)),
        ("one gap in the middle fits", one_fits(N, N / 2)),
        ("the first gap fits", one_fits(N, 0)),
        ("the last gap fits", one_fits(N, N - 1)),
        ("scattered", scattered(N)),
        ("low 4 GiB full", low_full(N)),
        ("low 4 GiB full but for a gap", low_one(N)),
        ("all above 4 GiB full", high_full(N)),
    ];
    for (name, layout) in layouts {
        for (form, layout) in forms(&layout) {
            let mut space = layout.build();
            let most = Most::of::<Largest>(&mut space, &requests(&layout, 100));
            most.holds(bound(N), &format!("{name}, {form}"));
        }
    }
}

#[test]
fn size_and_window_cost_a_logarithm_in_every_small_hard_space() {
    for n in [8, 9, 31, 32, 33, 100, 1000] {
        for layout in [
            checkerboard(n),
            one_fits(n, n / 3),
            scattered(n),
            low_one(n),
        ] {
            for (form, layout) in forms(&layout) {
                let mut space = layout.build();
                let most = Most::of::<Largest>(&mut space, &requests(&layout, 100));
                most.holds(bound(n), &format!("{n}, {form}"));
            }
        }
    }
}

/// Every window that begins or ends at a page of `layout`, for requests of these sizes.
fn every_window(layout: &Layout, sizes: &[u64]) -> Vec<Request> {
    let live = layout.live();
    let top = live.last().map_or(0, |extent| extent.last().raw() / PAGE);
    let step = (top / 4000).max(1) as usize;
    let windows = (0..top).step_by(step).flat_map(|page| {
        let edge = Iova::new(page * PAGE);
        let below = Iova::new((page * PAGE).saturating_sub(1));
        [(edge, Iova::new(u64::MAX)), (Iova::new(0), below)]
    });
    let sized = windows.flat_map(|(low, high)| {
        let window = Request::new(1).window(low, high);
        sizes.iter().map(move |size| window.size(size * PAGE))
    });
    sized.collect()
}

#[test]
fn a_tree_made_as_high_as_it_can_be_by_deletions_costs_no_more() {
    for rank in [4, 8, 12, 16] {
        let layout = by_deletions(rank);
        for layout in [layout.clone(), layout.closed()] {
            let mut space: Counted = layout.build();
            let n = space.len();
            let requests = every_window(&layout, &[1, 2, 3, 4, 7, 16, 64]);
            let guards = [(0, 0), (2, 0), (0, 2)].map(|(before, after)| Guard { before, after });
            let guarded = requests
                .iter()
                .flat_map(|request| guards.map(|guard| request.guard(guard)));
            let most = Most::of(&mut space, &guarded.collect::<Vec<_>>());
            // One path down, and another one if the window cuts the first gap too short.
            let ways = 2 * u64::from(rank + 1);
            let what = format!("height {rank}, {n} extents");
            most.holds(ways.min(bound(n)), &what);
            // The search reaches this depth, so the tree is not flat.
            assert!(most.lowest >= u64::from(rank), "{most:?}");
        }
    }
}

#[test]
fn by_address_all_costs_a_way_down_and_releasing_an_inner_node_another() {
    for layout in [checkerboard(N), by_deletions(16)] {
        let mut space: Counted = layout.build();
        let height = 2 * u64::from(space.len().ilog2() + 1);
        let counted = |space: &mut Counted, bound: u64, act: &dyn Fn(&mut Counted) -> bool| {
            let before = space.counters().visits();
            assert!(act(space));
            let visits = space.counters().visits() - before;
            assert!(visits <= bound, "{visits} of {bound}");
        };
        for extent in layout.live().into_iter().step_by(7) {
            counted(&mut space, height, &|space| {
                space.owner(extent.last()).is_some()
            });
            counted(&mut space, height, &|space| {
                space.reserve_at(extent).is_err()
            });
            counted(&mut space, 2 * height, &|space| {
                space.release_at(extent).is_ok()
            });
            counted(&mut space, height, &|space| {
                space.reserve_at(extent).is_ok()
            });
        }
    }
}

#[test]
fn alignment_costs_a_logarithm_with_the_measure_of_runs() {
    let layouts = [
        ("misaligned by one", misaligned(N, 3)),
        ("misaligned by one, large", misaligned(N, 6)),
        ("one gap in eight is aligned", aligned(N, 3, 1)),
    ];
    for (name, layout) in layouts {
        for (form, layout) in forms(&layout) {
            let mut space = layout.build();
            let most = Most::of::<Runs<7>>(&mut space, &requests(&layout, 100));
            most.holds(bound(N), &format!("{name}, {form}"));
        }
    }
}

#[test]
fn alignment_costs_a_way_down_and_one_more_with_the_measure_of_runs_in_the_highest_tree() {
    for rank in [12, 16] {
        let layout = by_deletions(rank);
        let mut space: Counted<Runs<7>> = layout.build();
        for size in [2, 4, 8, 16, 32, 64] {
            let requests = every_window(&layout, &[size]);
            let aligned = requests
                .into_iter()
                .map(|request| request.align(size * PAGE));
            let most = Most::of(&mut space, &aligned.collect::<Vec<_>>());
            // No gap is examined in vain, not even one that the window cuts.
            most.holds(
                2 * u64::from(rank + 1),
                &format!("height {rank}, {size} pages"),
            );
        }
    }
}

#[test]
fn an_alignment_of_just_the_size_costs_a_logarithm_with_the_default_measure() {
    for n in [N, 10 * N] {
        for order in [1, 3, 6] {
            let layouts = [
                ("misaligned by one", misaligned(n, order)),
                ("one gap in some is aligned", aligned(n, order, 1)),
            ];
            for (name, layout) in layouts {
                for (form, layout) in forms(&layout) {
                    let mut space: Counted = layout.build();
                    let len = layout.request.align;
                    let requests = requests(&layout, 40).into_iter();
                    let whole = requests.filter(|request| request.size == len);
                    let most = Most::of(&mut space, &whole.collect::<Vec<_>>());
                    most.holds(bound(n), &format!("{name}, {form}, order {order}, {n}"));
                }
            }
        }
    }
}

/// A request for three pages aligned to four, for layouts where all gaps have four pages and are
/// off by one.
fn three_of_four(layout: &Layout) -> Request {
    layout.request.size(3 * PAGE)
}

#[test]
fn any_other_alignment_costs_so_many_looks_where_there_is_a_sure_gap() {
    // Every gap except for the one above all extents is off by one.
    let layout = misaligned(N, 2);
    let request = three_of_four(&layout).align(8 * PAGE);
    for layout in [layout.clone(), layout.shuffled(1)] {
        let mut space: Counted = layout.build();
        let lowest = visits(&mut space, &request, Lowest);
        eprintln!("misaligned, the default measure: {lowest} nodes");
        assert!(lowest <= 2 * bound(N) + 4 * u64::from(LOOKS), "{lowest}");
        // From above, the first gap fits.
        assert!(visits(&mut space, &request, Highest) <= bound(N));
    }
}

#[test]
fn any_other_alignment_costs_a_look_at_every_gap_where_there_is_no_sure_one() {
    // This cost is the reason for the measure of runs.
    let layout = misaligned(N, 2).closed();
    let request = three_of_four(&layout).align(8 * PAGE);
    let mut space: Counted = layout.build();
    let all = visits(&mut space, &request, Lowest);
    eprintln!("misaligned, nothing sure: {all} nodes");
    assert!(all > N as u64, "{all}");
    // The search goes from gap to gap, and not from the root to each.
    assert!(all <= 3 * N as u64 + 2 * bound(N), "{all}");
    let mut runs: Counted<Runs<4>> = layout.build();
    assert!(visits(&mut runs, &request, Lowest) <= bound(N));
}

#[test]
fn an_exclusion_costs_a_search_on_each_side() {
    let layout = scattered(N);
    let mut space: Counted = layout.build();
    let live = layout.live();
    for (low, high) in [(N / 8, N / 2), (3 * N / 8, N - 1), (0, N / 4)] {
        let (low, high) = (live[low].start(), live[high].start());
        let request = layout.request.exclude(low, high);
        for visits in [
            visits(&mut space, &request, Lowest),
            visits(&mut space, &request, Highest),
        ] {
            assert!(visits <= 2 * bound(N), "{visits}");
        }
    }
}

#[test]
fn a_random_place_costs_three_ways_down_with_the_measure_of_counts() {
    let layouts = [
        checkerboard(N),
        one_fits(N, N / 3),
        scattered(N),
        by_deletions(16),
    ];
    for layout in layouts {
        let mut space: Counted<Counts<6>> = layout.build();
        let height = 2 * u64::from(space.len().ilog2() + 1);
        let mut most = 0;
        for (seed, order) in (0..100).flat_map(|seed| (0..6).map(move |order| (seed, order))) {
            let mut bits = furlong_spec::Random::new(seed);
            let mut random = Random::new(|| bits.next());
            let request = Request::new(PAGE << order);
            most = most.max(visits(&mut space, &request, &mut random));
            assert_eq!((random.rejections(), random.walks()), (0, 0), "{request:?}");
        }
        eprintln!("a place drawn among {}: {most} nodes", space.len());
        assert!(most <= 3 * height, "{most} of {height}");
    }
}
