//! The errors of changes. After each of them nothing has changed.
#![forbid(unsafe_code)]

use core::fmt;

use thiserror::Error;

use crate::addr::{Address, Extent, debug_without_value};

/// The reason why an entry was not inserted. The entry comes back; nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
pub enum InsertError<A: Address, E> {
    /// Its extent overlaps that of another entry.
    #[error("another entry overlaps the extent")]
    Occupied {
        /// The extent of the first one that it overlaps.
        conflict: Extent<A>,
        /// The entry.
        entry: E,
    },
    /// Out of memory for nodes.
    #[error("out of memory for nodes")]
    NoMemory {
        /// The entry.
        entry: E,
    },
}

impl<A: Address, E> InsertError<A, E> {
    /// The entry that was not inserted.
    pub fn into_entry(self) -> E {
        match self {
            Self::Occupied { entry, .. } | Self::NoMemory { entry } => entry,
        }
    }
}

impl<A: Address, E> fmt::Debug for InsertError<A, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Occupied { conflict, .. } => debug_without_value(f, "Occupied", Some(*conflict)),
            Self::NoMemory { .. } => debug_without_value::<A>(f, "NoMemory", None),
        }
    }
}

/// The reason why an entry was not stored. The entry comes back; nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
pub enum StoreError<E> {
    /// Out of memory for nodes.
    #[error("out of memory for nodes")]
    NoMemory {
        /// The entry.
        entry: E,
    },
    /// It lies in the middle of an entry that could not be split.
    #[error("an entry could not be split")]
    NoSplit {
        /// The entry.
        entry: E,
    },
}

impl<E> StoreError<E> {
    /// The entry that was not stored.
    pub fn into_entry(self) -> E {
        match self {
            Self::NoMemory { entry } | Self::NoSplit { entry } => entry,
        }
    }
}

impl<E> fmt::Debug for StoreError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::NoMemory { .. } => "NoMemory",
            Self::NoSplit { .. } => "NoSplit",
        };
        f.debug_struct(name).finish_non_exhaustive()
    }
}

/// The reason why a range was not erased; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EraseError {
    /// Out of memory for nodes.
    #[error("out of memory for nodes")]
    NoMemory,
    /// It lies in the middle of an entry that could not be split.
    #[error("an entry could not be split")]
    NoSplit,
}

/// The reason why an entry was not resized; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ResizeError<A: Address> {
    /// No entry contains the index.
    #[error("no entry has the index")]
    Vacant,
    /// The new extent does not contain the index, or it overlaps the entry with this extent.
    #[error("another entry is in the way")]
    Occupied(Extent<A>),
    /// Out of memory for nodes.
    #[error("out of memory for nodes")]
    NoMemory,
}
