//! The errors of changes. After each of them nothing has changed.

use core::fmt;

use crate::error::{NoMemory, messages};

use crate::addr::{Address, Extent, debug_without_value};

/// The reason why an entry was not inserted. The entry comes back; nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InsertError<A: Address, E> {
    /// Its extent overlaps that of another entry.
    Occupied {
        /// The extent of the first one that it overlaps.
        conflict: Extent<A>,
        /// The entry.
        entry: E,
    },
    /// Out of memory for nodes.
    NoMemory {
        /// The entry.
        entry: E,
    },
}

messages! { InsertError<A, E> where [A: Address, E]:
    Self::Occupied { .. } => "another entry overlaps the extent";
    Self::NoMemory { .. } => "out of memory for nodes";
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
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum StoreError<E> {
    /// Out of memory for nodes.
    NoMemory {
        /// The entry.
        entry: E,
    },
    /// It lies in the middle of an entry that could not be split.
    NoSplit {
        /// The entry.
        entry: E,
    },
}

messages! { StoreError<E> where [E]:
    Self::NoMemory { .. } => "out of memory for nodes";
    Self::NoSplit { .. } => "an entry could not be split";
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

messages! {
    /// The reason why a range was not erased; nothing has changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EraseError {
        /// Out of memory for nodes.
        NoMemory => "out of memory for nodes";
        /// It lies in the middle of an entry that could not be split.
        NoSplit => "an entry could not be split";
    }
}

impl From<NoMemory> for EraseError {
    fn from(NoMemory: NoMemory) -> Self {
        Self::NoMemory
    }
}

/// The reason why an entry was not resized; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResizeError<A: Address> {
    /// No entry contains the index.
    Vacant,
    /// The new extent does not contain the index, or it overlaps the entry with this extent.
    Occupied(Extent<A>),
    /// Out of memory for nodes.
    NoMemory,
}

messages! { ResizeError<A> where [A: Address + fmt::Debug]:
    Self::Vacant => "no entry has the index";
    Self::Occupied(..) => "another entry is in the way";
    Self::NoMemory => "out of memory for nodes";
}
