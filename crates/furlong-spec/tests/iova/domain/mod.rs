//! A shared domain on one thread, compared with a list of the owner of each page.

mod addresses;
mod memory;
mod pressure;
mod streams;
mod world;
