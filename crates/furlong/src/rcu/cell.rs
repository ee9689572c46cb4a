//! One value that readers load and a writer replaces.

use core::marker::PhantomData;
use core::ptr::NonNull;

use super::{Batch, Block, Rcu, RcuBox};
use crate::forms::debug_as;
use crate::sync::atomic::{AtomicPtr, Ordering};

/// A value that readers use without waiting while a writer puts another in its place.
///
/// `R` is the domain, or a reference or an `Arc` to it. The replaced value is retired there; a call
/// that polls the domain drops it after the grace period.
///
/// # Example
///
/// ```
/// use furlong::rcu::{Domain, Rcu, RcuBox, RcuCell};
///
/// static RCU: Domain = Domain::new();
/// let routes = RcuCell::new(&RCU, RcuBox::new(vec!["a"]));
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         let reader = RCU.register().unwrap();
///         let guard = reader.enter();
///         let routes = routes.load(&guard);
///         assert!(*routes == ["a"] || *routes == ["a", "b"]);
///     });
///     routes.replace(RcuBox::new(vec!["a", "b"]));
/// });
/// RCU.poll(usize::MAX);
/// ```
///
/// A reference does not outlive its guard:
///
/// ```compile_fail,E0505
/// # use furlong::rcu::{Domain, RcuBox, RcuCell};
/// # static RCU: Domain = Domain::new();
/// # let cell = RcuCell::new(&RCU, RcuBox::new(1));
/// # let reader = RCU.register().unwrap();
/// let guard = reader.enter();
/// let value = cell.load(&guard);
/// drop(guard);
/// assert_eq!(*value, 1);
/// ```
pub struct RcuCell<T, R: Rcu> {
    block: AtomicPtr<Block<T>>,
    rcu: R,
    /// Owns a box; `Send` and `Sync` only as declared below.
    owns: PhantomData<*const T>,
}

// SAFETY: it owns a box of `T` and an `R`.
unsafe impl<T: Send, R: Rcu + Send> Send for RcuCell<T, R> {}
// SAFETY: readers on several threads share the value (`Sync`), and `replace` puts in and takes out
// values across threads (`Send`). The pointer is atomic.
unsafe impl<T: Send + Sync, R: Rcu + Sync> Sync for RcuCell<T, R> {}

impl<T, R: Rcu> RcuCell<T, R> {
    /// A cell with `value`, whose readers hold guards of `rcu`.
    pub fn new(rcu: R, value: RcuBox<T>) -> Self {
        let block = AtomicPtr::new(value.into_raw().as_ptr());
        Self {
            block,
            rcu,
            owns: PhantomData,
        }
    }

    /// The current value, which stays valid until the guard is dropped.
    ///
    /// # Panics
    ///
    /// If the guard does not belong to this cell's domain.
    ///
    /// # Cost
    ///
    /// One load.
    #[inline]
    pub fn load<'g>(&'g self, guard: &'g R::Guard<'_>) -> &'g T {
        assert!(
            self.rcu.covers(guard),
            "the guard belongs to another domain"
        );
        // Acquire: pairs with `cell-put`; the value is seen as it was put in.
        let block = self.block.load(Ordering::Acquire);
        // SAFETY: never null, for it came from a `NonNull`.
        let block = unsafe { NonNull::new_unchecked(block) };
        // SAFETY: the block was in the cell while the guard was held, so it is reclaimed only after
        // the guard is dropped, and it is dropped with the cell only after `'g`, which borrows it.
        unsafe { Block::value(block) }
    }

    /// Stores `value`, and retires the old value.
    ///
    /// # Cost
    ///
    /// One exchange, and the cost of [`Rcu::retire`]. Never waits.
    pub fn replace(&self, value: RcuBox<T>)
    where
        T: Send + 'static,
    {
        // Release, `cell-put`: pairs with the load in `load` and with the acquire here. Acquire:
        // the old value was put in before it is retired.
        let old = self.block.swap(value.into_raw().as_ptr(), Ordering::AcqRel);
        // SAFETY: never null, for it came from a `NonNull`.
        let old = unsafe { NonNull::new_unchecked(old) };
        let mut batch = Batch::new();
        // SAFETY: the exchange took the block out, for one caller, and readers that enter later do
        // not reach it. Readers that reach it hold guards that `rcu` covers, as `load` checks. The
        // pointer is good for the whole block. It is dropped on any thread, for `T: Send`, and at
        // any time, for `T: 'static`.
        unsafe { batch.push(old.cast(), Block::<T>::reclaim) };
        self.rcu.retire(batch);
    }

    /// The domain.
    pub fn rcu(&self) -> &R {
        &self.rcu
    }
}

impl<T, R: Rcu> Drop for RcuCell<T, R> {
    fn drop(&mut self) {
        // Relaxed: `&mut self` orders everything that happened before.
        let block = self.block.load(Ordering::Relaxed);
        // SAFETY: never null, for it came from a `NonNull`.
        let block = unsafe { NonNull::new_unchecked(block) };
        // SAFETY: the cell owns the block, and readers of it borrow the cell: none is left.
        drop(unsafe { RcuBox::from_raw(block) });
    }
}

debug_as! { RcuCell<T, R> where [T, R: Rcu]: RcuCell { .. } }
