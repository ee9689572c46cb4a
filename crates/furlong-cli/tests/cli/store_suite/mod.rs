//! The store on each engine: the same suite, and tests that kill a client or a server.

#[path = "../../../../furlong-lab/src/record/store/tests/fixture.rs"]
mod fixture;
mod killed;
mod same;
mod tls;
