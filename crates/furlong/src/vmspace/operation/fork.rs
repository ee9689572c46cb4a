//! Forks: copies of a space.

use crate::error::messages;

use crate::vmspace::space::address_space::State;
use crate::vmspace::{Area, Config, Entry, Errno, Flags, Hold, Index, Space, Value};

/// The reason why there is no child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkError<E> {
    /// Out of memory for the index.
    NoMemory,
    /// The caller refused an area.
    Refused(E),
}

messages! { ForkError<E> where [E: core::error::Error]:
    Self::NoMemory => "out of memory for the index";
    Self::Refused(it) => "an area was not copied: {it}";
}

impl<E: Into<Errno>> ForkError<E> {
    /// The error number that Linux returns, or that of the caller's refusal.
    #[must_use]
    pub fn errno(self) -> Errno {
        match self {
            Self::NoMemory => Errno::Enomem,
            Self::Refused(cause) => cause.into(),
        }
    }
}

impl<E: Into<Errno>> From<ForkError<E>> for Errno {
    fn from(error: ForkError<E>) -> Self {
        error.errno()
    }
}

impl<A: Value, C: Config, H: Hold> Space<A, C, H> {
    /// Makes this empty space the child of a fork of `parent`. It gets the same areas, limits and
    /// break, without the areas that a fork [does not copy](Flags::DONT_COPY). `copy` makes the
    /// child's value for each area, in ascending order. The flags of the area tell `copy` whether
    /// it is to be [wiped](Flags::WIPE_ON_FORK) or is [shared](Flags::SHARED).
    ///
    /// # Errors
    /// See [`ForkError`]. The parent has not changed. After a refusal this space has the areas that
    /// were copied before it, for the caller to drop; without memory it may have fewer or none, and
    /// the values made for the others were dropped.
    ///
    /// # Panics
    /// If this space is not empty, or has pages of another size than the parent.
    ///
    /// # Cost
    /// O(n). With a tree of areas, one allocation for all nodes. With the B-tree, nodes are copied
    /// as they are, in blocks, and records into one array, unless areas are left out.
    pub fn copy_from<D: Config, G: Hold, E>(
        &mut self,
        parent: &Space<A, D, G>,
        mut copy: impl FnMut(Area<'_, A>) -> Result<A, E>,
    ) -> Result<(), ForkError<E>> {
        assert!(self.is_empty(), "a child has nothing before");
        let of_parent = *parent.state;
        // Those who read without the lock keep the size with which the space was made.
        let is_alike = self.state.layout.page == of_parent.layout.page;
        assert!(is_alike, "a child has its parent's page size");
        *self.state = State {
            usage: crate::vmspace::Usage::default(),
            growing: 0,
            withheld: 0,
            ..of_parent
        };
        let is_whole = of_parent.withheld == 0;
        let copied = self.changing(|child| {
            if is_whole {
                let copy = |entry: Entry<'_, A>| copy(parent.area(entry));
                return child.index.duplicate_from(&parent.index, copy);
            }
            child.index.copy_from(&parent.index, |entry| {
                if entry.attr.flags().contains(Flags::DONT_COPY) {
                    return Ok(None);
                }
                copy(parent.area(entry)).map(Some)
            })
        });
        if is_whole && copied.is_ok() {
            *self.state = of_parent;
            return Ok(());
        }
        // Recounted, because after a failure not all areas are there.
        self.recount();
        copied.map_err(|cause| cause.map_or(ForkError::NoMemory, ForkError::Refused))
    }
}

impl<A: Value, C: Config<Index<A>: Default>> Space<A, C> {
    /// The child of a fork. Otherwise as [`copy_from`](Self::copy_from), but after a failure this
    /// drops the areas copied so far.
    ///
    /// # Errors
    /// See [`ForkError`]; nothing has changed.
    pub fn fork<E>(
        &self,
        copy: impl FnMut(Area<'_, A>) -> Result<A, E>,
    ) -> Result<Self, ForkError<E>> {
        let mut child = Self::over(C::Index::default(), self.state);
        child.copy_from(self, copy)?;
        Ok(child)
    }
}
