//! Nodes obtained before the lock is taken.

use core::fmt;

use crate::error::messages;

use crate::maple::{Config, Geometry, NoMemory, Node, Nodes, Pool, Tree};

/// Nodes for later changes. With them, a change neither allocates, nor frees, nor fails for lack of
/// nodes.
///
/// One change of a tree with `h` levels, including the leaves, needs at most `3 h + 1` nodes: three
/// leaves, three inner nodes a level, and a new root. Each of `k` changes needs so many, because
/// the nodes that a change gives up may still have readers. The tree may grow before the last
/// change: with nodes of `c` children by at most `1 + log2(1 + (k - 2) / (c - 1))` levels.
pub struct Reservation<C: Config> {
    pub(crate) pool: Pool<C::Geometry, C::Source>,
}

/// A reservation is too small for its number of changes, because the tree has grown since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotEnough {
    /// The levels that the tree has now.
    pub levels: usize,
}

messages! { NotEnough:
    Self { levels } => "a tree of {} levels may need more nodes", levels;
}

impl<C: Config> Reservation<C> {
    /// Obtains nodes for `changes` changes of a tree with `levels` levels, including the leaves.
    ///
    /// # Errors
    /// [`NoMemory`], also if the tree has the full height of its geometry. Nodes obtained before
    /// the failure are freed.
    ///
    /// # Cost
    /// `changes` times `3 h + 1` nodes, where `h` is `levels` plus the possible growth of the tree.
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

/// The nodes for `changes` if a node that one of them gives up is not used again.
pub(crate) fn bound<G: Geometry>(changes: usize, levels: usize) -> Nodes {
    let inner_levels = inner_levels::<G>(changes, levels);
    Nodes {
        leaves: changes.saturating_mul(3),
        inners: changes.saturating_mul(of_one_change(inner_levels)),
    }
}

/// The nodes for `changes` if a node that one of them gives up is ready for the next. This is the
/// need of one change, plus the nodes that the others add to the tree.
pub(crate) fn bound_in_place<G: Geometry>(changes: usize, levels: usize) -> Nodes {
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
        inners: gained.saturating_add(of_one_change(inner_levels)),
    }
}

/// The number of inner levels at the last of `changes`.
fn inner_levels<G: Geometry>(changes: usize, levels: usize) -> usize {
    (levels.max(1) - 1).saturating_add(growth::<G>(changes.saturating_sub(1)))
}

/// The inner nodes that one change needs.
const fn of_one_change(inner_levels: usize) -> usize {
    inner_levels.saturating_mul(3).saturating_add(1)
}

/// From so many children on, a merged node is not full: see
/// [`spare`](crate::maple::node::geometry::spare).
const EVEN: usize = 5;

/// The largest number of levels that `changes` can add to a tree.
///
/// Let `c` be the capacity of an inner node. A change adds at most one node to a level. A node is
/// split when it would have `c + 1` children. A node that results from a split or a merger has at
/// most `c - 1` (if `c` is 5 or more), so it needs two more before it is split in turn. Nodes that
/// share their children do so evenly, and then no more of them are full than before. So of the
/// nodes that are added to a level, at most half cause another one on the level above, apart from
/// nodes that were full initially.
///
/// A level is added when the root is split. From then on, no node on the level of its halves was
/// full initially. Until the next level is added, `c - 1` nodes are added to that level, twice as
/// many to the level below it, and so on down. So each further level takes twice as many changes as
/// the one before, and the second takes `c - 1`.
fn growth<G: Geometry>(changes: usize) -> usize {
    let Some(others) = changes.checked_sub(1) else {
        return 0;
    };
    if G::INNER < EVEN {
        return changes;
    }
    (1 + others / (G::INNER - 1)).ilog2() as usize + 1
}

/// The largest number of inner nodes that `changes` can split, by the argument of [`growth`]. On
/// each level it is half of the number on the level below, plus half of the nodes that existed
/// there, all of which may have been full.
fn splits<G: Geometry>(changes: usize, levels: usize) -> usize {
    let (mut all, mut here) = (0, changes);
    for level in 1.. {
        let depth = levels.checked_sub(level + 1);
        let there = depth.map_or(0, |depth| G::INNER.saturating_pow(depth as u32));
        here = here.min(here.saturating_add(there) / 2);
        if here == 0 {
            break;
        }
        all = here.saturating_add(all);
    }
    all
}

impl<G: Geometry> Tree<G> {
    /// The number of levels, including the leaves.
    pub(crate) fn levels(&self) -> usize {
        let root = self.root.load();
        core::iter::successors(root, Node::first_child).count()
    }

    /// The number of nodes in the tree.
    pub(crate) fn nodes(&self) -> Nodes {
        self.root
            .load()
            .map_or(Nodes::default(), |root| root.count())
    }
}
