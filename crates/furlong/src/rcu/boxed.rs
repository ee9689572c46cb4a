//! A value on the heap, with a head.

use alloc::alloc::{alloc, handle_alloc_error};
use alloc::boxed::Box;
use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::{Batch, RcuHead};
use crate::forms::debug_as;

/// A value on the heap together with the head that retiring it needs.
///
/// Outside a structure it behaves like a box. Retiring it cannot fail.
pub struct RcuBox<T> {
    block: NonNull<Block<T>>,
    owns: PhantomData<Block<T>>,
}

/// The allocated block. The head is first: a pointer to it is also one to the block.
#[repr(C)]
pub(super) struct Block<T> {
    head: RcuHead,
    value: T,
}

// SAFETY: it owns its value, as a box does.
unsafe impl<T: Send> Send for RcuBox<T> {}
// SAFETY: a shared reference to it gives a shared reference to the value, and nothing else.
unsafe impl<T: Sync> Sync for RcuBox<T> {}

impl<T> RcuBox<T> {
    /// Moves `value` to the heap. Out of memory, it acts as `Box::new` does.
    pub fn new(value: T) -> Self {
        Self::try_new(value).unwrap_or_else(|_| handle_alloc_error(Layout::new::<Block<T>>()))
    }

    /// Moves `value` to the heap.
    ///
    /// # Errors
    ///
    /// Returns the value if out of memory.
    pub fn try_new(value: T) -> Result<Self, T> {
        // SAFETY: a block is not of size zero, for it has a head.
        let memory = unsafe { alloc(Layout::new::<Block<T>>()) };
        let Some(block) = NonNull::new(memory.cast::<Block<T>>()) else {
            return Err(value);
        };
        // SAFETY: the memory is fresh and has a block's layout.
        unsafe {
            block.write(Block {
                head: RcuHead::new(),
                value,
            });
        };
        Ok(Self {
            block,
            owns: PhantomData,
        })
    }

    /// Moves the value off the heap.
    pub fn into_inner(self) -> T {
        // SAFETY: `into_raw` gives up the only owner, and the block was allocated by the global
        // allocator with its layout.
        unsafe { Box::from_raw(self.into_raw().as_ptr()) }.value
    }

    /// Releases ownership of the block; a structure of this library stores its address.
    pub(crate) fn into_address(self) -> NonNull<()> {
        self.into_raw().cast()
    }

    /// Takes ownership of the block again.
    ///
    /// # Safety
    ///
    /// The address came from `into_address`, and the caller is the block's only owner.
    pub(crate) unsafe fn from_address(address: NonNull<()>) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::from_raw(address.cast()) }
    }

    /// The value of a block that another owner holds.
    ///
    /// # Safety
    ///
    /// The address came from `into_address`, and the block is alive and not written for as long as
    /// the reference is used.
    pub(crate) unsafe fn at_address<'a>(address: NonNull<()>) -> &'a T {
        // SAFETY: the caller's promise.
        unsafe { Block::value(address.cast()) }
    }

    /// The value of a block that another owner holds, to change it.
    ///
    /// # Safety
    ///
    /// The address came from `into_address`, and the block is alive and used by nobody else for as
    /// long as the reference is.
    pub(crate) unsafe fn at_address_mut<'a>(address: NonNull<()>) -> &'a mut T {
        // SAFETY: the caller's promise.
        let block: &'a mut Block<T> = unsafe { address.cast().as_mut() };
        &mut block.value
    }

    /// Adds the block to `batch`; it is dropped after the grace period.
    pub(crate) fn push_to(self, batch: &mut Batch)
    where
        T: Send + 'static,
    {
        let block = self.into_raw();
        // SAFETY: the box was the block's only owner, so no reader that enters later reaches it.
        // The pointer is good for the whole block. It is dropped on any thread, for `T: Send`, and
        // at any time, for `T: 'static`.
        unsafe { batch.push(block.cast(), Block::<T>::reclaim) };
    }

    /// Releases ownership of the block.
    pub(super) fn into_raw(self) -> NonNull<Block<T>> {
        let block = self.block;
        core::mem::forget(self);
        block
    }

    /// Takes ownership of the block again.
    ///
    /// # Safety
    ///
    /// It came from `into_raw`, and the caller is its only owner.
    pub(super) unsafe fn from_raw(block: NonNull<Block<T>>) -> Self {
        Self {
            block,
            owns: PhantomData,
        }
    }
}

impl<T> Block<T> {
    /// The value of a block that another owner holds.
    ///
    /// # Safety
    ///
    /// The block is alive and not written for as long as the reference is used.
    pub(super) unsafe fn value<'a>(block: NonNull<Self>) -> &'a T {
        // SAFETY: the caller's promise.
        let block: &'a Self = unsafe { block.as_ref() };
        &block.value
    }

    /// Reclaims the block that contains this head.
    ///
    /// # Safety
    ///
    /// `head` was made from a block's pointer out of `into_raw`, and the caller is its only owner.
    pub(super) unsafe fn reclaim(head: NonNull<RcuHead>) {
        // SAFETY: the head is the first field of the block (`repr(C)`), and the pointer is good for
        // all of it. The caller is the only owner.
        drop(unsafe { RcuBox::from_raw(head.cast::<Self>()) });
    }
}

impl<T> Drop for RcuBox<T> {
    fn drop(&mut self) {
        // SAFETY: this is the only owner, and the block was allocated by the global allocator with
        // its layout.
        drop(unsafe { Box::from_raw(self.block.as_ptr()) });
    }
}

impl<T> Deref for RcuBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the block is owned and borrowed by `self`.
        unsafe { Block::value(self.block) }
    }
}

impl<T> DerefMut for RcuBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the block is owned and mutably borrowed by `self`.
        let block = unsafe { self.block.as_mut() };
        &mut block.value
    }
}

debug_as! { RcuBox<T> where [T: fmt::Debug]: |it| RcuBox(**it) }
