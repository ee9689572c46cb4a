//! Records of mappings: one for each, at the first slot of its run.
#![forbid(unsafe_code)]

use crate::bounce::{Direction, Row, SEGMENT, Store};
use crate::sync::atomic::{AtomicU64, Ordering};

/// The owner of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A guard, which has the original.
    Guarded = 0,
    /// A caller by address; the original is in the record.
    Raw = 1,
    /// A caller by address; there is no original.
    Allocated = 2,
    /// No owner since the pool was restored; becomes `Raw` when it is claimed.
    UnclaimedRaw = 3,
    /// No owner since the pool was restored; becomes `Allocated` when it is claimed.
    UnclaimedAllocated = 4,
    /// A caller by address, who points to the original at each copy.
    Pointer = 5,
}

impl Kind {
    /// The kind with this number.
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

/// The contents of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) device: u32,
    /// Slots of the run.
    pub(crate) slots: u32,
    /// Bytes from the start of the run to the data, and bytes of data.
    pub(crate) offset: u32,
    pub(crate) len: u32,
    pub(crate) original: u64,
    pub(crate) direction: Direction,
    pub(crate) kind: Kind,
}

/// An entry in words that may be read while they are written. A reader then gets nothing, or an old
/// entry, but no mixture.
#[derive(Debug, Default)]
#[repr(align(32))]
struct Record {
    original: AtomicU64,
    /// See `pack`.
    layout: AtomicU64,
    /// See `Owner`.
    owner: AtomicU64,
}

const FIELD: u32 = 20;
const FIELD_MASK: u64 = (1 << FIELD) - 1;
const SLOTS_AT: u32 = 2 * FIELD;
const USE_AT: u32 = SLOTS_AT + 8;

/// Packs direction and kind, in 4 bits each.
#[inline]
const fn pack_use(direction: Direction, kind: Kind) -> u64 {
    direction as u64 | (kind as u64) << 4
}

/// Packs an entry: 20 bits each for offset and length, 8 for slots, then direction and kind.
#[inline]
fn pack(entry: &Entry) -> u64 {
    u64::from(entry.offset)
        | u64::from(entry.len) << FIELD
        | u64::from(entry.slots) << SLOTS_AT
        | pack_use(entry.direction, entry.kind) << USE_AT
}

/// The entry in a layout whose direction and kind are known.
#[inline]
fn unpack_as(direction: Direction, kind: Kind, layout: u64, original: u64, device: u32) -> Entry {
    Entry {
        device,
        slots: (layout >> SLOTS_AT) as u32 & 0xff,
        offset: (layout & FIELD_MASK) as u32,
        len: (layout >> FIELD & FIELD_MASK) as u32,
        original,
        direction,
        kind,
    }
}

fn unpack(layout: u64, original: u64, device: u32) -> Option<Entry> {
    let direction = Direction::from_number((layout >> USE_AT) as u8 & 0xf)?;
    let kind = Kind::from_number((layout >> (USE_AT + 4)) as u8 & 0xf)?;
    Some(unpack_as(direction, kind, layout, original, device))
}

/// The owner of the run that begins at a slot. The high half is a generation, which is odd while
/// the run is mapped. The low half is the device, or 0 while the run is not mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(u64);

impl Owner {
    /// The owner of an unmapped run.
    pub(super) const NOBODY: Self = Self(0);
    /// One generation.
    const ONE: u64 = 1 << 32;

    /// The next generation, mapped by a device.
    #[inline]
    const fn begun(self, device: u32) -> Self {
        Self(self.0.wrapping_add(Self::ONE + device as u64))
    }

    /// The next generation, unmapped.
    #[inline]
    const fn ended(self) -> Self {
        Self((self.0 | (Self::ONE - 1)).wrapping_add(1))
    }

    #[inline]
    const fn is_mapped(self) -> bool {
        self.0 & Self::ONE != 0
    }

    /// True if the owner is this device, in any generation.
    #[inline]
    const fn is(self, device: u32) -> bool {
        self.0 & (2 * Self::ONE - 1) == Self::ONE + device as u64
    }

    const fn device(self) -> u32 {
        self.0 as u32
    }
}

/// The records of a block, one for each slot; the record of a run's first slot is used. Different
/// areas have their records in different cache lines.
pub(crate) struct Book {
    records: Row<Record>,
}

impl Book {
    pub(crate) fn try_new(slots: usize, store: &Store) -> Option<Self> {
        Some(Self {
            records: store.try_lines(slots, |_| Some(Record::default()))?,
        })
    }

    /// Bytes that it takes from a store.
    pub(crate) const fn footprint(slots: usize) -> usize {
        Row::<Record>::footprint_in_lines(slots)
    }

    /// Records the mapping whose run begins at `slot`; the caller has the run.
    #[inline]
    pub(crate) fn open(&self, slot: usize, entry: &Entry) {
        // Relaxed, here and below: only the owner of the run writes its records. They are handed on
        // with the run, which the area orders.
        let record = &self.records[slot];
        record.original.store(entry.original, Ordering::Relaxed);
        record.layout.store(pack(entry), Ordering::Relaxed);
        let owner = Owner(record.owner.load(Ordering::Relaxed)).begun(entry.device);
        // Release, `record-open`: pairs with `record-look`.
        record.owner.store(owner.0, Ordering::Release);
    }

    /// Ends the mapping whose run begins at `slot`; the caller has the run.
    #[inline]
    pub(crate) fn close(&self, slot: usize) {
        let owner = &self.records[slot].owner;
        // Relaxed, twice: as in `open`. The run is given back afterwards, which the area orders.
        owner.store(
            Owner(owner.load(Ordering::Relaxed)).ended().0,
            Ordering::Relaxed,
        );
    }

    /// Ends a mapping that was found by its address. Returns false if another call has ended it.
    #[inline]
    pub(super) fn try_close(&self, slot: usize, owner: Owner) -> bool {
        // Relaxed: one call wins, and it has seen the mapping's words in `look`.
        self.records[slot]
            .owner
            .compare_exchange(
                owner.0,
                owner.ended().0,
                Ordering::Relaxed,
                Ordering::Relaxed,
            )
            .is_ok()
    }

    /// Changes the kind of a mapping that was found by its address.
    pub(crate) fn set_kind(&self, slot: usize, entry: &Entry, kind: Kind) {
        let layout = pack(&Entry { kind, ..*entry });
        // Relaxed: the caller that claims it has the run from now on.
        self.records[slot].layout.store(layout, Ordering::Relaxed);
    }

    /// The mapping of this device, direction and kind whose run begins at `slot`: its owner and its
    /// entry.
    #[inline]
    pub(crate) fn own(
        &self,
        slot: usize,
        device: u32,
        direction: Direction,
        kind: Kind,
    ) -> Option<(Owner, Entry)> {
        let record = &self.records[slot];
        // Acquire, `record-look`: pairs with `record-open`; the words are those of this mapping.
        let owner = Owner(record.owner.load(Ordering::Acquire));
        // Relaxed, twice: the words are seen by the load above.
        let layout = record.layout.load(Ordering::Relaxed);
        let original = record.original.load(Ordering::Relaxed);
        if !owner.is(device) || layout >> USE_AT != pack_use(direction, kind) {
            return None;
        }
        let entry = unpack_as(direction, kind, layout, original, device);
        Some((owner, entry))
    }

    /// The mapping whose run begins at `slot`: its owner and its entry.
    pub(crate) fn start(&self, slot: usize) -> Option<(Owner, Entry)> {
        let record = &self.records[slot];
        // Acquire, `record-look`: pairs with `record-open`, as in `own`.
        let owner = Owner(record.owner.load(Ordering::Acquire));
        // Relaxed, twice: as in `own`.
        let layout = record.layout.load(Ordering::Relaxed);
        let original = record.original.load(Ordering::Relaxed);
        let entry = unpack(layout, original, owner.device())?;
        owner.is_mapped().then_some((owner, entry))
    }

    /// The mapping of any slot: the first slot of its run, its owner and its entry. `None` if the
    /// slot is free.
    ///
    /// Only the nearest run that begins at the slot or before it can have the slot.
    pub(crate) fn look(&self, slot: usize) -> Option<(usize, Owner, Entry)> {
        // Relaxed: the caller's own mapping was handed to it, and nothing is promised for others. A
        // run that does not have the slot is rejected below.
        let owner = |at: usize| Owner(self.records[at].owner.load(Ordering::Relaxed));
        let mut before = (slot.saturating_sub(SEGMENT - 1)..=slot).rev();
        let start = before.find(|at| owner(*at).is_mapped())?;
        let (owner, entry) = self.start(start)?;
        (slot - start < entry.slots as usize).then_some((start, owner, entry))
    }
}

#[cfg(all(test, feature = "alloc", not(loom)))]
impl Entry {
    /// A mapping of device 1 without an original, for tests.
    pub(crate) fn without_original(slots: u32, len: u32) -> Self {
        Self {
            device: 1,
            slots,
            offset: 0,
            len,
            original: 0,
            direction: Direction::Both,
            kind: Kind::Allocated,
        }
    }
}

#[cfg(all(test, feature = "alloc", not(loom)))]
mod tests {
    use super::{Book, Direction, Entry, Kind, Owner, Store};

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
            book.open(128, &entry(slots));
            let (owner, _) = book.start(128).unwrap();
            assert!(owner.is(7) && !owner.is(8));
            for slot in 128..128 + slots as usize {
                assert_eq!(book.look(slot), Some((128, owner, entry(slots))));
            }
            assert_eq!(book.look(127), None);
            book.close(128);
            assert_eq!(book.look(128), None);
        }
    }

    #[test]
    fn a_mapping_is_its_devices_in_its_direction_and_of_its_kind() {
        let book = Book::try_new(2, &Store::heap()).unwrap();
        assert_eq!(book.own(0, 0, Direction::ToDevice, Kind::Guarded), None);
        book.open(0, &entry(2));
        let own = book.own(0, 7, Direction::Both, Kind::Raw);
        assert_eq!(own, book.start(0));
        assert_eq!(own.map(|(_, entry)| entry), Some(entry(2)));
        assert_eq!(book.own(0, 8, Direction::Both, Kind::Raw), None);
        assert_eq!(book.own(0, 7, Direction::ToDevice, Kind::Raw), None);
        assert_eq!(book.own(0, 7, Direction::Both, Kind::Pointer), None);
        assert_eq!(book.own(1, 7, Direction::Both, Kind::Raw), None);
    }

    #[test]
    fn a_mapping_that_has_ended_cannot_end_again() {
        let book = Book::try_new(4, &Store::heap()).unwrap();
        book.open(0, &entry(2));
        let (owner, _) = book.start(0).unwrap();
        assert!(book.try_close(0, owner));
        assert!(!book.try_close(0, owner));
        book.open(0, &entry(2));
        assert!(!book.try_close(0, owner), "it is another one now");
        assert!(book.start(0).is_some());
    }

    #[test]
    fn generations_go_round_without_touching_the_device() {
        let mut owner = Owner(u64::from(u32::MAX - 1) << 32);
        for _ in 0..2 {
            owner = owner.begun(u32::MAX);
            assert!(owner.is_mapped() && owner.is(u32::MAX));
            owner = owner.ended();
            assert!(!owner.is_mapped() && owner.device() == 0);
        }
        assert_eq!(owner, Owner(2 << 32));
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
