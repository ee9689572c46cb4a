//! The places for a request in a gap, and a count of all places, so that one can be drawn at
//! random.

use furlong_experiments_devices::iova_gap::Ask;
use furlong_spec::Random;

/// The lowest place between two bytes.
#[inline]
pub(super) fn lowest_in(first: u64, last: u64, ask: &Ask) -> Option<u64> {
    let start = first.max(ask.low).checked_add(ask.align - 1)? & !(ask.align - 1);
    let room = last.min(ask.high).checked_sub(start)?;
    (ask.size - 1 <= room).then_some(start)
}

/// The highest place between two bytes.
#[inline]
pub(super) fn highest_in(first: u64, last: u64, ask: &Ask) -> Option<u64> {
    let start = last.min(ask.high).checked_sub(ask.size - 1)? & !(ask.align - 1);
    (first.max(ask.low) <= start).then_some(start)
}

/// The lowest place in each gap that has any, and the number of places up to and including that
/// gap.
#[derive(Clone, Default)]
pub(super) struct Starts {
    upto: Vec<(u64, u64)>,
    all: u64,
}

impl Starts {
    /// Forgets all gaps.
    pub(super) fn clear(&mut self) {
        self.upto.clear();
        self.all = 0;
    }

    /// Counts the places between two bytes.
    #[inline]
    pub(super) fn count(&mut self, first: u64, last: u64, ask: &Ask) {
        let Some(lowest) = lowest_in(first, last, ask) else {
            return;
        };
        let room = last.min(ask.high) - (ask.size - 1) - lowest;
        self.all += (room >> ask.align.trailing_zeros()) + 1;
        self.upto.push((lowest, self.all));
    }

    /// One of the places, all of them equally likely.
    pub(super) fn draw(&self, seed: u64, align: u64) -> Option<u64> {
        if self.all == 0 {
            return None;
        }
        let drawn = Random::new(seed).below(self.all);
        let at = self.upto.partition_point(|(_, upto)| *upto <= drawn);
        let below = at.checked_sub(1).map_or(0, |before| self.upto[before].1);
        Some(self.upto[at].0 + (drawn - below) * align)
    }
}
