//! What can be asked of a tree, and what it answers.
#![forbid(unsafe_code)]

use furlong::iova::GapSummary;

/// An operation. Nodes are numbers below `2 n`, keys are ends of extents or numbers between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Link a node at the place of its key.
    Insert(usize),
    /// Link a node before the next greater one, found by a search of the caller's own.
    InsertBefore(usize),
    /// Link a node after the next smaller one, found by a search of the caller's own.
    InsertAfter(usize),
    /// Take a node out.
    Remove(usize),
    /// Seek a key with a cursor, and take out so many nodes from there on.
    RemoveFrom(u64, usize),
    /// Move the start of a node's extent.
    Update(usize, u64),
    /// Take all nodes out.
    Clear,
    /// The node with a key.
    Find(u64),
    /// The first node with a key or a greater one.
    LowerBound(u64),
    /// The first node with a greater key.
    UpperBound(u64),
    /// The first node.
    First,
    /// The last node.
    Last,
    /// The node after one.
    Next(usize),
    /// The node before one.
    Prev(usize),
    /// All nodes in order.
    Forward,
    /// All nodes in reverse order.
    Backward,
    /// The summary of all.
    Summary,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// The node was linked: nothing has changed.
    Linked,
    /// A node with this key was linked: nothing has changed.
    Occupied(usize),
    /// The node was not linked: nothing has changed.
    NotLinked,
    /// A node, or none.
    Node(Option<usize>),
    /// Nodes.
    Nodes(Vec<usize>),
    /// What is known of all extents together.
    Summary(Option<GapSummary>),
}
