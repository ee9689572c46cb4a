//! `furlong serve`: the real binary over real connections, with each kind of store.

mod client;
mod coming_back;
#[path = "../../../../furlong-lab/src/serve/tests/crowd.rs"]
mod crowd;
mod ends;
mod hostile;
mod markup;
mod names;
mod pages;
mod refusals;
mod started;
