//! Reports hold on every result, from usual to hostile.
#![forbid(unsafe_code)]

mod documents;
mod figures;
mod fixture;
mod odd;
mod page;
mod schema;
mod screen;
mod targets;
