//! The seam `hold`: the owner of a space's state other than its areas.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use crate::forms::Sealed;
use crate::sync::Lent;

/// The way a space holds its state other than the areas: [`Owned`] or [`Lending`].
pub trait Hold: Sealed {
    /// A value held in this way.
    type Of<T: 'static>: DerefMut<Target = T>;
}

/// The space owns the state.
#[derive(Debug)]
pub struct Owned;

/// The state is lent to the space while a lock is held.
#[derive(Debug)]
pub struct Lending<'m>(PhantomData<&'m ()>);

/// A value that the space owns.
#[derive(Clone, Copy, Debug)]
pub struct Own<T>(pub(crate) T);

impl<T> Deref for Own<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Own<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl Sealed for Owned {}

impl Hold for Owned {
    type Of<T: 'static> = Own<T>;
}

impl Sealed for Lending<'_> {}

impl<'m> Hold for Lending<'m> {
    type Of<T: 'static> = Lent<'m, T>;
}
