//! Conversions of the tree's refusals to the errors of the interface.

use super::resize::NotResized;
use super::write::NotInserted;
use crate::addr::Address;
use crate::maple::{EraseError, InsertError, ResizeError, StoreError, extent};

pub(crate) fn not_inserted<A: Address, E>(refused: NotInserted, entry: E) -> InsertError<A, E> {
    match refused {
        NotInserted::Occupied(slot) => InsertError::Occupied {
            conflict: extent(slot.start, slot.last),
            entry,
        },
        NotInserted::NoMemory => InsertError::NoMemory { entry },
    }
}

pub(crate) fn not_stored<E>(refused: EraseError, entry: E) -> StoreError<E> {
    match refused {
        EraseError::NoMemory => StoreError::NoMemory { entry },
        EraseError::NoSplit => StoreError::NoSplit { entry },
    }
}

pub(crate) fn not_resized<A: Address>(refused: NotResized) -> ResizeError<A> {
    match refused {
        NotResized::Vacant => ResizeError::Vacant,
        NotResized::Occupied(slot) => ResizeError::Occupied(extent(slot.start, slot.last)),
        NotResized::NoMemory => ResizeError::NoMemory,
    }
}
