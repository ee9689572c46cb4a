//! Numbers of blocks: stopping rules, a budget of time, interim looks, and samples for a
//! given width.

pub mod budget;
pub mod sequential;
pub mod stein;
pub mod stopping;
