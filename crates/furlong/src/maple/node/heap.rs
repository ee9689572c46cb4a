//! Entries that own a value on the heap.
#![expect(
    unsafe_code,
    reason = "a word is the box or the reference it was made of"
)]

use alloc::{boxed::Box, sync::Arc, vec::Vec};
use core::fmt;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, needs_drop};
use core::ptr::NonNull;

use crate::addr::Address;
use crate::forms::{copies, debug_as};
use crate::maple::{Config, Entry, Pool, Retire, Session, Split, Unique};
use crate::rcu::{Batch, Rcu, RcuBox};
use crate::sync::RawLock;

// SAFETY: the word is the box's pointer, which has one owner.
unsafe impl<T> Entry for Box<T> {
    type Ref<'a>
        = &'a T
    where
        T: 'a;

    #[inline]
    fn into_word(self) -> NonNull<()> {
        NonNull::from(Box::leak(self)).cast()
    }

    #[inline]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: the pointer came from a box, and no other box was made from it since.
        unsafe { Self::from_raw(word.cast().as_ptr()) }
    }

    #[inline]
    unsafe fn borrow<'a>(word: NonNull<()>) -> &'a T
    where
        T: 'a,
    {
        // SAFETY: the box's value lives until a box is made from the pointer again and used.
        unsafe { word.cast().as_ref() }
    }
}

// SAFETY: a box has one owner, and the word is its pointer.
unsafe impl<T> Unique for Box<T> {
    type Value = T;

    #[inline]
    unsafe fn borrow_mut<'a>(word: NonNull<()>) -> &'a mut T
    where
        T: 'a,
    {
        // SAFETY: the value lives until a box is made from the pointer, and nobody else has it.
        unsafe { word.cast().as_mut() }
    }
}

/// Each part has a box with a clone.
impl<T: Clone> Split for Box<T> {
    fn split(entry: &T) -> Option<Self> {
        let mut one = Vec::new();
        one.try_reserve_exact(1).ok()?;
        one.push(entry.clone());
        let one: *mut [T] = Box::into_raw(one.into_boxed_slice());
        // SAFETY: a slice of one value has the layout of that value, and a box of it had this one.
        Some(unsafe { Self::from_raw(one.cast()) })
    }
}

/// A reference to a value that an [`Arc`] in a tree owns. [`share`](Shared::share) makes another
/// `Arc` of it.
///
/// It is `Send` only if an `Arc` is, because the other thread may drop the value:
/// ```compile_fail,E0277
/// use furlong::maple::Shared;
/// use std::sync::MutexGuard;
///
/// // `Sync`, and not `Send`: a lock is released by the thread that took it.
/// fn goes<'a>(found: Shared<'a, MutexGuard<'static, u32>>) -> impl Send + 'a {
///     found
/// }
/// ```
/// ```compile_fail,E0277
/// use furlong::maple::Shared;
/// use std::sync::MutexGuard;
///
/// fn is_lent<'a>(found: &'a Shared<'a, MutexGuard<'static, u32>>) -> impl Send + 'a {
///     found
/// }
/// ```
pub struct Shared<'a, T> {
    /// The `Arc`'s own pointer: a reference to the value must not reach its counts.
    value: NonNull<T>,
    owner: PhantomData<&'a Arc<T>>,
}

// SAFETY: it is a borrowed `Arc`, so it may go where a reference to one may.
unsafe impl<'a, T> Send for Shared<'a, T> where &'a Arc<T>: Send {}
// SAFETY: as above.
unsafe impl<'a, T> Sync for Shared<'a, T> where &'a Arc<T>: Sync {}

debug_as! { Shared<'_, T> where [T: fmt::Debug]: |it| Shared(it.get()) }

copies! { Shared<'_, T> where [T]; }

impl<T> core::ops::Deref for Shared<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.get()
    }
}

impl<T: PartialEq> PartialEq for Shared<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    /// The value, for as long as the tree or the guard is borrowed.
    #[must_use]
    pub fn get(self) -> &'a T {
        // SAFETY: the `Arc` in the tree holds its count while `'a` lasts, and so its value lives.
        unsafe { self.value.as_ref() }
    }

    /// Another owner of the value.
    #[must_use]
    pub fn share(self) -> Arc<T> {
        // SAFETY: the pointer is an `Arc`'s, and that `Arc` holds its count while `'a` lasts.
        // `ManuallyDrop` keeps this one from giving the count back.
        let owner = ManuallyDrop::new(unsafe { Arc::from_raw(self.value.as_ptr()) });
        Arc::clone(&owner)
    }
}

// SAFETY: the word is the arc's pointer, which stands for one count.
unsafe impl<T> Entry for Arc<T> {
    type Ref<'a>
        = Shared<'a, T>
    where
        T: 'a;

    #[inline]
    fn into_word(self) -> NonNull<()> {
        let value = Self::into_raw(self).cast_mut().cast();
        NonNull::new(value).expect("an Arc's pointer is not null")
    }

    #[inline]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: the pointer came from an `Arc`, whose count belongs to this one now.
        unsafe { Self::from_raw(word.cast().as_ptr()) }
    }

    #[inline]
    unsafe fn borrow<'a>(word: NonNull<()>) -> Shared<'a, T>
    where
        T: 'a,
    {
        Shared {
            value: word.cast(),
            owner: PhantomData,
        }
    }
}

impl<T> Split for Arc<T> {
    fn split(entry: Shared<'_, T>) -> Option<Self> {
        Some(entry.share())
    }
}

// SAFETY: the word is the address of the box's block, which has one owner.
unsafe impl<T> Entry for RcuBox<T> {
    type Ref<'a>
        = &'a T
    where
        T: 'a;

    #[inline]
    fn into_word(self) -> NonNull<()> {
        self.into_address()
    }

    #[inline]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: the address came from a box, and no other box was made from it since.
        unsafe { Self::from_address(word) }
    }

    #[inline]
    unsafe fn borrow<'a>(word: NonNull<()>) -> &'a T
    where
        T: 'a,
    {
        // SAFETY: the block lives until a box is made from the address and dropped. A retired block
        // lives until all guards that may lead to it are gone.
        unsafe { Self::at_address(word) }
    }
}

// SAFETY: a box has one owner, and the word is the address of its block.
unsafe impl<T> Unique for RcuBox<T> {
    type Value = T;

    #[inline]
    unsafe fn borrow_mut<'a>(word: NonNull<()>) -> &'a mut T
    where
        T: 'a,
    {
        // SAFETY: the block lives until a box is made from the address, and nobody else has it.
        unsafe { Self::at_address_mut(word) }
    }
}

/// Each part has a box with a clone.
impl<T: Clone> Split for RcuBox<T> {
    fn split(entry: &T) -> Option<Self> {
        Self::try_new(entry.clone()).ok()
    }
}

// SAFETY: the block goes to the batch with its value, and without drop code it is only memory.
unsafe impl<T: Send + 'static> Retire for RcuBox<T> {
    const IS_MEMORY: bool = !needs_drop::<T>();

    fn retire(self, batch: &mut Batch) {
        self.push_to(batch);
    }
}

/// A box without users, with its last content, from a pool whose tree has boxes of that type.
fn spare<T, G: crate::maple::Geometry, S: crate::maple::Source>(
    pool: &mut Pool<G, S>,
) -> Option<RcuBox<T>> {
    let head = pool.spare().pop()?;
    // SAFETY: a pool gets the entries of one tree, all of one type, and a box's head is at the
    // address of its block. It was popped, so this is the block's only owner.
    Some(unsafe { RcuBox::from_address(head.cast()) })
}

impl<A: Address, T: Send + 'static, R: Rcu, L: RawLock, C: Config>
    Session<'_, A, RcuBox<T>, R, L, C>
{
    /// A box that was kept, or that has no reader any more, with its last content.
    pub(crate) fn spare(&mut self) -> Option<RcuBox<T>> {
        spare(&mut self.pool)
    }

    /// Keeps a box for its memory.
    pub(crate) fn keep(&mut self, entry: RcuBox<T>) {
        entry.push_to(self.pool.spare());
    }

    /// The number of boxes that are kept.
    pub(crate) fn spares(&self) -> usize {
        self.pool.spares()
    }
}
