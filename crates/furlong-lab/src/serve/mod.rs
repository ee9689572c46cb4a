//! `furlong serve`: the history in a browser. Pages are rendered on the server. There is no script,
//! and none is allowed.
//!
//! # Words
//!
//! - *Route*: a request's target; it is parsed from an address and written as one.
//! - *Refusal*: the reason why there is no page; it is a page, too.
//! - *Reader*: a connection to the store that is reopened after a fault.
//! - *Worker pool*: the threads that make pages, each with its own reader.
//!
//! # Invariants
//!
//! - I1: nothing is ever written to the store: its connections are read-only.
//! - I2: no page loads or runs anything that this server did not write, whatever the store
//!   contains: every text is escaped, and the headers of every answer forbid the rest.
//! - I3: no answer reveals the store's location, or anything else that is not a measurement.
//! - I4: the number of statements for a page has a bound that does not depend on the number of
//!   runs.
//!
//! # Files
//!
//! - `server.rs`: connections and shutdown; `idle.rs`: the connection that makes room;
//!   `route.rs`: a request's target.
//! - `http/`: requests and answers.
//! - `worker_pool.rs`, `reader.rs`: threads that make pages, and their source; `tallies.rs`: cached
//!   verdicts.
//! - `pages/`: the pages, one file each; `frame.rs`: their frame; `site.css`: the style besides the
//!   report's.
//! - `refusal.rs`: reasons for a refusal.

mod frame;
mod http;
mod idle;
mod pages;
mod reader;
mod refusal;
mod route;
mod server;
mod tallies;
mod worker_pool;

pub use host::Hosts;
pub use server::{Options, serve};

#[cfg(test)]
mod tests;

use http::{answer, host, parameters, request};
