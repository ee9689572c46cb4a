//! Operations on a tree, and their outcomes.
#![forbid(unsafe_code)]

use furlong::iova::GapSummary;

/// An operation. Nodes are numbers below `2 n`. Keys are ends of extents or numbers between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Links a node at the place of its key.
    Insert(usize),
    /// Links a node before the next greater one, which the caller has searched.
    InsertBefore(usize),
    /// Links a node after the next smaller one, which the caller has searched.
    InsertAfter(usize),
    /// Removes a node.
    Remove(usize),
    /// Seeks a key with a cursor, and removes this many nodes from there on.
    RemoveFrom(u64, usize),
    /// Moves the start of a node's extent.
    Update(usize, u64),
    /// Removes all nodes.
    Clear,
    /// Finds the node with a key.
    Find(u64),
    /// Finds the first node with this key or a greater one.
    LowerBound(u64),
    /// Finds the first node with a greater key.
    UpperBound(u64),
    /// Returns the first node.
    First,
    /// Returns the last node.
    Last,
    /// Returns the node after this one.
    Next(usize),
    /// Returns the node before this one.
    Prev(usize),
    /// Lists all nodes in order.
    Forward,
    /// Lists all nodes in reverse order.
    Backward,
    /// Returns the summary of the whole tree.
    Summary,
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Success without a value.
    Done,
    /// The node is linked already; nothing has changed.
    Linked,
    /// A node with this key is linked; nothing has changed.
    Occupied(usize),
    /// The node is not linked; nothing has changed.
    NotLinked,
    /// A node, or none.
    Node(Option<usize>),
    /// Nodes.
    Nodes(Vec<usize>),
    /// The summary of all extents together.
    Summary(Option<GapSummary>),
}
