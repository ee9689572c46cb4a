//! buddy_system_allocator as a library that can be preloaded.
#![cfg(target_os = "linux")]

#[path = "../heaps/face.rs"]
mod face;
#[path = "../heaps/heap.rs"]
mod heap;
#[path = "../heaps/lock.rs"]
mod lock;
#[path = "../heaps/buddy.rs"]
mod over_buddy;

use over_buddy::Buddy;

static HEAP: Buddy = Buddy::new();

// SAFETY: a function of the type that the loader calls from there.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = face::loaded;
