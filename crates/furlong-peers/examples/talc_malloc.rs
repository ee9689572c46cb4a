//! talc as a library that can be preloaded.
#![cfg(target_os = "linux")]

#[path = "../heaps/face.rs"]
mod face;
#[path = "../heaps/heap.rs"]
mod heap;
#[path = "../heaps/lock.rs"]
mod lock;
#[path = "../heaps/talc.rs"]
mod over_talc;

use over_talc::Talc;

static HEAP: Talc = Talc::new();

// SAFETY: a function of the type that the loader calls from there.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = face::loaded;
