//! Requests and answers.
//!
//! # Files
//!
//! - `host.rs`: names under which the server answers.
//! - `request.rs`: checks of a request; `parameters.rs`: the parameters of its target.
//! - `answer.rs`: answers and their headers.

pub(super) mod answer;
pub(super) mod host;
pub(super) mod parameters;
pub(super) mod request;
