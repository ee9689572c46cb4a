//! `furlong replay` as a person meets it: what it says of good traces, and of every bad one.
#![forbid(unsafe_code)]

mod home;
mod malloc;
mod phys;
mod vmspace;
