//! Conversions between the words in slots and entries.
//!
//! A tree's slots hold words that came from entries of one type. A word is in one slot of the
//! current tree, and becomes an entry again only when it is removed from the tree (I7). Slots are
//! private to this module and come only from the tree.
#![expect(unsafe_code, reason = "a word is the entry that it was made of")]

use core::marker::PhantomData;

use crate::addr::{Address, Extent};
use crate::maple::{Entry, Retire, Slot, Split, Unique, Word};
use crate::rcu::Batch;

/// The type of a tree's words: entries at addresses.
pub(crate) type Typed<A, E> = PhantomData<(A, E)>;

/// The conversion from a slot to its extent and entry.
pub(crate) struct Words<A, E>(Typed<A, E>);

impl<A: Address, E: Entry> Words<A, E> {
    /// Borrows the entry of a slot. The slot is in the tree, or was when a guard was taken that
    /// lasts for `'a`.
    #[inline(always)]
    pub(crate) fn lend<'a>(slot: Slot) -> (Extent<A>, E::Ref<'a>)
    where
        E: 'a,
    {
        // SAFETY: the slot's word came from an entry (I7). Nobody removes it from the tree, or
        // drops it, while the tree or the guard is borrowed for `'a`.
        (extent(slot.start, slot.last), unsafe {
            E::borrow(slot.word)
        })
    }

    /// Borrows the value of a slot to change it. The slot is in the tree, whose owner is borrowed
    /// for `'a`, and it is lent once in that time.
    pub(crate) fn lend_mut<'a>(slot: Slot) -> (Extent<A>, &'a mut E::Value)
    where
        E: Unique + 'a,
    {
        // SAFETY: the slot's word came from an entry (I7), and is in one slot only. Its tree has
        // one owner, who is borrowed for `'a`, so nobody else reads it or removes it.
        (extent(slot.start, slot.last), unsafe {
            E::borrow_mut(slot.word)
        })
    }

    /// Turns a slot that was removed from the tree into its extent and its entry.
    pub(crate) fn take(slot: Slot) -> (Extent<A>, E) {
        // SAFETY: the slot's word came from an entry, and is no longer in the tree (I7).
        (extent(slot.start, slot.last), unsafe {
            E::from_word(slot.word)
        })
    }

    /// Retires the entry of a slot that was removed from the tree to `batch`, and borrows it from
    /// there, with its extent.
    pub(crate) fn retire<'b>(slot: Slot, batch: &'b mut Batch) -> (Extent<A>, E::Ref<'b>)
    where
        E: Retire + 'b,
    {
        // SAFETY: the slot's word came from an entry, which is not dropped before the batch is
        // reclaimed: borrows of it stay valid until then, as `Retire` promises. The batch is
        // borrowed for as long as the entry.
        let entry = unsafe { E::borrow(slot.word) };
        let (at, owned) = Self::take(slot);
        owned.retire(batch);
        (at, entry)
    }

    /// Turns a word that was not put into the tree back into its entry.
    pub(crate) fn give_back(word: Word) -> E {
        // SAFETY: the word came from an entry just now, and is nowhere else (I7).
        unsafe { E::from_word(word) }
    }

    /// Splits the entry of a word in the tree, and returns the word of the new one.
    pub(crate) fn split(word: Word) -> Option<Word>
    where
        E: Split,
    {
        Self::split_with(word, E::split)
    }

    /// As `split`, on behalf of a new entry with the word `new`. If the user's code panics, the new
    /// entry is dropped.
    pub(crate) fn split_for(new: Word) -> impl FnOnce(Word) -> Option<Word>
    where
        E: Split,
    {
        move |word| {
            let unstored = Unstored::<A, E>(new, PhantomData);
            let split = Self::split(word);
            core::mem::forget(unstored);
            split
        }
    }

    /// Lets `make` make an entry from that of a word in the tree, and returns its word.
    pub(crate) fn split_with(
        word: Word,
        make: impl FnOnce(E::Ref<'_>) -> Option<E>,
    ) -> Option<Word> {
        // SAFETY: the word came from an entry (I7), and nothing is removed before this returns.
        let entry = unsafe { E::borrow(word) };
        make(entry).map(Entry::into_word)
    }
}

/// The word of an entry that is not in the tree yet. Its drop drops the entry.
struct Unstored<A: Address, E: Entry>(Word, Typed<A, E>);

impl<A: Address, E: Entry> Drop for Unstored<A, E> {
    fn drop(&mut self) {
        drop(Words::<A, E>::give_back(self.0));
    }
}

/// The extent from `start` to `last`, which are in order.
#[inline(always)]
pub(crate) fn extent<A: Address>(start: u64, last: u64) -> Extent<A> {
    let (start, last) = (A::from_raw(start), A::from_raw(last.max(start)));
    Extent::from_last(start, last).expect("the last index is not below the first")
}
