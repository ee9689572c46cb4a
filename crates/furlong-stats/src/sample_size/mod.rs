//! Numbers of blocks: stopping rules, interim looks, and samples for a given width.

pub mod sequential;
pub mod stein;
pub mod stopping;
