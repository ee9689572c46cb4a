//! Linux's own maple tree, red-black tree and allocator of device addresses, in user space.
//!
//! Linux is under the GNU General Public License, version 2, and none of it is here. The command
//! `furlong peers linux` takes its files from the distribution's package on the user's machine. It
//! compiles them there with the files in `crates/furlong-peers/linux`, which are our own, and
//! leaves a library in the user's cache. Only the processes that take a sample load it.
//!
//! # Files
//!
//! - `archive`: Linux's sources and their version; `compiler`: builds a library from them.
//! - `verb`: `furlong peers linux`, which does both; `place`: the path of the library.
//! - `library`: loads it; `maple`, `rbtree`, `iova`: its structures as arms.
//! - `arms`: the list of arms.
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
pub use iova::{Straight, Turned};
pub use library::is_there;
pub use maple::{OwnedAreas, SharedAreas};
pub use place::library as path;
pub use verb::build;
