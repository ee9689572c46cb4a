//! Panics in the user's code: closures, values and their drops.

use core::mem;

use crate::vmspace::{Config, Hold, Index, Pages, Space, Usage, Value};

/// A space that is being changed. If a panic unwinds, its drop recounts the mapped pages: the index
/// is valid after each of its changes, but the counts may lag behind.
struct Changing<'s, A: Value, C: Config, H: Hold>(&'s mut Space<A, C, H>);

impl<A: Value, C: Config, H: Hold> Drop for Changing<'_, A, C, H> {
    fn drop(&mut self) {
        self.0.recount();
    }
}

impl<A: Value, C: Config, H: Hold> Space<A, C, H> {
    /// Runs an operation that calls the user's code while it changes the index.
    #[inline(always)]
    pub(crate) fn changing<T>(&mut self, operation: impl FnOnce(&mut Self) -> T) -> T {
        let changing = Changing(self);
        let done = operation(changing.0);
        mem::forget(changing);
        done
    }

    /// Recounts the mapped pages.
    #[cold]
    pub(crate) fn recount(&mut self) {
        self.state.usage = Usage::default();
        self.state.growing = 0;
        self.state.withheld = 0;
        for area in self.index.iter(Pages::ALL) {
            self.state.count_in(area.pages.len(), area.attr);
        }
    }
}

/// Passes each item to `take`. If that panics, the others are dropped, so that no removal stops
/// halfway.
pub(crate) fn hand_out<T>(items: impl Iterator<Item = T>, take: impl FnMut(T)) {
    struct Rest<I: Iterator>(I);

    impl<I: Iterator> Drop for Rest<I> {
        fn drop(&mut self) {
            self.0.by_ref().for_each(drop);
        }
    }

    Rest(items).0.by_ref().for_each(take);
}
