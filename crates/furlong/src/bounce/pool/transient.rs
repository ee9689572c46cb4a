//! Transient blocks: memory for one mapping, obtained when no area has room.

use crate::addr::{Address, Iova};
use crate::bounce::{Backing, Entry, Row, SLOT, Store};

/// A block for one mapping.
pub(crate) struct Transient {
    pub(crate) backing: Backing,
    /// Slots before the run.
    pub(crate) before: usize,
    pub(crate) generation: u32,
    pub(crate) entry: Entry,
    /// True once a caller has ended the mapping by its address.
    pub(crate) ended: bool,
}

impl Transient {
    /// The device address of the data.
    pub(crate) fn start(&self) -> Iova {
        let before = self.before as u64 * SLOT + u64::from(self.entry.offset);
        Iova::new(self.backing.device.raw() + before)
    }
}

/// All transient blocks. It allocates only when it is made.
pub(crate) struct Transients {
    places: Row<Option<Transient>>,
    generation: u32,
    /// The number of blocks removed so far.
    gone: u32,
}

impl Transients {
    /// Makes a table for up to `limit` blocks; `None` if out of memory.
    pub(crate) fn try_new(limit: usize, store: &Store) -> Option<Self> {
        Some(Self {
            places: store.try_row(limit, |_| Some(None))?,
            generation: 0,
            gone: 0,
        })
    }

    /// Bytes that it takes from a store.
    pub(crate) const fn footprint(limit: usize) -> usize {
        Row::<Option<Transient>>::footprint(limit)
    }

    /// True if there is a place for one more.
    pub(crate) fn has_place(&self) -> bool {
        self.places.iter().any(Option::is_none)
    }

    /// Adds a block. Returns its number and generation, or the block if there is no place.
    pub(crate) fn put(&mut self, transient: Transient) -> Result<(usize, u32), Transient> {
        let Some(at) = self.places.iter().position(Option::is_none) else {
            return Err(transient);
        };
        self.generation = self.generation.wrapping_add(1);
        self.places.as_mut()[at] = Some(Transient {
            generation: self.generation,
            ..transient
        });
        Ok((at, self.generation))
    }

    pub(crate) fn get(&self, at: usize) -> Option<&Transient> {
        self.places.get(at)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut Transient> {
        self.places.as_mut().get_mut(at)?.as_mut()
    }

    /// Marks a block of this generation as ended. Returns false if it is gone or was marked before.
    pub(crate) fn end(&mut self, at: usize, generation: u32) -> bool {
        let place = self.places.as_mut().get_mut(at).and_then(Option::as_mut);
        let same = place.filter(|one| one.generation == generation && !one.ended);
        same.map(|one| one.ended = true).is_some()
    }

    /// Removes a block if it still has this generation.
    pub(crate) fn take(&mut self, at: usize, generation: u32) -> Option<Transient> {
        let place = self.places.as_mut().get_mut(at)?;
        let same = place.as_ref()?.generation == generation;
        if !same {
            return None;
        }
        self.gone = self.gone.wrapping_add(1);
        place.take()
    }

    /// The number of blocks removed so far. If it has changed since the caller's last look, a place
    /// may be free now.
    pub(crate) fn gone(&self) -> u32 {
        self.gone
    }

    /// The block whose memory has this device address.
    pub(crate) fn at(&self, at: Iova) -> Option<(usize, &Transient)> {
        let holds = |transient: &&Transient| {
            let extent = transient.backing.extent();
            extent.is_some_and(|extent| extent.contains(at))
        };
        let mut all = self.iter().filter(|(_, transient)| !transient.ended);
        all.find(|(_, transient)| holds(transient))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Transient)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(at, place)| Some((at, place.as_ref()?)))
    }
}

#[cfg(all(test, feature = "alloc", not(loom)))]
mod tests {
    use super::{Entry, Transient, Transients};
    use crate::addr::Iova;
    use crate::bounce::{Backing, SLOT, Store};
    use core::ptr::NonNull;

    fn transient(at: u64) -> Transient {
        Transient {
            backing: Backing {
                start: NonNull::dangling(),
                device: Iova::new(at),
                len: SLOT as usize,
            },
            before: 0,
            generation: 0,
            entry: Entry::without_original(1, 9),
            ended: false,
        }
    }

    #[test]
    fn a_block_is_ended_and_taken_once_and_only_in_its_generation() {
        let mut all = Transients::try_new(1, &Store::heap()).unwrap();
        let put = |all: &mut Transients| all.put(transient(1 << 20)).ok().unwrap();
        let (at, first) = put(&mut all);
        assert!(all.take(at, first).is_some() && all.take(at, first).is_none());
        let (at, second) = put(&mut all);
        assert!(all.put(transient(1 << 30)).is_err());
        assert!(!all.end(at, first) && all.take(at, first).is_none());
        assert!(all.at(Iova::new(1 << 20)).is_some());
        assert!(all.end(at, second) && !all.end(at, second));
        assert!(all.at(Iova::new(1 << 20)).is_none());
        assert!(all.take(at, second).is_some());
        assert_eq!((all.gone(), all.iter().count()), (2, 0));
    }
}
