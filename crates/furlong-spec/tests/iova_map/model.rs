//! A map as a list of entries next to the map under test. Every operation runs on both.
#![forbid(unsafe_code)]

use std::rc::Rc;

use furlong::addr::{Address, Extent, Iova};
use furlong::check::Check;
use furlong::iova::{Hint, InsertError, Map, RemoveError, Straddles, VecMap};

/// The physical location of an extent of the device's. It cannot be copied, and it is counted.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) base: u64,
    count: Rc<()>,
}

impl Place {
    /// Splits it into its first bytes and the rest.
    pub(crate) fn split(self, bytes: u64) -> (Self, Self) {
        let rest = Self {
            base: self.base.wrapping_add(bytes),
            count: Rc::clone(&self.count),
        };
        (self, rest)
    }
}

/// The first and the last address.
pub(crate) type Run = (u64, u64);

/// The first and the last address, and the location.
type Listed = (Run, u64);

pub(crate) struct Pair {
    pub(crate) map: VecMap<Place>,
    pub(crate) list: Vec<Listed>,
    count: Rc<()>,
    next_base: u64,
}

pub(crate) fn extent((first, last): Run) -> Extent<Iova> {
    Extent::from_last(Iova::new(first), Iova::new(last)).expect("a run is not reversed")
}

fn run(extent: Extent<Iova>) -> Run {
    (extent.start().raw(), extent.last().raw())
}

fn overlaps(one: Run, other: Run) -> bool {
    one.0 <= other.1 && other.0 <= one.1
}

impl Pair {
    pub(crate) fn new() -> Self {
        Self {
            map: Map::new(Vec::new()),
            list: Vec::new(),
            count: Rc::new(()),
            next_base: 0,
        }
    }

    fn owner(&self, address: u64) -> Option<Listed> {
        let owner = self
            .list
            .iter()
            .find(|(at, _)| overlaps(*at, (address, address)));
        owner.copied()
    }

    /// Checks that both have the same entries, that the map is consistent, and that it has returned
    /// every other value.
    pub(crate) fn compare(&self) {
        self.map.check().expect("no invariant is broken");
        let entry = |(at, place): (Extent<Iova>, &Place)| (run(at), place.base);
        let forth: Vec<Listed> = self.map.iter().map(entry).collect();
        assert_eq!(forth, self.list);
        let mut back: Vec<Listed> = self.map.iter().rev().map(entry).collect();
        back.reverse();
        assert_eq!(back, self.list);
        assert_eq!(
            (self.map.len(), self.map.is_empty()),
            (self.list.len(), self.list.is_empty())
        );
        assert_eq!(Rc::strong_count(&self.count), self.list.len() + 1);
    }

    pub(crate) fn insert(&mut self, at: Run) {
        let base = self.next_base;
        self.next_base += 1 << 32;
        let count = Rc::clone(&self.count);
        let conflict = self.list.iter().find(|(other, _)| overlaps(*other, at));
        match self.map.insert(extent(at), Place { base, count }) {
            Ok(()) => {
                assert_eq!(conflict, None);
                self.list.push((at, base));
                self.list.sort_unstable();
            }
            Err(InsertError::Occupied {
                conflict: found,
                value,
            }) => {
                assert_eq!(Some(run(found)), conflict.map(|(other, _)| *other));
                assert_eq!(value.base, base);
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn remove(&mut self, at: Run) {
        let owner = self
            .list
            .iter()
            .copied()
            .find(|(other, _)| overlaps(*other, at));
        let found = self.map.remove(extent(at)).map(|place| place.base);
        let expected = match owner {
            None => Err(RemoveError::Vacant),
            Some((other, base)) if other == at => Ok(base),
            Some((other, _)) => Err(RemoveError::Partial(extent(other))),
        };
        assert_eq!(found, expected);
        self.list
            .retain(|(other, _)| found.is_err() || *other != at);
    }

    pub(crate) fn remove_at(&mut self, address: u64) {
        let found = self.map.remove_at(Iova::new(address));
        let found = found.map(|(at, place)| (run(at), place.base));
        assert_eq!(found, self.owner(address));
        self.list.retain(|entry| Some(*entry) != found);
    }

    pub(crate) fn update(&mut self, address: u64) {
        let found = self.map.update(Iova::new(address), |place| {
            place.base += 1 << 20;
            place.base
        });
        let owner = self
            .list
            .iter_mut()
            .find(|(at, _)| overlaps(*at, (address, address)));
        let changed = owner.map(|(_, base)| {
            *base += 1 << 20;
            *base
        });
        assert_eq!(found, changed);
    }

    fn take(&mut self, range: Run) -> Vec<Listed> {
        let (taken, left) = self.list.iter().partition(|(at, _)| overlaps(*at, range));
        self.list = left;
        taken
    }

    pub(crate) fn unmap_range(&mut self, range: Run) {
        let straddling = |at: &Run| overlaps(*at, range) && (at.0 < range.0 || range.1 < at.1);
        let straddling = self.list.iter().map(|(at, _)| *at).find(straddling);
        let mut removed = Vec::new();
        let found = self.map.unmap_range(extent(range), |at, place| {
            removed.push((run(at), place.base));
        });
        match straddling {
            Some(at) => assert_eq!((found, removed), (Err(Straddles(extent(at))), vec![])),
            None => assert_eq!((found, removed), {
                let taken = self.take(range);
                (Ok(taken.len()), taken)
            }),
        }
    }

    pub(crate) fn invalidate_range(&mut self, range: Run) {
        let mut removed = Vec::new();
        let found = self.map.invalidate_range(extent(range), |at, place| {
            removed.push((run(at), place.base));
        });
        let taken = self.take(range);
        assert_eq!((found, removed), (taken.len(), taken));
    }

    pub(crate) fn cut_range(&mut self, range: Run) {
        let mut removed = Vec::new();
        let found = self
            .map
            .cut_range(extent(range), Place::split, |at, place| {
                removed.push((run(at), place.base));
            });
        let mut pieces = Vec::new();
        for (at, base) in self.take(range) {
            let part = (at.0.max(range.0), at.1.min(range.1));
            let moved = |start: u64| base + (start - at.0);
            if at.0 < part.0 {
                self.list.push(((at.0, part.0 - 1), base));
            }
            if part.1 < at.1 {
                self.list.push(((part.1 + 1, at.1), moved(part.1 + 1)));
            }
            pieces.push((part, moved(part.0)));
        }
        self.list.sort_unstable();
        assert_eq!((found, removed), (Ok(pieces.len()), pieces));
    }

    pub(crate) fn clear(&mut self) {
        let mut removed = Vec::new();
        self.map
            .clear(|at, place| removed.push((run(at), place.base)));
        assert_eq!(removed, core::mem::take(&mut self.list));
    }

    pub(crate) fn look_up(&self, address: u64, hint: &mut Hint) {
        let entry = |(at, place): (Extent<Iova>, &Place)| (run(at), place.base);
        let owner = self.owner(address);
        assert_eq!(self.map.lookup(Iova::new(address), hint).map(entry), owner);
        assert_eq!(self.map.lookup(Iova::new(address), hint).map(entry), owner);
        assert_eq!(self.map.get(Iova::new(address)).map(entry), owner);
    }

    pub(crate) fn entries_in(&self, range: Run) {
        let entry = |(at, place): (Extent<Iova>, &Place)| (run(at), place.base);
        let all = self.list.iter().copied();
        let expected: Vec<Listed> = all.filter(|(at, _)| overlaps(*at, range)).collect();
        let found: Vec<Listed> = self.map.entries_in(extent(range)).map(entry).collect();
        assert_eq!(found, expected);
        // Iterates from both ends in turn until they meet.
        let mut entries = self.map.entries_in(extent(range));
        let (mut low, mut high) = (Vec::new(), Vec::new());
        while let Some(next) = entries.next() {
            low.push(entry(next));
            high.extend(entries.next_back().map(entry));
        }
        assert!(entries.next_back().is_none());
        low.extend(high.into_iter().rev());
        assert_eq!(low, expected);
    }
}
