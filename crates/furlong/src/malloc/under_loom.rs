//! The allocator under loom: its parts that threads share, and stand-ins for all others.

#[expect(dead_code, reason = "sizes are of no use without memory")]
mod class;
mod field;
#[path = "tests/loom/shelf.rs"]
mod shelf;
#[path = "tests/loom/world.rs"]
mod world;

mod central {
    #[expect(dead_code, reason = "records without memory have fewer fields")]
    pub(crate) mod span;
}

mod os {
    #[expect(dead_code, unreachable_pub, reason = "no system waits here")]
    pub(crate) mod latch;
}

mod thread {
    #[expect(dead_code, reason = "as in span")]
    pub(crate) mod bins;
    pub(crate) mod exchange;
    #[expect(dead_code, reason = "no thread is without a heap here")]
    pub(crate) mod heap;
}

// The shared parts import these from the allocator's root.
use self::central::span::Span;
use self::class::{CLASSES, Class, UNIT_SHIFT};
use self::field::{Bits, Byte, Fixed, Half, Link, Short, Word};
use self::os::latch::Latch;
use self::thread::bins::FREED;
use self::thread::heap::State;

pub use self::{shelf::Shelf, thread::heap::Heap, world::World};
