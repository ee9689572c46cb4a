//! The store on each engine: the same suite, and what happens when a client or a server is killed.
#![forbid(unsafe_code)]

#[path = "../../../furlong-lab/src/record/store/fixture.rs"]
mod fixture;
mod ground;
mod killed;
mod same;
