//! The initial areas: 1 to 16 pages each, with gaps of 1 to 16 pages; every 512th gap has 64 pages.

use furlong_spec::Random;

use super::index::Span;

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;

/// Pages of the largest area, and of the largest gap but for every [`RARE`]th.
pub(super) const PAGES_MAX: u64 = 16;

/// One gap in this many is larger.
const RARE: usize = 512;

/// Pages of the larger gap.
pub(super) const RARE_PAGES: u64 = 64;

/// Lower bound of the first area.
const BASE: u64 = 1 << 30;

/// Areas in ascending order; each area's number is its index.
pub(super) struct Layout {
    pub(super) spans: Vec<Span>,
    /// The gap after each area but the last.
    pub(super) gaps: Vec<Span>,
    /// From the first area to the last.
    pub(super) window: Span,
}

impl Layout {
    /// Makes `areas` areas, at least two.
    pub(super) fn new(areas: usize, random: &mut Random) -> Self {
        let mut free = BASE;
        let mut spans = Vec::with_capacity(areas);
        let mut gaps = Vec::with_capacity(areas);
        for at in 0..areas {
            let span = Span::of_len(free, (1 + random.below(PAGES_MAX)) * PAGE);
            let is_rare = at % RARE == RARE / 2;
            let gap = if is_rare {
                RARE_PAGES
            } else {
                1 + random.below(PAGES_MAX)
            };
            gaps.push(Span::of_len(span.last + 1, gap * PAGE));
            free = span.last + 1 + gap * PAGE;
            spans.push(span);
        }
        gaps.pop();
        let window = Span {
            first: spans[0].first,
            last: spans[areas - 1].last,
        };
        Self {
            spans,
            gaps,
            window,
        }
    }

    /// Areas with their numbers, in uniformly random order.
    pub(super) fn shuffled(&self, random: &mut Random) -> Vec<(Span, u32)> {
        let mut all: Vec<_> = self.numbered().collect();
        random.shuffle(&mut all);
        all
    }

    /// Areas with their numbers, ascending.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (Span, u32)> {
        self.spans.iter().copied().zip(0..)
    }

    /// Sum that an iteration over all areas must give.
    pub(super) fn sum(&self) -> u64 {
        self.numbered()
            .fold(0, |sum, (span, value)| sum.wrapping_add(span.mixed(value)))
    }

    /// Draws an address in an area. Returns it with the area's number.
    pub(super) fn address(&self, random: &mut Random) -> (u64, u32) {
        let at = random.index(self.spans.len());
        let span = self.spans[at];
        (span.first + random.below(span.len()), at as u32)
    }
}

#[cfg(test)]
mod tests {
    use furlong_spec::Random;

    use super::{Layout, PAGE, RARE_PAGES};

    #[test]
    fn areas_ascend_and_few_gaps_are_larger_than_an_area() {
        let layout = Layout::new(2048, &mut Random::new(3));
        assert!(
            layout
                .spans
                .iter()
                .all(|s| (1..=16).contains(&(s.len() / PAGE)))
        );
        let pairs = layout.spans.windows(2).zip(&layout.gaps);
        for (pair, gap) in pairs {
            assert_eq!((pair[0].last + 1, gap.last + 1), (gap.first, pair[1].first));
        }
        let rare = layout.gaps.iter().filter(|gap| gap.len() > 16 * PAGE);
        assert_eq!(rare.clone().count(), 4);
        assert!(rare.into_iter().all(|gap| gap.len() == RARE_PAGES * PAGE));
        assert_eq!(layout.window.last, layout.spans[2047].last);
    }

    #[test]
    fn an_address_lies_in_the_area_that_is_said() {
        let mut random = Random::new(9);
        let layout = Layout::new(20, &mut random);
        for _ in 0..1000 {
            let (address, at) = layout.address(&mut random);
            let span = layout.spans[at as usize];
            assert!(span.first <= address && address <= span.last);
        }
    }
}
