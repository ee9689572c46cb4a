//! Events of a trace.
#![forbid(unsafe_code)]

use furlong::vmspace::linux::Mmap;

/// What a system call answered: a number, or an errno.
pub type Answer = Result<u64, i32>;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its line in the trace, counted from one.
    pub line: u32,
    /// Microseconds since the first one.
    pub at_us: u64,
    /// The process.
    pub pid: u32,
    /// What happened.
    pub what: What,
}

/// What happened to a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Its space was replaced by an empty one.
    Exec,
    /// The kernel mapped an image, a stack or the like.
    Image {
        /// Where.
        start: u64,
        /// Bytes.
        len: u64,
        /// Protection.
        prot: u64,
        /// What the kernel calls it.
        name: Box<str>,
    },
    /// `mmap`.
    Map {
        /// Its arguments.
        call: Mmap,
        /// The file, or -1.
        fd: i32,
        /// Where it begins.
        answer: Answer,
    },
    /// `munmap`.
    Unmap {
        /// From where on.
        start: u64,
        /// Bytes.
        len: u64,
        /// 0.
        answer: Answer,
    },
    /// `mprotect`.
    Protect {
        /// From where on.
        start: u64,
        /// Bytes.
        len: u64,
        /// Protection.
        prot: u64,
        /// 0.
        answer: Answer,
    },
    /// `brk`.
    Brk {
        /// Where the heap is to end; 0 asks.
        end: u64,
        /// Where it ends.
        answer: Answer,
    },
    /// `mremap`.
    Remap {
        /// Old place.
        start: u64,
        /// Old bytes.
        old_len: u64,
        /// New bytes.
        new_len: u64,
        /// Flags.
        flags: u64,
        /// New place, if it is said.
        new_start: u64,
        /// Where it begins.
        answer: Answer,
    },
    /// A page fault in user mode.
    Fault {
        /// There.
        address: u64,
        /// The error code of x86.
        code: u64,
    },
    /// A new task.
    Task {
        /// Its number.
        child: u32,
        /// Flags of `clone`.
        flags: u64,
    },
    /// A task of the process ended.
    Exit {
        /// Its number.
        task: u32,
    },
}
