//! The store on each engine: the same suite, and what happens when a client or a server is killed.
#![forbid(unsafe_code)]

mod fixture;
mod ground;
mod killed;
mod same;
