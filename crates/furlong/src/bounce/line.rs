//! Cache lines of one's own.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;

/// Keeps a value out of others' cache lines: two, since some processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Padded<T>(pub(super) T);

/// `len` values made by `make`; `None` if there is no memory, or no value.
pub(super) fn try_boxed<T>(
    len: usize,
    mut make: impl FnMut(usize) -> Option<T>,
) -> Option<Box<[T]>> {
    let mut values = Vec::new();
    values.try_reserve_exact(len).ok()?;
    for index in 0..len {
        values.push(make(index)?);
    }
    Some(values.into_boxed_slice())
}

/// Values in lines that they share with nobody else, `N` a line.
#[derive(Debug)]
pub(super) struct Lines<T, const N: usize>(Box<[Padded<[T; N]>]>);

impl<T: Default, const N: usize> Lines<T, N> {
    /// `len` values, and the rest of the last line.
    pub(super) fn try_new(len: usize) -> Option<Self> {
        let line = |_| Some(Padded(core::array::from_fn(|_| T::default())));
        try_boxed(len.div_ceil(N), line).map(Self)
    }
}

impl<T, const N: usize> Lines<T, N> {
    #[inline]
    pub(super) fn at(&self, index: usize) -> &T {
        &self.0[index / N].0[index % N]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, index: usize) -> &mut T {
        &mut self.0[index / N].0[index % N]
    }
}
