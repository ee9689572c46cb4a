//! The pool, other allocators, and the locks and memory below them.
pub(super) mod allocator;
pub(super) mod lock;
pub(super) mod mapper;
pub(super) mod pool;
pub(super) mod slots;
pub(super) mod test_memory;
