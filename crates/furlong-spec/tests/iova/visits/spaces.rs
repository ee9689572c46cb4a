//! Spaces in which a gap is hard to find. The tests count node visits in them.
//!
//! Each is a list of extents and a request that is hard to place among them. A granule is a page.

use furlong::addr::{Address, Extent, Iova};
use furlong::iova::{Config, Guard, Request, Reserved, VecSpace};
use furlong_spec::Random;

use super::pruned::Pruned;

/// Bytes in a granule.
pub(super) const PAGE: u64 = 4096;
/// One past the highest address of a device with 32 address lines.
pub(super) const LOW_END: u64 = 1 << 32;

/// A space, its extents, and a request that is hard to place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// The extent of the whole space.
    pub(super) space: Extent<Iova>,
    /// The extents to reserve, in this order. They do not overlap.
    pub(super) reserved: Vec<Extent<Iova>>,
    /// The extents among them to release afterwards, in this order.
    pub(super) released: Vec<Extent<Iova>>,
    /// The request that is hard to place.
    pub(super) request: Request,
}

impl Layout {
    /// A 64-bit space with `reserved` pages.
    fn new(reserved: impl IntoIterator<Item = Reserved>, request: Request) -> Self {
        Self {
            space: Extent::from_last(Iova::new(0), Iova::new(u64::MAX)).expect("it is not empty"),
            reserved: reserved.into_iter().map(bytes).collect(),
            released: Vec::new(),
            request,
        }
    }

    /// Ends the space with the last extent, so that no gap is left above it.
    ///
    /// # Panics
    /// If nothing is reserved.
    pub(super) fn closed(mut self) -> Self {
        let lasts = self.reserved.iter().map(Extent::last);
        let last = lasts.max().expect("something is reserved");
        self.space = Extent::from_last(self.space.start(), last).expect("it holds the extents");
        self
    }

    /// The same extents, reserved in a random order.
    pub(super) fn shuffled(mut self, seed: u64) -> Self {
        Random::new(seed).shuffle(&mut self.reserved);
        self
    }

    /// The same space with another request.
    pub(super) fn request(mut self, request: Request) -> Self {
        self.request = request;
        self
    }

    /// The extents that stay reserved, in ascending order.
    pub(super) fn live(&self) -> Vec<Extent<Iova>> {
        let mut released: Vec<Iova> = self.released.iter().map(Extent::start).collect();
        released.sort_unstable();
        let is_live = |extent: &&Extent<Iova>| released.binary_search(&extent.start()).is_err();
        let mut live: Vec<Extent<Iova>> = self.reserved.iter().filter(is_live).copied().collect();
        live.sort_unstable_by_key(Extent::start);
        live
    }

    /// The library's space after all these reservations and releases.
    ///
    /// # Panics
    /// If the extents of the layout overlap, or if memory is short.
    pub(super) fn build<C: Config>(&self) -> VecSpace<C> {
        let space = VecSpace::with_config(self.space, PAGE, Vec::new());
        let mut space = space.expect("a layout is made of pages");
        for extent in &self.reserved {
            // Dropping the grant leaves the extent reserved.
            let _ = space.reserve_at(*extent).expect("it overlaps no other");
        }
        for extent in &self.released {
            space.release_at(*extent).expect("it is reserved");
        }
        space
    }
}

/// The extent of these pages in bytes.
fn bytes(pages: Reserved) -> Extent<Iova> {
    let last = pages.last * PAGE + (PAGE - 1);
    Extent::from_last(Iova::new(pages.start * PAGE), Iova::new(last)).expect("it is not empty")
}

/// Extents from page 0 on. `lengths` gives the gap before each extent and its own length, in pages.
fn rows(lengths: impl IntoIterator<Item = (u64, u64)>) -> impl Iterator<Item = Reserved> {
    behind(0, lengths)
}

/// The same extents, from page `end` on.
fn behind(
    mut end: u64,
    lengths: impl IntoIterator<Item = (u64, u64)>,
) -> impl Iterator<Item = Reserved> {
    lengths.into_iter().map(move |(gap, len)| {
        let start = end + gap;
        end = start + len;
        Reserved {
            start,
            last: end - 1,
        }
    })
}

fn pages(count: u64) -> Request {
    Request::new(count * PAGE)
}

/// `n` pages with a gap of one page before each. The request is for two pages, and fits only above
/// all extents.
pub(super) fn checkerboard(n: usize) -> Layout {
    too_small(n, 2)
}

/// `n` pages. The gap before each is one page smaller than the `wanted` pages.
pub(super) fn too_small(n: usize, wanted: u64) -> Layout {
    Layout::new(rows((0..n).map(|_| (wanted - 1, 1))), pages(wanted))
}

/// `n` pages. The gap before each would suffice if the request had no guards.
pub(super) fn unguarded(n: usize) -> Layout {
    Layout::new(rows((0..n).map(|_| (2, 1))), pages(1).guard(Guard::ONE))
}

/// `n` pages. The gap before each is one page too small, except for the one before page `at`.
pub(super) fn one_fits(n: usize, at: usize) -> Layout {
    let gap = |page: usize| if page == at { 2 } else { 1 };
    Layout::new(rows((0..n).map(|page| (gap(page), 1))), pages(2))
}

/// `n` pages with a sufficient gap before each. The window begins in the middle of page `3 n / 8`
/// and ends in the middle of page `5 n / 8`. So the place is at neither end and not at the root.
///
/// # Panics
/// If `n` is less than 8.
pub(super) fn scattered(n: usize) -> Layout {
    assert!(n >= 8, "a window in the middle wants 8 pages");
    let layout = Layout::new(rows((0..n).map(|_| (2, 1))), pages(2));
    let middle = |page: usize| Iova::new(layout.reserved[page].start().raw() + PAGE / 2);
    let request = pages(2).window(middle(3 * n / 8), middle(5 * n / 8));
    layout.request(request)
}

/// `n` extents with a gap of `2^order` pages before each. The request is for `2^order` pages,
/// aligned to as many. Every gap begins one page above a multiple, so none suffices.
///
/// # Panics
/// If `order` is 0.
pub(super) fn misaligned(n: usize, order: u32) -> Layout {
    assert!(order > 0, "every gap begins at a multiple of one page");
    let len = 1 << order;
    let page_0 = Reserved { start: 0, last: 0 };
    let rows = [page_0]
        .into_iter()
        .chain(behind(1, (1..n).map(|_| (len, len))));
    Layout::new(rows, pages(len).align(len * PAGE))
}

/// `n` extents with a gap of `2^order` pages before each, at random starts. The request is for
/// `2^order` pages, aligned to as many, in the window of [`scattered`]. About one gap in `2^order`
/// suffices.
///
/// # Panics
/// If `n` is less than 8.
pub(super) fn aligned(n: usize, order: u32, seed: u64) -> Layout {
    assert!(n >= 8, "a window in the middle wants 8 extents");
    let mut random = Random::new(seed);
    let len = 1 << order;
    let row = |_| (len, 1 + random.below(len));
    let layout = Layout::new(rows((0..n).map(row).collect::<Vec<_>>()), pages(len));
    let middle = |page: usize| Iova::new(layout.reserved[page].start().raw() + PAGE / 2);
    let window = pages(len).window(middle(3 * n / 8), middle(5 * n / 8));
    layout.request(window.align(len * PAGE))
}

/// `n` extents with a gap of two pages before each. The request is for two pages. A multiple of its
/// boundary of 16 pages lies in the middle of every gap, so at most one page fits on either side.
pub(super) fn straddling(n: usize) -> Layout {
    let below = Reserved { start: 0, last: 14 };
    let rows = [below]
        .into_iter()
        .chain(behind(15, (1..n).map(|_| (2, 14))));
    Layout::new(rows, pages(2).boundary(16 * PAGE))
}

/// As [`straddling`], with the gap before extent `at` two pages lower. That gap has the only place,
/// and begins at an odd page.
///
/// # Panics
/// If `at` is 0 or there is no such extent.
pub(super) fn straddling_but_one(n: usize, at: usize) -> Layout {
    assert!(at > 0, "there is no gap before extent 0");
    let mut layout = straddling(n);
    let down = |at: Iova| Iova::new(at.raw() - 2 * PAGE);
    let (below, above) = (layout.reserved[at - 1], layout.reserved[at]);
    let shorter = Extent::from_last(below.start(), down(below.last()));
    let longer = Extent::from_last(down(above.start()), above.last());
    layout.reserved[at - 1] = shorter.expect("it has 14 pages");
    layout.reserved[at] = longer.expect("it has 14 pages");
    layout
}

/// `n` extents with gaps of 2 to 8 pages. Each gap crosses a random multiple of 2 to 32 pages, with
/// less than 5 pages on either side of it. The request is for 5 pages that do not cross a boundary
/// of 8. Two gaps in five do not reach such a boundary, and have less than 5 pages.
pub(super) fn crossings(n: usize, seed: u64) -> Layout {
    let mut random = Random::new(seed);
    let mut start = 0;
    let extents = (0..n).map(|_| {
        let order = 1 + random.below(5);
        let odd = (start >> order | 1) + 2 * (1 + random.below(3));
        let multiple = odd << order;
        let most = if order < 3 { 2 } else { 4 };
        let side = |random: &mut Random| 1 + random.below(most);
        let (below, above) = (side(&mut random), side(&mut random));
        let extent = Reserved {
            start,
            last: multiple - below - 1,
        };
        start = multiple + above;
        extent
    });
    let extents: Vec<_> = extents.collect();
    Layout::new(extents, pages(5).boundary(8 * PAGE))
}

/// `n / 2` extents that fill the low 4 GiB, and `n / 2` pages above with sufficient gaps before
/// them. The request is limited to the low 4 GiB.
pub(super) fn low_full(n: usize) -> Layout {
    let low = Extent::from_end(Iova::new(0), Iova::new(LOW_END)).expect("it is not empty");
    let request = pages(2).window(low.start(), low.last());
    Layout::new(full_low(n / 2).chain(above(n - n / 2, 3)), request)
}

/// As [`low_full`], with a single gap of two pages in the middle of the low 4 GiB.
///
/// # Panics
/// If `n` is less than 4.
pub(super) fn low_one(n: usize) -> Layout {
    assert!(n >= 4, "there are two extents around the gap");
    let mut layout = low_full(n);
    let middle = &mut layout.reserved[n / 4];
    let start = Iova::new(middle.start().raw() + 2 * PAGE);
    *middle = Extent::from_last(start, middle.last()).expect("it has more than two pages");
    layout
}

/// The reverse of [`low_full`]: `n / 2` pages in the low 4 GiB with sufficient gaps, and `n / 2`
/// above with gaps one page too small. The request is limited to the addresses above, in a space
/// that ends with the last page.
pub(super) fn high_full(n: usize) -> Layout {
    let low = rows((0..n / 2).map(|_| (3, 1)));
    let high = above(n - n / 2, 1);
    let request = pages(2).window(Iova::new(LOW_END), Iova::new(u64::MAX));
    Layout::new(low.chain(high), request).closed()
}

/// `n` extents that fill the low 4 GiB.
fn full_low(n: usize) -> impl Iterator<Item = Reserved> {
    let start = move |extent: usize| (LOW_END / PAGE) * extent as u64 / n as u64;
    (0..n).map(move |extent| Reserved {
        start: start(extent),
        last: start(extent + 1) - 1,
    })
}

/// `n` pages above the low 4 GiB with a gap of `gap` pages before each.
fn above(n: usize, gap: u64) -> impl Iterator<Item = Reserved> {
    behind(LOW_END / PAGE, (0..n).map(move |_| (gap, 1)))
}

/// `2^(rank + 1) - 1` pages with a gap of one page before each. So many are then released that the
/// tree is as high as possible: `rank` steps from the root to the lowest node with fewer than `7 *
/// 2^(rank / 2)` nodes, nearly `2 log2 n`. The request is for two pages above the whole left
/// subtree. The nearest sufficient gap is at the lower end of the right subtree.
///
/// # Panics
/// If `rank` is less than 2.
pub(super) fn by_deletions(rank: u32) -> Layout {
    assert!(rank >= 2, "there is a subtree on both sides");
    let pruned = Pruned::new(rank);
    let layout = Layout::new(rows(pruned.nodes().map(|_| (1, 1))), pages(2));
    let page = |node: usize| layout.reserved[pruned.position(node)];
    let root = page(1);
    let all = Layout {
        reserved: pruned.nodes().map(page).collect(),
        released: pruned.released.iter().map(|node| page(*node)).collect(),
        ..layout
    };
    let low = Iova::new(root.start().raw() - PAGE);
    all.request(pages(2).window(low, Iova::new(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::{Layout, aligned, by_deletions, checkerboard, high_full, low_full, low_one};
    use super::{PAGE, crossings, misaligned, one_fits, scattered, straddling};
    use super::{straddling_but_one, unguarded};
    use furlong::addr::{Address, Extent, Iova};
    use furlong::iova::{Custom, Highest, Largest, Lowest, ReserveError, Standard};
    use furlong::rbtree::{Checked, Tally};

    fn all() -> Vec<Layout> {
        let shapes = [checkerboard(50), unguarded(50), one_fits(50, 20)];
        let windows = [scattered(50), aligned(200, 2, 1)];
        let grids = [misaligned(50, 3), straddling(50)];
        let mixed = [crossings(50, 1), straddling_but_one(50, 20)];
        let halves = [low_full(50), low_one(50), high_full(50), by_deletions(9)];
        let layouts = shapes
            .into_iter()
            .chain(windows)
            .chain(grids)
            .chain(mixed)
            .chain(halves);
        layouts.collect()
    }

    #[test]
    fn every_layout_can_be_built_in_every_order() {
        for layout in all() {
            let live = layout.live();
            for layout in [layout.clone(), layout.shuffled(1)] {
                let space = layout.build::<Standard>();
                assert!(space.reserved().map(|owned| owned.extent).eq(live.clone()));
            }
        }
    }

    /// The gaps of a closed layout.
    fn gaps(layout: &Layout) -> Vec<Extent<Iova>> {
        layout.clone().closed().build::<Standard>().free().collect()
    }

    #[test]
    fn no_gap_of_a_hard_layout_holds_its_request() {
        let hard = [
            checkerboard(50),
            unguarded(50),
            misaligned(50, 3),
            straddling(50),
            crossings(50, 1),
            low_full(50),
            high_full(50),
        ];
        for layout in hard {
            let mut space = layout.clone().closed().build::<Standard>();
            let refused = space.reserve(&layout.request, Lowest);
            assert!(matches!(refused, Err(ReserveError::NoSpace { .. })));
        }
        let starts = gaps(&misaligned(50, 3));
        assert_eq!(starts.len(), 49);
        assert!(
            starts
                .iter()
                .all(|gap| gap.start().raw() % (8 * PAGE) == PAGE)
        );
        assert!(starts.iter().all(|gap| gap.len() == Some(8 * PAGE)));
    }

    #[test]
    fn one_gap_fits_where_it_is_said_to() {
        let layout = one_fits(50, 20).closed();
        let expected = gaps(&layout)[20];
        let grant = layout.build::<Standard>().reserve(&layout.request, Highest);
        assert_eq!(grant.unwrap().extent(), expected);
        let layout = low_one(50).closed();
        let grant = layout.build::<Standard>().reserve(&layout.request, Highest);
        assert_eq!(grant.unwrap().extent(), gaps(&layout)[0]);
        let layout = straddling_but_one(50, 20).closed();
        let grant = layout.build::<Standard>().reserve(&layout.request, Lowest);
        assert_eq!(grant.unwrap().extent(), gaps(&layout)[19]);
    }

    #[test]
    fn the_tree_of_deletions_is_as_high_as_it_can_be() {
        for rank in [6, 9, 12] {
            let space = by_deletions(rank).build::<Custom<Largest, Checked, Tally>>();
            let depth = |at: Iova| {
                let before = space.counters().visits();
                assert!(space.owner(at).is_some());
                space.counters().visits() - before
            };
            let height = space
                .reserved()
                .map(|owned| depth(owned.extent.start()))
                .max();
            assert_eq!(height, Some(u64::from(rank) + 1));
            assert!(space.len() < 7 << (rank / 2), "{} nodes", space.len());
        }
    }
}
