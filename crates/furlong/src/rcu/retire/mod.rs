//! Retired objects, from the writer's batch to the calls of their drop functions.
//!
//! - `head`: the two words inside an object; `chain`: linked heads; `batch`: a writer's chain.
//! - `inbox`: batches that wait for the next grace period.
//! - `reclaim_batch`: calls of drop functions, and the barrier's wait for them.
pub(super) mod batch;
pub(super) mod chain;
pub(super) mod head;
pub(super) mod inbox;
pub(super) mod reclaim_batch;
