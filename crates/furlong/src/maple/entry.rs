//! Entries: values of one word.
#![expect(unsafe_code, reason = "a word is the entry that it was made of")]

use core::num::{NonZeroU32, NonZeroUsize};
use core::ptr::{self, NonNull};

use crate::rcu::Batch;

/// A value that a tree keeps in one word, which is never zero.
///
/// # Safety
///
/// Whoever implements the trait promises that `into_word` never returns the same word for two
/// living entries unless both may be made from it, that `from_word` and `borrow` are right for the
/// words that `into_word` returned, and that moving the word moves the entry.
pub unsafe trait Entry: Sized {
    /// What a look-up returns: a reference, or the value itself where that is a number.
    type Ref<'a>: Copy
    where
        Self: 'a;

    /// Gives the entry up for its word.
    fn into_word(self) -> NonNull<()>;

    /// The entry again.
    ///
    /// # Safety
    ///
    /// `word` came from `into_word`, and no other entry was made of it since.
    unsafe fn from_word(word: NonNull<()>) -> Self;

    /// The entry, lent.
    ///
    /// # Safety
    ///
    /// `word` came from `into_word`; and while `'a` lasts no entry is made of it, or that entry is
    /// only given to [`Retire::retire`], and not reclaimed.
    unsafe fn borrow<'a>(word: NonNull<()>) -> Self::Ref<'a>
    where
        Self: 'a;
}

/// An entry of which one part can be cut off.
///
/// A store into the middle of an entry leaves two parts of it, and the upper one needs an entry of
/// its own. An entry whose meaning depends on where it starts (a file's offset, say) should count
/// from a base of its own that does not change, so that a part needs no correction.
pub trait Split: Entry {
    /// Another entry for the same; `None` if there is no memory for it.
    fn split(entry: Self::Ref<'_>) -> Option<Self>;
}

/// An entry that is nothing but its number or its address: dropping one does nothing, and readers
/// that still have it mind nothing.
///
/// # Safety
/// Whoever implements the trait promises that a [`Ref`](Entry::Ref) stays good for as long as its
/// lifetime says, whatever becomes of the entry that it was borrowed from: it is the value itself,
/// or leads to what lives as long.
pub unsafe trait Plain: Entry + Copy {}

/// An entry that readers may still have when it is taken out, and that is dropped after them.
///
/// Where it is given up it is retired, which allocates nothing and waits for nobody. An `Arc` has
/// no room for the link that this takes: it goes into an [`RcuBox`](crate::rcu::RcuBox), and a
/// reader that has found it may clone it and keep the clone, for the tree's own count lasts as long
/// as the guard.
///
/// # Safety
/// Whoever implements the trait promises that what readers may have borrowed from the entry stays
/// as it is after `retire` returned or panicked, until the batch is reclaimed: nothing of it is
/// dropped, freed or changed before. A box cannot be made one that drops itself under its readers:
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
    /// Whether dropping one does nothing but give its memory back, so that nobody waits for it.
    const IS_MEMORY: bool = false;

    /// Adds what has to be dropped, if anything has, to what is retired.
    fn retire(self, batch: &mut Batch);
}

// SAFETY: a plain entry has nothing to be dropped, and what was borrowed from it does not care.
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
        // SAFETY: the word was made of such a reference.
        unsafe { word.cast().as_ref() }
    }

    #[inline]
    unsafe fn borrow<'a>(word: NonNull<()>) -> Self
    where
        Self: 'a,
    {
        // SAFETY: the word was made of such a reference.
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

// SAFETY: its Ref is a reference to what lives for good.
unsafe impl<T> Plain for &'static T {}
