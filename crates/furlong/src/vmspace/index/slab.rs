//! Records of areas in one array, for a tree with one owner.

use alloc::vec::Vec;
use core::num::NonZeroUsize;

use super::ranges::{IN_USE, pages};
use crate::addr::{Extent, VirtAddr};
use crate::error::reserved;
use crate::vmspace::{Attr, NoMemory, Piece, Record, Value};

/// The number of a record, counted from 1. An entry of the tree is such a number.
pub(super) type Number = NonZeroUsize;

/// Records by number. Free ones are linked to each other.
///
/// The array is freed at once, however many records it has, and drops all their values in any case.
/// If a panic loses the number of a record, that costs a place, but leaks no value.
pub(super) struct Slab<A> {
    records: Vec<Record<A>>,
    /// The first free record.
    free: Option<Number>,
    free_count: usize,
}

impl<A: Value> Slab<A> {
    pub(crate) const fn new() -> Self {
        Self {
            records: Vec::new(),
            free: None,
            free_count: 0,
        }
    }

    /// An empty slab with room for `records` records.
    pub(super) fn with_room(records: usize) -> Result<Self, NoMemory> {
        let records = reserved(records)?;
        Ok(Self {
            records,
            ..Self::new()
        })
    }

    /// The number of records, in use or free.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// The allocated size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record<A>>()
    }

    /// Reserves memory for `records` more records.
    pub(crate) fn reserve(&mut self, records: usize) -> Result<(), NoMemory> {
        let more = records.saturating_sub(self.free_count);
        self.records.try_reserve(more).map_err(|_| NoMemory)
    }

    /// Moves the records into an array without room for more, if there is memory for it.
    pub(super) fn trim(&mut self) {
        if self.records.len() == self.records.capacity() {
            return;
        }
        // Not `shrink_to_fit`, which ends the program if the allocator refuses.
        if let Ok(mut records) = reserved(self.records.len()) {
            records.append(&mut self.records);
            self.records = records;
        }
    }

    /// Adds a record behind all others. Without a value it must be freed later by `gather`.
    ///
    /// # Errors
    /// The value, if out of memory.
    #[inline]
    pub(crate) fn push(&mut self, attr: Attr, value: Option<A>) -> Result<Number, Option<A>> {
        let Some(number) = Number::new(self.records.len() + 1) else {
            return Err(value);
        };
        let is_full = self.records.len() == self.records.capacity();
        if is_full && self.records.try_reserve(1).is_err() {
            return Err(value);
        }
        self.records.push(Record { attr, value });
        Ok(number)
    }

    /// The same with a value, if there is room for it.
    #[inline(always)]
    pub(super) fn push_in_room(&mut self, attr: Attr, value: A) -> Number {
        let len = self.records.len();
        // Tells the compiler that the array does not grow, which frees registers: a fifth of a
        // fork's time.
        assert!(len < self.records.capacity(), "there is room");
        let value = Some(value);
        self.records.push(Record { attr, value });
        Number::MIN.saturating_add(len)
    }

    /// Allocates a record.
    ///
    /// # Errors
    /// The value, as with `push`.
    #[inline]
    pub(crate) fn take(&mut self, attr: Attr, value: A) -> Result<Number, A> {
        let Some(number) = self.free else {
            let pushed = self.push(attr, Some(value));
            return pushed.map_err(|value| value.expect(IN_USE));
        };
        let record = &mut self.records[Self::place(number)];
        let next = usize::try_from(record.attr.origin).ok();
        self.free = next.and_then(Number::new);
        self.free_count -= 1;
        let value = Some(value);
        *record = Record { attr, value };
        Ok(number)
    }

    /// Frees a record, and returns its content.
    #[inline]
    pub(super) fn give(&mut self, number: Number) -> (Attr, A) {
        let next = self.free.map_or(0, Number::get);
        let link = Attr::NONE.with_origin(next as u64);
        let record = &mut self.records[Self::place(number)];
        let attr = core::mem::replace(&mut record.attr, link);
        let value = record.value.take().expect(IN_USE);
        self.free = Some(number);
        self.free_count += 1;
        (attr, value)
    }

    /// Frees the record of a removed area, and returns the area as a piece.
    #[inline]
    pub(crate) fn piece(&mut self, at: Extent<VirtAddr>, number: Number) -> Piece<A> {
        let (attr, value) = self.give(number);
        Piece {
            pages: pages(at),
            attr,
            value: Some(value),
        }
    }

    /// Frees all records without a value, in a slab without free ones.
    pub(super) fn gather(&mut self) {
        for number in (1..=self.records.len()).rev() {
            let record = &mut self.records[number - 1];
            if record.value.is_none() {
                record.attr.origin = self.free.map_or(0, Number::get) as u64;
                self.free = Number::new(number);
                self.free_count += 1;
            }
        }
    }

    /// A record that is in use.
    #[inline(always)]
    pub(crate) fn get(&self, number: Number) -> &Record<A> {
        &self.records[Self::place(number)]
    }

    #[inline(always)]
    pub(super) fn set_attr(&mut self, number: Number, attr: Attr) {
        self.records[Self::place(number)].attr = attr;
    }

    #[inline(always)]
    const fn place(number: Number) -> usize {
        number.get() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::{Attr, Slab};

    #[test]
    fn a_free_record_is_used_again_before_the_array_grows() {
        let mut slab = Slab::new();
        let numbers = [7, 8, 9].map(|value: u32| slab.take(Attr::NONE, value).unwrap());
        assert_eq!(slab.give(numbers[1]).1, 8);
        assert_eq!(slab.give(numbers[0]).1, 7);
        let again = [1, 2].map(|value| slab.take(Attr::NONE, value).unwrap());
        assert_eq!(again, [numbers[0], numbers[1]]);
        assert_eq!((slab.len(), slab.free_count), (3, 0));
        assert_eq!(slab.get(numbers[2]).value, Some(9));
    }

    #[test]
    fn records_without_a_value_are_gathered() {
        let mut slab = Slab::new();
        let values = [None, Some(5), None];
        let numbers = values.map(|value: Option<u32>| slab.push(Attr::NONE, value).unwrap());
        slab.gather();
        assert_eq!(slab.free_count, 2);
        assert_eq!(slab.take(Attr::NONE, 6), Ok(numbers[0]));
        assert_eq!(slab.take(Attr::NONE, 7), Ok(numbers[2]));
        assert!(slab.free.is_none());
    }
}
