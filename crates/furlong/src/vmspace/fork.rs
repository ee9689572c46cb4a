//! Forking: a space like another one.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;

use super::{Area, Config, Flags, Index, Space, Value};

/// Why there is no child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkError<E> {
    /// There is no memory for the index.
    NoMemory,
    /// The caller refused an area.
    Refused(E),
}

impl<E: fmt::Display> fmt::Display for ForkError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMemory => f.write_str("there is no memory for the index"),
            Self::Refused(cause) => write!(f, "an area was not copied: {cause}"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> Error for ForkError<E> {}

impl<A: Value, C: Config> Space<A, C> {
    /// A space with the same areas, limits and break, without those areas that a fork
    /// [does not copy](Flags::DONT_COPY). `copy` makes the child's value of each area, in ascending
    /// order; an area that is to be [wiped](Flags::WIPE_ON_FORK) or is
    /// [shared](Flags::SHARED) says so.
    ///
    /// # Errors
    /// What was refused, and the areas that were copied before it. Nothing has changed.
    ///
    /// # Cost
    /// O(n); with a tree one allocation for all nodes.
    pub fn fork<E>(
        &self,
        mut copy: impl FnMut(Area<'_, A>) -> Result<A, E>,
    ) -> Result<Self, (ForkError<E>, Self)> {
        let mut child = Self {
            index: C::Index::default(),
            layout: self.layout,
            grid: self.grid,
            usage: super::Usage::default(),
            growing: 0,
            heap: self.heap,
        };
        let mut index = core::mem::take(&mut child.index);
        let copied = index.copy_from(&self.index, |entry| {
            if entry.attr.flags.contains(Flags::DONT_COPY) {
                return Ok(None);
            }
            let value = copy(self.area(entry))?;
            child.count_in(entry.pages.len(), entry.attr);
            Ok(Some(value))
        });
        child.index = index;
        match copied {
            Ok(()) => Ok(child),
            Err(None) => Err((ForkError::NoMemory, child)),
            Err(Some(cause)) => Err((ForkError::Refused(cause), child)),
        }
    }
}
