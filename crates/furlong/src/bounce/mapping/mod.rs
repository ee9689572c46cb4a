//! Mappings: runs of slots, taken for a device's use of a buffer and freed after it.
//!
//! - `guard`: mappings of slices; `raw`: by physical address; `pointer`: by a pointer.
//! - `reserve`: taking and freeing runs; `spot`: a run that is taken; `record`: its description.
//! - `waiting`, `queue`: waiting for room.
//! - `device`, `direction`: the device's limits, and the direction of the data.
pub(super) mod device;
pub(super) mod direction;
pub(super) mod guard;
mod pointer;
pub(super) mod queue;
pub(super) mod raw;
pub(super) mod record;
pub(super) mod reserve;
mod spot;
pub(super) mod waiting;
