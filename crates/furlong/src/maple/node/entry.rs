//! Entries: values of one word.
#![expect(unsafe_code, reason = "a word is the entry that it was made of")]

use core::num::{NonZeroU32, NonZeroUsize};
use core::ptr::{self, NonNull};

use crate::rcu::Batch;

/// A value that a tree keeps in one word, which is never zero.
///
/// # Safety
///
/// The implementor promises three things. `into_word` never returns the same word for two living
/// entries unless both may be made from it. `from_word` and `borrow` are right for the words that
/// `into_word` returned. Moving the word moves the entry.
pub unsafe trait Entry: Sized {
    /// The result of a look-up: a reference, or the value itself if that is a number.
    type Ref<'a>: Copy
    where
        Self: 'a;

    /// Turns the entry into its word.
    fn into_word(self) -> NonNull<()>;

    /// Turns the word back into the entry.
    ///
    /// # Safety
    ///
    /// `word` came from `into_word`, and no other entry was made from it since.
    unsafe fn from_word(word: NonNull<()>) -> Self;

    /// Borrows the entry of a word.
    ///
    /// # Safety
    ///
    /// `word` came from `into_word`. While `'a` lasts, no entry is made from it; or that entry is
    /// only given to [`Retire::retire`], and is not reclaimed.
    unsafe fn borrow<'a>(word: NonNull<()>) -> Self::Ref<'a>
    where
        Self: 'a;
}

/// An entry that can be cut in two.
///
/// A store into the middle of an entry leaves two parts of it, and the upper part needs an entry of
/// its own. The meaning of an entry may depend on its start, as a file offset does. Then let it
/// count from a base that does not change, so that a part needs no correction.
pub trait Split: Entry {
    /// Makes another entry for the same object; `None` if out of memory.
    fn split(entry: Self::Ref<'_>) -> Option<Self>;
}

/// An entry that owns its value alone, so that whoever owns the tree may change it in place.
///
/// # Safety
/// The implementor promises that no entry but this one leads to the value, and that `borrow_mut` is
/// right for the words that [`into_word`](Entry::into_word) returned.
pub unsafe trait Unique: Entry {
    /// The value.
    type Value;

    /// Borrows the value of a word, to change it.
    ///
    /// # Safety
    ///
    /// `word` came from `into_word`. While `'a` lasts, no entry is made from it, and it is not
    /// borrowed again.
    unsafe fn borrow_mut<'a>(word: NonNull<()>) -> &'a mut Self::Value
    where
        Self: 'a;
}

/// An entry that is only a number or an address: its drop does nothing, and readers may keep it.
///
/// # Safety
/// The implementor promises that a [`Ref`](Entry::Ref) stays valid for its whole lifetime, whatever
/// happens to the entry that it was borrowed from. It is the value itself, or it leads to an object
/// that lives as long.
pub unsafe trait Plain: Entry + Copy {}

/// An entry that readers may still use when it is removed, and that is dropped after them.
///
/// A removed entry is retired, which neither allocates nor waits. An `Arc` has no room for the link
/// that this takes, so put it into an [`RcuBox`](crate::rcu::RcuBox). A reader that has found the
/// `Arc` may clone it and keep the clone: the tree's own count lasts at least as long as the guard.
///
/// # Safety
/// The implementor promises that everything that readers may have borrowed from the entry stays as
/// it is after `retire` returned or panicked, until the batch is reclaimed. Until then no part of
/// it is dropped, freed or changed. The compiler refuses a box that drops itself under its readers:
/// ```compile_fail,E0200
/// use furlong::maple::Retire;
/// use furlong::rcu::Batch;
///
/// struct Area(String);
///
/// impl Retire for Box<Area> {
///     fn retire(self, _: &mut Batch) {
///         drop(self);
///     }
/// }
/// ```
pub unsafe trait Retire: Entry {
    /// True if the drop only frees memory, so that no code needs to wait for it.
    const IS_MEMORY: bool = false;

    /// Adds the entry to the batch, if it has anything to drop.
    fn retire(self, batch: &mut Batch);
}

// SAFETY: a plain entry has nothing to drop, and borrows of it stay valid.
unsafe impl<E: Plain> Retire for E {
    const IS_MEMORY: bool = true;

    fn retire(self, _: &mut Batch) {}
}

#[inline]
fn number(value: usize) -> NonNull<()> {
    NonNull::new(ptr::without_provenance_mut(value)).expect("the number is not 0")
}

// SAFETY: the word is the number plus one, which fits and is not 0.
#[cfg(target_pointer_width = "64")]
unsafe impl Entry for u32 {
    type Ref<'a> = Self;

    #[inline]
    fn into_word(self) -> NonNull<()> {
        number(self as usize + 1)
    }

    #[inline]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        (word.addr().get() - 1) as Self
    }

    #[inline]
    unsafe fn borrow<'a>(word: NonNull<()>) -> Self
    where
        Self: 'a,
    {
        (word.addr().get() - 1) as Self
    }
}

// SAFETY: the word is the number.
unsafe impl Entry for NonZeroU32 {
    type Ref<'a> = Self;

    #[inline]
    fn into_word(self) -> NonNull<()> {
        number(self.get() as usize)
    }

    #[inline]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        Self::try_from(word.addr()).expect("it was one")
    }

    #[inline]
    unsafe fn borrow<'a>(word: NonNull<()>) -> Self
    where
        Self: 'a,
    {
        Self::try_from(word.addr()).expect("it was one")
    }
}

// SAFETY: the word is the number.
unsafe impl Entry for NonZeroUsize {
    type Ref<'a> = Self;

    #[inline]
    fn into_word(self) -> NonNull<()> {
        NonNull::dangling().with_addr(self)
    }

    #[inline]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        word.addr()
    }

    #[inline]
    unsafe fn borrow<'a>(word: NonNull<()>) -> Self
    where
        Self: 'a,
    {
        word.addr()
    }
}

// SAFETY: the word is the reference, which may be copied.
unsafe impl<T> Entry for &'static T {
    type Ref<'a> = Self;

    #[inline]
    fn into_word(self) -> NonNull<()> {
        NonNull::from(self).cast()
    }

    #[inline]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: the word was made from such a reference.
        unsafe { word.cast().as_ref() }
    }

    #[inline]
    unsafe fn borrow<'a>(word: NonNull<()>) -> Self
    where
        Self: 'a,
    {
        // SAFETY: the word was made from such a reference.
        unsafe { word.cast().as_ref() }
    }
}

#[cfg(target_pointer_width = "64")]
impl Split for u32 {
    fn split(entry: Self) -> Option<Self> {
        Some(entry)
    }
}

impl Split for NonZeroU32 {
    fn split(entry: Self) -> Option<Self> {
        Some(entry)
    }
}

impl Split for NonZeroUsize {
    fn split(entry: Self) -> Option<Self> {
        Some(entry)
    }
}

impl<T> Split for &'static T {
    fn split(entry: Self::Ref<'_>) -> Option<Self> {
        Some(entry)
    }
}

// SAFETY: its Ref is the number.
#[cfg(target_pointer_width = "64")]
unsafe impl Plain for u32 {}

// SAFETY: its Ref is the number.
unsafe impl Plain for NonZeroU32 {}

// SAFETY: its Ref is the number.
unsafe impl Plain for NonZeroUsize {}

// SAFETY: its Ref is a reference to a value that is never dropped.
unsafe impl<T> Plain for &'static T {}
