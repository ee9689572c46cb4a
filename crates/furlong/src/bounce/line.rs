//! Cache lines of one's own.
#![forbid(unsafe_code)]

use super::store::{Row, Store};

/// Keeps a value out of others' cache lines: two, since some processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Padded<T>(pub(super) T);

/// Values in lines that they share with nobody else, `N` a line.
#[derive(Debug)]
pub(super) struct Lines<T, const N: usize>(Row<Padded<[T; N]>>);

impl<T: Default, const N: usize> Lines<T, N> {
    /// `len` values, and the rest of the last line.
    pub(super) fn try_new(len: usize, store: &Store) -> Option<Self> {
        let line = |_| Some(Padded(core::array::from_fn(|_| T::default())));
        store.try_row(len.div_ceil(N), line).map(Self)
    }

    /// Bytes that they take from a store.
    pub(super) const fn footprint(len: usize) -> usize {
        Row::<Padded<[T; N]>>::footprint(len.div_ceil(N))
    }
}

impl<T, const N: usize> Lines<T, N> {
    #[inline]
    pub(super) fn at(&self, index: usize) -> &T {
        &self.0[index / N].0[index % N]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, index: usize) -> &mut T {
        &mut self.0.as_mut()[index / N].0[index % N]
    }
}
