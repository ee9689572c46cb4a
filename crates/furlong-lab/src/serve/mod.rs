//! `furlong serve`: the history in a browser. Pages are made here and sent whole: there is no
//! script, and none is allowed.
//!
//! # Words
//!
//! - *Route*: what a request asks for; it is read from an address and written as one.
//! - *Refusal*: why there is no page, which is a page too.
//! - *Reader*: a connection to the store that comes back when the store does.
//! - *Crew*: the threads that make pages, each with a reader of its own.
//!
//! # Invariants
//!
//! - I1: nothing is ever written to the store: its connections refuse to.
//! - I2: no page loads or runs what this server did not write, whatever stands in the store: every
//!   text is escaped, and the headers of every answer forbid the rest.
//! - I3: no answer tells where the store is, nor anything else that is no measurement.
//! - I4: however many runs there are, the number of statements for a page has a bound.
//!
//! # Files
//!
//! - `server.rs`: connections, and how it ends; `host.rs`: under which names it answers.
//! - `request.rs`: which requests are answered at all; `route.rs`, `parameters.rs`: what they want.
//! - `crew.rs`, `reader.rs`: who makes pages, and what from; `tallies.rs`: verdicts that are known.
//! - `pages/`: the pages, a file each; `frame.rs`: what stands around them; `site.css`: the style
//!   besides the report's.
//! - `answer.rs`: what goes back, and its headers; `refusal.rs`: why not.
#![forbid(unsafe_code)]

mod answer;
mod crew;
mod frame;
mod host;
mod pages;
mod parameters;
mod reader;
mod refusal;
mod request;
mod route;
mod server;
mod tallies;

pub use host::Hosts;
pub use server::{Options, serve};

#[cfg(test)]
mod tests;
