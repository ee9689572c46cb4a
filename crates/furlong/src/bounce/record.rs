//! What is known of a mapping: one record, at the first slot of its run.
#![forbid(unsafe_code)]

use super::direction::Direction;
use super::store::{Row, Store};
use crate::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Who has a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A guard, which knows the original.
    Guarded = 0,
    /// A caller by address; the original is in the record.
    Raw = 1,
    /// A caller by address; there is no original.
    Allocated = 2,
    /// Nobody since the pool was restored; whoever claims it is as `Raw`.
    UnclaimedRaw = 3,
    /// Nobody since the pool was restored; whoever claims it is as `Allocated`.
    UnclaimedAllocated = 4,
    /// A caller by address, who points to the original whenever it is copied.
    Pointer = 5,
}

impl Kind {
    /// The kind of this number.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Guarded),
            1 => Some(Self::Raw),
            2 => Some(Self::Allocated),
            3 => Some(Self::UnclaimedRaw),
            4 => Some(Self::UnclaimedAllocated),
            5 => Some(Self::Pointer),
            _ => None,
        }
    }
}

/// What is known of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) device: u32,
    /// Slots of the run.
    pub(super) slots: u32,
    /// Bytes from the start of the run to the data, and bytes of data.
    pub(super) offset: u32,
    pub(super) len: u32,
    pub(super) original: u64,
    pub(super) direction: Direction,
    pub(super) kind: Kind,
}

/// An entry in words that may be read while they are written: the reader is then told nothing, or
/// something old, but nothing of both.
#[derive(Debug, Default)]
struct Record {
    original: AtomicU64,
    /// See `pack`.
    layout: AtomicU64,
    /// The generation, odd while the run is mapped, and the device below it.
    owner: AtomicU64,
}

const FIELD: u32 = 20;
const FIELD_MASK: u64 = (1 << FIELD) - 1;

/// Offset and length take 20 bits each, slots 8, direction and kind 4 each.
fn pack(entry: &Entry) -> u64 {
    u64::from(entry.offset)
        | u64::from(entry.len) << FIELD
        | u64::from(entry.slots) << (2 * FIELD)
        | u64::from(entry.direction as u8) << (2 * FIELD + 8)
        | u64::from(entry.kind as u8) << (2 * FIELD + 12)
}

fn unpack(layout: u64, original: u64, device: u32) -> Option<Entry> {
    Some(Entry {
        device,
        slots: (layout >> (2 * FIELD)) as u32 & 0xff,
        offset: (layout & FIELD_MASK) as u32,
        len: (layout >> FIELD & FIELD_MASK) as u32,
        original,
        direction: Direction::from_number((layout >> (2 * FIELD + 8)) as u8 & 0xf)?,
        kind: Kind::from_number((layout >> (2 * FIELD + 12)) as u8 & 0xf)?,
    })
}

/// The records of a block: for each slot its record, used where a run begins, and how many slots
/// before it its run begins. Two areas may share a line of it: that has the last slots of one,
/// which are taken last, and the first of the other.
#[derive(Debug)]
pub(super) struct Book {
    records: Row<Record>,
    back: Row<AtomicU8>,
}

impl Book {
    pub(super) fn try_new(slots: usize, store: &Store) -> Option<Self> {
        Some(Self {
            records: store.try_row(slots, |_| Some(Record::default()))?,
            back: store.try_row(slots, |_| Some(AtomicU8::new(0)))?,
        })
    }

    /// Bytes that it takes from a store.
    pub(super) const fn footprint(slots: usize) -> usize {
        Row::<Record>::footprint(slots) + Row::<AtomicU8>::footprint(slots)
    }

    /// Notes the mapping whose run begins at `slot`; the caller has the run. Returns its
    /// generation.
    #[inline]
    pub(super) fn open(&self, slot: usize, entry: &Entry) -> u32 {
        // Relaxed, here and below: who has the run writes its records alone, and handed them on
        // with the run, which the area orders.
        let run = &self.back[slot..slot + entry.slots as usize];
        for (back, place) in run.iter().enumerate() {
            place.store(back as u8, Ordering::Relaxed);
        }
        let record = &self.records[slot];
        record.original.store(entry.original, Ordering::Relaxed);
        record.layout.store(pack(entry), Ordering::Relaxed);
        let generation = ((record.owner.load(Ordering::Relaxed) >> 32) as u32).wrapping_add(1);
        let owner = u64::from(generation) << 32 | u64::from(entry.device);
        // Release, `record-open`: pairs with `record-look`.
        record.owner.store(owner, Ordering::Release);
        generation
    }

    /// Ends the mapping whose run begins at `slot`; the caller has the run.
    #[inline]
    pub(super) fn close(&self, slot: usize) {
        let owner = &self.records[slot].owner;
        // Relaxed, twice: as in `open`. The run is given back afterwards, which the area orders.
        let generation = ((owner.load(Ordering::Relaxed) >> 32) as u32).wrapping_add(1);
        owner.store(u64::from(generation) << 32, Ordering::Relaxed);
    }

    /// The same for one who found the mapping by its address: whether nobody else was quicker.
    #[inline]
    pub(super) fn try_close(&self, slot: usize, generation: u32, device: u32) -> bool {
        let now = u64::from(generation) << 32 | u64::from(device);
        let then = u64::from(generation.wrapping_add(1)) << 32;
        // Relaxed: one wins, and what it wins it has seen in `look`.
        self.records[slot]
            .owner
            .compare_exchange(now, then, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Gives a mapping that was found by its address another kind.
    pub(super) fn set_kind(&self, slot: usize, entry: &Entry, kind: Kind) {
        let layout = pack(&Entry { kind, ..*entry });
        // Relaxed: who claims it has the run from now on.
        self.records[slot].layout.store(layout, Ordering::Relaxed);
    }

    /// The mapping of a slot, whichever of its run it is: where the run begins, its generation, and
    /// what is known. `None` if the slot is free.
    #[inline]
    pub(super) fn look(&self, slot: usize) -> Option<(usize, u32, Entry)> {
        // Relaxed, here and below: the caller's own mapping was handed to it, and of another one
        // nothing is promised; a run that does not hold the slot is seen below.
        let back = usize::from(self.back[slot].load(Ordering::Relaxed));
        // Two cases, so that the usual one does not wait for the number.
        let start = if back == 0 {
            slot
        } else {
            slot.checked_sub(back)?
        };
        let record = &self.records[start];
        // Acquire, `record-look`: pairs with `record-open`; its words are those of this mapping.
        let owner = record.owner.load(Ordering::Acquire);
        let generation = (owner >> 32) as u32;
        let (layout, original) = (
            record.layout.load(Ordering::Relaxed),
            record.original.load(Ordering::Relaxed),
        );
        let entry = unpack(layout, original, owner as u32)?;
        (generation % 2 == 1 && back < entry.slots as usize).then_some((start, generation, entry))
    }
}

#[cfg(all(test, feature = "alloc", not(loom)))]
mod tests {
    use super::{Book, Direction, Entry, Kind, Store};

    fn entry(slots: u32) -> Entry {
        Entry {
            device: 7,
            slots,
            offset: 1000,
            len: 2048 * slots - 1000,
            original: u64::MAX - 5,
            direction: Direction::Both,
            kind: Kind::Raw,
        }
    }

    #[test]
    fn every_slot_of_a_run_leads_to_its_record() {
        let book = Book::try_new(256, &Store::heap()).unwrap();
        for slots in [1, 2, 127, 128] {
            let generation = book.open(128, &entry(slots));
            for slot in 128..128 + slots as usize {
                assert_eq!(book.look(slot), Some((128, generation, entry(slots))));
            }
            assert_eq!(book.look(127), None);
            book.close(128);
            assert_eq!(book.look(128), None);
        }
    }

    #[test]
    fn a_mapping_that_has_ended_cannot_end_again() {
        let book = Book::try_new(4, &Store::heap()).unwrap();
        let generation = book.open(0, &entry(2));
        assert!(!book.try_close(0, generation, 8));
        assert!(book.try_close(0, generation, 7));
        assert!(!book.try_close(0, generation, 7));
        assert_ne!(book.open(0, &entry(2)), generation);
    }

    #[test]
    fn a_slot_that_an_older_run_left_behind_is_free() {
        let book = Book::try_new(8, &Store::heap()).unwrap();
        book.open(0, &entry(4));
        book.close(0);
        book.open(0, &entry(2));
        assert_eq!(book.look(3), None);
    }
}
