//! From the words in slots to entries and back.
//!
//! A tree's slots hold words that came from entries of one type; a word stands in one slot of the
//! tree as it is now, and only what is taken out of the tree is made an entry again (I7). Slots are
//! private to this module and come from the tree alone.
#![expect(unsafe_code, reason = "a word is the entry that it was made of")]

use core::marker::PhantomData;

use super::{
    entry::{Entry, Retire, Split},
    leaf::{Slot, Word},
};
use crate::addr::{Address, Extent};
use crate::rcu::Batch;

/// What a tree's words stand for: entries at addresses.
pub(super) type Typed<A, E> = PhantomData<(A, E)>;

/// From a slot to what it stands for.
pub(super) struct Words<A, E>(Typed<A, E>);

impl<A: Address, E: Entry> Words<A, E> {
    /// The extent and the entry of a slot that is in the tree, or was when a guard was taken that
    /// lasts for `'a`.
    #[inline(always)]
    pub(super) fn lend<'a>(slot: Slot) -> (Extent<A>, E::Ref<'a>)
    where
        E: 'a,
    {
        // SAFETY: the slot's word came from an entry (I7), which nobody takes out of the tree, or
        // drops, while the tree or the guard is borrowed for `'a`.
        (extent(slot.start, slot.last), unsafe {
            E::borrow(slot.word)
        })
    }

    /// The extent and the entry of a slot that was taken out of the tree.
    pub(super) fn take(slot: Slot) -> (Extent<A>, E) {
        // SAFETY: the slot's word came from an entry, and it is in the tree no more (I7).
        (extent(slot.start, slot.last), unsafe {
            E::from_word(slot.word)
        })
    }

    /// The extent and the entry of a slot that was taken out of the tree, lent by `batch`, to which
    /// it is retired.
    pub(super) fn retire<'b>(slot: Slot, batch: &'b mut Batch) -> (Extent<A>, E::Ref<'b>)
    where
        E: Retire + 'b,
    {
        // SAFETY: the slot's word came from an entry, which is not dropped before the batch is
        // reclaimed: what was borrowed of it stays as it is until then, as `Retire` promises. The
        // batch is borrowed for as long as the entry is lent.
        let entry = unsafe { E::borrow(slot.word) };
        let (at, owned) = Self::take(slot);
        owned.retire(batch);
        (at, entry)
    }

    /// The entry of a word that was not put into the tree.
    pub(super) fn give_back(word: Word) -> E {
        // SAFETY: the word came from an entry just now, and is nowhere else (I7).
        unsafe { E::from_word(word) }
    }

    /// A word of another entry for the same as that of a word in the tree.
    pub(super) fn split(word: Word) -> Option<Word>
    where
        E: Split,
    {
        Self::split_with(word, E::split)
    }

    /// As `split`, for an entry that is to be stored, whose word is `new`: if the user's code
    /// panics, that entry is dropped.
    pub(super) fn split_for(new: Word) -> impl FnOnce(Word) -> Option<Word>
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

    /// A word of the entry that `make` makes of that of a word in the tree.
    pub(super) fn split_with(
        word: Word,
        make: impl FnOnce(E::Ref<'_>) -> Option<E>,
    ) -> Option<Word> {
        // SAFETY: the word came from an entry (I7), and nothing is taken out before this returns.
        let entry = unsafe { E::borrow(word) };
        make(entry).map(Entry::into_word)
    }
}

/// The word of an entry that is not in the tree yet, and is dropped with this.
struct Unstored<A: Address, E: Entry>(Word, Typed<A, E>);

impl<A: Address, E: Entry> Drop for Unstored<A, E> {
    fn drop(&mut self) {
        drop(Words::<A, E>::give_back(self.0));
    }
}

/// The extent of two indices that are in order.
#[inline(always)]
pub(super) fn extent<A: Address>(start: u64, last: u64) -> Extent<A> {
    let (start, last) = (A::from_raw(start), A::from_raw(last.max(start)));
    Extent::from_last(start, last).expect("the last index is not below the first")
}
