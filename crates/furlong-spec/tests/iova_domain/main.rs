//! A shared domain, on one thread, against a list of who has which page.
#![forbid(unsafe_code)]

mod pressure;
mod streams;
mod world;
