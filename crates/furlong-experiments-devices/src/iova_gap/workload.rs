//! Workloads by kind: the initial reservations and the requests.

use furlong::addr::{Extent, Iova};
use furlong_spec::Random;
use serde::Deserialize;

use super::allocator::{Ask, PAGE, Place};
use furlong_lab::model::{Failure, Workload};

/// Last byte of the space of most workloads: 1 TiB, which is 2^28 pages.
const LAST: u64 = (1 << 40) - 1;

/// The highest address of a device with 32 address lines.
const LAST_32BIT: u64 = (1 << 32) - 1;

/// Pages of the largest extent where sizes vary.
const PAGES_MAX: u64 = 16;

/// Initial reservations and requests, as the plan names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Single pages with gaps of one page between them: two pages fit only after the last one.
    Checkerboard,
    /// Every gap fits; the window begins at any of them.
    Scattered,
    /// A 32-bit limit: below it every gap but the lowest is too small, above it every gap fits.
    #[serde(rename = "window-32bit")]
    Window32,
    /// Every gap has the right size but is one page off the alignment.
    Aligned,
    /// The same, for an allocator that knows its aligned runs.
    AlignedRuns,
    /// Extents of varying size and random lifetime, as low as possible.
    #[serde(rename = "churn-bottom-up")]
    ChurnUp,
    /// The same, as high as possible.
    #[serde(rename = "churn-top-down")]
    ChurnDown,
    /// Sizes, gaps and places vary.
    #[serde(rename = "random-place")]
    Random,
}

/// A parsed workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    /// Extents that are live initially.
    pub(super) extents: u64,
}

impl Shape {
    pub(super) fn of(workload: &Workload) -> Result<Self, Failure> {
        Ok(Self {
            kind: workload.read()?,
            extents: workload.number("extents", 2..=1 << 17)?,
        })
    }

    /// True if each operation replaces an extent; otherwise a grant is released at once.
    pub(super) fn is_churn(self) -> bool {
        matches!(self.kind, Kind::ChurnUp | Kind::ChurnDown)
    }

    /// True if all arms must give the same answers.
    pub(super) fn is_decided(self) -> bool {
        self.kind != Kind::Random
    }

    /// The addresses that can be reserved.
    pub(super) fn space(self) -> Extent<Iova> {
        let last = match self.kind {
            Kind::Window32 => u64::MAX,
            _ => LAST,
        };
        Extent::from_last(Iova::new(0), Iova::new(last)).expect("it begins at 0")
    }

    /// The initial reservations, in ascending order.
    pub(super) fn layout(self, random: &mut Random) -> Vec<Extent<Iova>> {
        let n = self.extents;
        match self.kind {
            Kind::Checkerboard => (0..n).map(|i| pages(2 * i + 1, 1)).collect(),
            Kind::Scattered => (0..n).map(|i| pages(3 * i + 2, 1)).collect(),
            Kind::Window32 => window_32bit(n),
            Kind::Aligned | Kind::AlignedRuns => {
                let others = (0..n).map(|i| pages(32 * i + 17, 16));
                [pages(0, 1)].into_iter().chain(others).collect()
            }
            Kind::ChurnUp | Kind::ChurnDown => {
                let lens: Vec<u64> = (0..n).map(|_| 1 + random.below(PAGES_MAX)).collect();
                let mut next = match self.kind {
                    Kind::ChurnUp => 0,
                    _ => (LAST + 1) / PAGE - lens.iter().sum::<u64>(),
                };
                let packed = lens.into_iter().map(|len| {
                    next += len;
                    pages(next - len, len)
                });
                packed.collect()
            }
            Kind::Random => {
                let room = (LAST + 1) / PAGE / n;
                let scattered = (0..n).map(|i| {
                    let len = 1 + random.below(PAGES_MAX);
                    pages(i * room + random.below(room - len + 1), len)
                });
                scattered.collect()
            }
        }
    }

    /// Draws the next request.
    pub(super) fn ask(self, random: &mut Random) -> Ask {
        let two = Ask {
            size: 2 * PAGE,
            align: PAGE,
            low: 0,
            high: LAST,
            place: Place::Lowest,
        };
        match self.kind {
            Kind::Checkerboard => two,
            Kind::Scattered => Ask {
                low: random.below(3 * self.extents) * PAGE,
                ..two
            },
            Kind::Window32 => Ask {
                high: LAST_32BIT,
                place: Place::Highest,
                ..two
            },
            Kind::Aligned | Kind::AlignedRuns => Ask {
                size: 16 * PAGE,
                align: 16 * PAGE,
                ..two
            },
            Kind::ChurnUp | Kind::ChurnDown => Ask {
                size: (1 + random.below(PAGES_MAX)) * PAGE,
                place: match self.kind {
                    Kind::ChurnUp => Place::Lowest,
                    _ => Place::Highest,
                },
                ..two
            },
            Kind::Random => Ask {
                size: PAGES_MAX * PAGE,
                place: Place::Random(random.next()),
                ..two
            },
        }
    }
}

/// Below 4 GiB, extents with gaps of one page, the lowest gap two pages. Above it, as many pages
/// with gaps of sixteen.
fn window_32bit(n: u64) -> Vec<Extent<Iova>> {
    const PAGES_BELOW: u64 = 1 << 20;
    let room = PAGES_BELOW / n;
    let below = (0..n).map(|i| {
        let first = i * room + if i == 0 { 2 } else { 1 };
        let end = if i == n - 1 {
            PAGES_BELOW
        } else {
            (i + 1) * room
        };
        pages(first, end - first)
    });
    let above = (0..n).map(|i| pages(PAGES_BELOW + 17 * i + 16, 1));
    below.chain(above).collect()
}

/// `len` pages from page `first` on.
fn pages(first: u64, len: u64) -> Extent<Iova> {
    Extent::from_len(Iova::new(first * PAGE), len * PAGE).expect("a layout fits its space")
}

#[cfg(test)]
mod tests {
    use furlong::addr::{Address, Extent, Iova};
    use furlong_spec::Random;

    use super::{Kind, PAGE, Shape};
    use crate::iova_gap::experiment;

    fn shape(kind: Kind, extents: u64) -> Shape {
        Shape { kind, extents }
    }

    /// Sizes in pages of the gaps between the extents below `end`, and the number of those extents.
    fn gaps(extents: &[Extent<Iova>], end: u64) -> (Vec<u64>, usize) {
        let below: Vec<_> = extents.iter().filter(|e| e.start().raw() < end).collect();
        let mut from = 0;
        let gaps = below.iter().map(|extent| {
            let gap = extent.start().raw() - from;
            from = extent.last().raw() + 1;
            gap / PAGE
        });
        (gaps.collect(), below.len())
    }

    #[test]
    fn layouts_ascend_and_lie_in_their_space() {
        for kind in [
            Kind::Checkerboard,
            Kind::Scattered,
            Kind::Window32,
            Kind::Aligned,
            Kind::ChurnUp,
            Kind::ChurnDown,
            Kind::Random,
        ] {
            let shape = shape(kind, 300);
            let layout = shape.layout(&mut Random::new(1));
            assert!(layout.len() >= 300, "{kind:?}");
            assert!(
                layout.iter().all(|e| e.start().is_aligned(PAGE)),
                "{kind:?}"
            );
            let mut pairs = layout.windows(2);
            assert!(
                pairs.all(|pair| pair[0].last() < pair[1].start()),
                "{kind:?}"
            );
            assert!(
                layout
                    .iter()
                    .all(|e| shape.space().intersection(e) == Some(*e))
            );
        }
    }

    #[test]
    fn below_the_32bit_limit_only_the_lowest_gap_fits() {
        let layout = shape(Kind::Window32, 1000).layout(&mut Random::new(1));
        let (gaps, below) = gaps(&layout, 1 << 32);
        assert_eq!(below, 1000);
        assert_eq!(layout[below - 1].last().raw(), (1 << 32) - 1);
        assert_eq!(gaps[0], 2);
        assert!(gaps[1..].iter().all(|gap| *gap == 1));
    }

    #[test]
    fn aligned_gaps_have_the_size_and_miss_the_alignment() {
        let layout = shape(Kind::Aligned, 50).layout(&mut Random::new(1));
        let (gaps, n) = gaps(&layout, u64::MAX);
        assert_eq!((gaps[0], n), (0, 51));
        assert!(gaps[1..].iter().all(|gap| *gap == 16));
        let ends = layout[..50].iter().map(|extent| extent.last().raw() + 1);
        assert!(ends.map(|end| end / PAGE % 16).all(|off| off == 1));
    }

    #[test]
    fn a_layout_that_would_not_fit_is_refused() {
        let mut workload = experiment().request("aligned", 1, false).workload;
        for extents in [0, 1 << 40] {
            workload.params.insert("extents".to_owned(), extents);
            assert!(Shape::of(&workload).is_err());
        }
    }
}
