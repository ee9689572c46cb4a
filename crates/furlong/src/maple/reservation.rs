//! Nodes obtained before the lock is taken.
#![forbid(unsafe_code)]

use core::fmt;

use super::config::Config;
use super::geometry::Geometry;
use super::link::Node;
use super::pool::{NoMemory, Nodes, Pool};
use super::tree::Tree;

/// Nodes for changes to come: with them a change neither allocates, nor frees, nor fails for
/// memory of its own.
///
/// One change of a tree with `h` levels, its leaves among them, needs at most `3 h + 1` nodes:
/// three leaves, three inner nodes a level, and a new root.
pub struct Reservation<C: Config> {
    pub(super) pool: Pool<C::Geometry, C::Source>,
}

/// A reservation is not enough for as many changes of a tree that has grown since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotEnough {
    /// The levels that the tree has now.
    pub levels: usize,
}

impl fmt::Display for NotEnough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a tree of {} levels may need more nodes", self.levels)
    }
}

impl core::error::Error for NotEnough {}

impl<C: Config> Reservation<C> {
    /// Nodes for `changes` of a tree with `levels` levels, its leaves among them; it may grow by a
    /// level with each.
    ///
    /// # Errors
    /// [`NoMemory`]; what was obtained has been given back.
    pub fn new(changes: usize, levels: usize) -> Result<Self, NoMemory> {
        let mut pool = Pool::new();
        pool.ensure(bound(changes, levels))?;
        Ok(Self { pool })
    }

    /// The nodes that are left.
    pub fn nodes(&self) -> Nodes {
        self.pool.ready()
    }
}

impl<C: Config> fmt::Debug for Reservation<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation")
            .field("nodes", &self.nodes())
            .finish()
    }
}

/// What `changes` need, if each makes the tree a level higher.
pub(super) fn bound(changes: usize, levels: usize) -> Nodes {
    let inners = (0..changes).map(|before| 3 * (levels.saturating_sub(1) + before) + 1);
    Nodes {
        leaves: 3 * changes,
        inners: inners.sum(),
    }
}

impl<G: Geometry> Tree<G> {
    /// Levels, that of the leaves among them.
    pub(super) fn levels(&self) -> usize {
        let root = self.root.load();
        core::iter::successors(root, Node::first_child).count()
    }

    /// The nodes of the tree.
    pub(super) fn nodes(&self) -> Nodes {
        self.root
            .load()
            .map_or(Nodes::default(), |root| root.count())
    }
}
