//! Properties of all reports on every result, from usual to hostile.
#![forbid(unsafe_code)]

mod answer;
mod cases;
mod documents;
mod fixture;
mod odd;
mod overview;
mod page;
mod schema;
mod screen;
mod targets;
