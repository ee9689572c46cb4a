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
/// three leaves, three inner nodes a level, and a new root. So many for each of `k` changes are
/// enough, since readers keep what a change gives up; but the tree may grow before the last one,
/// with nodes of `c` children by `1 + log2(1 + (k - 2) / (c - 1))` levels at most.
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
    /// Nodes for `changes` of a tree with `levels` levels, its leaves among them.
    ///
    /// # Errors
    /// [`NoMemory`], also where the tree is as high as its geometry allows; what was obtained has
    /// been given back.
    ///
    /// # Cost
    /// `changes` times `3 h + 1` nodes, where `h` is `levels` and what the tree may grow.
    pub fn new(changes: usize, levels: usize) -> Result<Self, NoMemory> {
        if changes > 0 && levels > C::Geometry::DEPTH {
            return Err(NoMemory);
        }
        let mut pool = Pool::new();
        pool.ensure(bound::<C::Geometry>(changes, levels))?;
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

/// What `changes` need where a node that one of them gives up is not used again.
pub(super) fn bound<G: Geometry>(changes: usize, levels: usize) -> Nodes {
    let inner_levels = inner_levels::<G>(changes, levels);
    Nodes {
        leaves: changes.saturating_mul(3),
        inners: changes.saturating_mul(3 * inner_levels + 1),
    }
}

/// What `changes` need where a node that one of them gives up is ready for the next: what one needs
/// meanwhile, and what the tree gains by the others.
pub(super) fn bound_in_place<G: Geometry>(changes: usize, levels: usize) -> Nodes {
    let Some(others) = changes.checked_sub(1) else {
        return Nodes::default();
    };
    let inner_levels = inner_levels::<G>(changes, levels);
    let gained = if G::INNER < EVEN {
        others.saturating_mul(inner_levels)
    } else {
        splits::<G>(others, levels).saturating_add(growth::<G>(others))
    };
    Nodes {
        leaves: others.saturating_add(3),
        inners: gained.saturating_add(3 * inner_levels + 1),
    }
}

/// Levels of inner nodes that the last of `changes` finds.
fn inner_levels<G: Geometry>(changes: usize, levels: usize) -> usize {
    levels.max(1) - 1 + growth::<G>(changes.saturating_sub(1))
}

/// From so many children on, a merged node is not full: see [`spare`](super::geometry::spare).
const EVEN: usize = 5;

/// Levels that `changes` add to a tree at most.
///
/// A change adds one node to a level at most. A node is split when it would have `c + 1` children,
/// where `c` is the most that it may have. What comes of a split or of a merger has `c - 1` at most
/// (`c` being 5 or more), and needs two more before it is split in turn; nodes that share what they
/// have do so evenly, and no more of them are full then. So of the nodes that come to a level, at
/// most half lead to another one on the level above, but for nodes that were full to begin with.
///
/// A level is added where the root is split: from then on there is none that was full to begin with
/// on the level of its halves, and until the next level is added, `c - 1` nodes come to that level.
/// The level below it has had twice as many, and so on down: each further level takes twice as many
/// changes as the one before, and the second `c - 1`.
fn growth<G: Geometry>(changes: usize) -> usize {
    let Some(others) = changes.checked_sub(1) else {
        return 0;
    };
    if G::INNER < EVEN {
        return changes;
    }
    (1 + others / (G::INNER - 1)).ilog2() as usize + 1
}

/// Inner nodes that `changes` split at most, as [`growth`] argues: of each level half as many as of
/// the one below, and half of those that were there, all of which may have been full.
fn splits<G: Geometry>(changes: usize, levels: usize) -> usize {
    let (mut all, mut here) = (0, changes);
    for level in 1.. {
        let depth = levels.checked_sub(level + 1);
        let there = depth.map_or(0, |depth| G::INNER.saturating_pow(depth as u32));
        here = here.min(here.saturating_add(there) / 2);
        if here == 0 {
            break;
        }
        all += here;
    }
    all
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
