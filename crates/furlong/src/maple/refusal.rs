//! Conversions of the tree's refusals to the errors of the interface.
#![forbid(unsafe_code)]

use super::error::{EraseError, InsertError, ResizeError, StoreError};
use super::resize::NotResized;
use super::typed::extent;
use super::write::{NotInserted, Refused};
use crate::addr::Address;

pub(super) fn not_inserted<A: Address, E>(refused: NotInserted, entry: E) -> InsertError<A, E> {
    match refused {
        NotInserted::Occupied(slot) => InsertError::Occupied {
            conflict: extent(slot.start, slot.last),
            entry,
        },
        NotInserted::NoMemory => InsertError::NoMemory { entry },
    }
}

pub(super) fn not_stored<E>(refused: Refused, entry: E) -> StoreError<E> {
    match refused {
        Refused::NoMemory => StoreError::NoMemory { entry },
        Refused::NoSplit => StoreError::NoSplit { entry },
    }
}

pub(super) fn not_erased(refused: Refused) -> EraseError {
    match refused {
        Refused::NoMemory => EraseError::NoMemory,
        Refused::NoSplit => EraseError::NoSplit,
    }
}

pub(super) fn not_resized<A: Address>(refused: NotResized) -> ResizeError<A> {
    match refused {
        NotResized::Vacant => ResizeError::Vacant,
        NotResized::Occupied(slot) => ResizeError::Occupied(extent(slot.start, slot.last)),
        NotResized::NoMemory => ResizeError::NoMemory,
    }
}
