//! Linux's own maple tree, red-black tree and allocator of device addresses, in user space.
//!
//! Linux is under the GNU General Public License, version 2, and nothing of it is here. The verb
//! `furlong peers linux` takes its files from the distribution's package on the user's machine,
//! compiles them there with what is in `crates/furlong-peers/linux`, which is our own, and leaves a
//! library in the user's cache. Only the processes that take a sample load it.
//!
//! # Files
//!
//! - `archive`: Linux's sources, and which version they are; `compiler`: from them to a library.
//! - `verb`: `furlong peers linux`, which does both; `place`: where the library is.
//! - `library`: loads it; `maple`, `rbtree`, `iova`: what is in it as sides of a race.
//! - `arms`: the races.
mod archive;
mod arms;
mod compiler;
mod iova;
mod library;
mod maple;
mod place;
mod rbtree;
mod verb;

pub use arms::{MISSING, arms, files};
pub use iova::{Paged, Straight, Turned, Way};
pub use library::is_there;
pub use maple::{Access, Areas, Owned, Shared};
pub use place::library as path;
pub use verb::build;
