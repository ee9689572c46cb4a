//! Events of a trace.

use furlong::vmspace::linux::Mmap;

/// The result of a system call: a number, or an errno.
pub type Answer = Result<u64, i32>;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Number of its line in the trace, counted from one.
    pub line: u32,
    /// Microseconds since the first event.
    pub at_us: u64,
    /// The process ID.
    pub pid: u32,
    /// The event itself.
    pub what: What,
}

/// An event of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// An exec replaced the process's space by an empty one.
    Exec,
    /// The kernel mapped an image, a stack or the like.
    Image {
        /// Start address.
        start: u64,
        /// Length in bytes.
        len: u64,
        /// Protection.
        prot: u64,
        /// The kernel's name for it.
        name: Box<str>,
    },
    /// `mmap`.
    Map {
        /// Arguments of the call.
        call: Mmap,
        /// The file descriptor, or -1.
        fd: i32,
        /// Start of the mapping.
        answer: Answer,
    },
    /// `munmap`.
    Unmap {
        /// Start address.
        start: u64,
        /// Length in bytes.
        len: u64,
        /// 0.
        answer: Answer,
    },
    /// `mprotect`.
    Protect {
        /// Start address.
        start: u64,
        /// Length in bytes.
        len: u64,
        /// Protection.
        prot: u64,
        /// 0.
        answer: Answer,
    },
    /// `brk`.
    Brk {
        /// The requested end of the heap; 0 queries it.
        end: u64,
        /// The end of the heap.
        answer: Answer,
    },
    /// `mremap`.
    Remap {
        /// Old start address.
        start: u64,
        /// Old length in bytes.
        old_len: u64,
        /// New length in bytes.
        new_len: u64,
        /// Flags.
        flags: u64,
        /// New start address, if the call has one.
        new_start: u64,
        /// Start of the mapping.
        answer: Answer,
    },
    /// A page fault in user mode.
    Fault {
        /// Address of the fault.
        address: u64,
        /// The error code of x86.
        code: u64,
    },
    /// A new task.
    Task {
        /// ID of the new task.
        child: u32,
        /// Flags of `clone`.
        flags: u64,
    },
    /// A task of the process ended.
    Exit {
        /// ID of the task.
        task: u32,
    },
}
