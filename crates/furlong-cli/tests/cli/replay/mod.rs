//! `furlong replay` from a user's view: its output for good traces, and for every bad one.

mod home;
mod malloc;
mod phys;
mod vmspace;
