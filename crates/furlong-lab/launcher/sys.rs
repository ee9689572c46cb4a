//! The launcher's interface to the kernel: the entry point, and one safe function per system call.
//!
//! Every call that writes to memory writes to a `&mut` of exactly the type that it fills. Addresses
//! are exposed, because the compiler cannot see the kernel's accesses.

use core::arch::{asm, global_asm};
use core::ffi::{CStr, c_char};
use core::mem::MaybeUninit;

/// Error of a failed call, an errno.
pub(crate) type Errno = u64;

/// Timeout of `rt_sigtimedwait`.
pub(crate) const EAGAIN: Errno = 11;
/// There is no child.
pub(crate) const ECHILD: Errno = 10;
/// Interrupted.
pub(crate) const EINTR: Errno = 4;

/// `struct timespec`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Timespec {
    /// Whole seconds.
    pub(crate) seconds: i64,
    /// Nanoseconds, less than a second.
    pub(crate) nanoseconds: i64,
}

/// `struct rusage` by words: user and system time (two each), then fourteen counts.
pub(crate) type Rusage = [u64; 18];

/// A set of signals.
pub(crate) type SignalSet = u64;

/// Arguments or environment in the kernel's form: pointers to strings, the last one null.
pub(crate) type Strings = *const *const c_char;

#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const READ: usize = 0;
    pub(super) const WRITE: usize = 1;
    pub(super) const CLOSE: usize = 3;
    pub(super) const RT_SIGACTION: usize = 13;
    pub(super) const RT_SIGPROCMASK: usize = 14;
    pub(super) const CLONE: usize = 56;
    pub(super) const EXECVE: usize = 59;
    pub(super) const WAIT4: usize = 61;
    pub(super) const KILL: usize = 62;
    pub(super) const FCNTL: usize = 72;
    pub(super) const SETPGID: usize = 109;
    pub(super) const GETPPID: usize = 110;
    pub(super) const SETSID: usize = 112;
    pub(super) const RT_SIGTIMEDWAIT: usize = 128;
    pub(super) const PERSONALITY: usize = 135;
    pub(super) const PRCTL: usize = 157;
    pub(super) const CLOCK_GETTIME: usize = 228;
    pub(super) const EXIT_GROUP: usize = 231;
    pub(super) const OPENAT: usize = 257;
    pub(super) const DUP3: usize = 292;
    pub(super) const CLOSE_RANGE: usize = 436;
}

#[cfg(target_arch = "aarch64")]
mod number {
    pub(super) const DUP3: usize = 24;
    pub(super) const FCNTL: usize = 25;
    pub(super) const OPENAT: usize = 56;
    pub(super) const CLOSE: usize = 57;
    pub(super) const READ: usize = 63;
    pub(super) const WRITE: usize = 64;
    pub(super) const PERSONALITY: usize = 92;
    pub(super) const EXIT_GROUP: usize = 94;
    pub(super) const CLOCK_GETTIME: usize = 113;
    pub(super) const KILL: usize = 129;
    pub(super) const RT_SIGACTION: usize = 134;
    pub(super) const RT_SIGPROCMASK: usize = 135;
    pub(super) const RT_SIGTIMEDWAIT: usize = 137;
    pub(super) const SETPGID: usize = 154;
    pub(super) const SETSID: usize = 157;
    pub(super) const PRCTL: usize = 167;
    pub(super) const GETPPID: usize = 173;
    pub(super) const CLONE: usize = 220;
    pub(super) const EXECVE: usize = 221;
    pub(super) const WAIT4: usize = 260;
    pub(super) const CLOSE_RANGE: usize = 436;
}

// The program's entry: passes the address of the argument count to `launch`.
#[cfg(target_arch = "x86_64")]
global_asm!(
    ".globl _start",
    "_start:",
    "xor ebp, ebp",
    "mov rdi, rsp",
    "and rsp, -16",
    "call launch",
    "ud2",
);
#[cfg(target_arch = "aarch64")]
global_asm!(
    ".globl _start",
    "_start:",
    "mov x29, xzr",
    "mov x30, xzr",
    "mov x0, sp",
    "bl launch",
    "brk #1",
);

/// Makes a system call with up to four arguments; missing ones are zero.
///
/// # Safety
///
/// Addresses among the arguments are valid for every access of the call.
unsafe fn call(number: usize, arguments: [usize; 4]) -> Result<usize, Errno> {
    let [a, b, c, d] = arguments;
    let result: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the kernel changes rax, rcx, r11 and what the caller vouches for.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b,
            in("rdx") c, in("r10") d, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the kernel changes x0 and what the caller vouches for.
    unsafe {
        asm!("svc #0", in("x8") number, inlateout("x0") a => result, in("x1") b,
            in("x2") c, in("x3") d, options(nostack));
    }
    checked(result)
}

/// Separates results from errors: the last page of values is negated errnos.
fn checked(result: usize) -> Result<usize, Errno> {
    let errno = result.wrapping_neg();
    if (1..4096).contains(&errno) {
        Err(errno as Errno)
    } else {
        Ok(result)
    }
}

/// Returns the address of memory that the kernel reads.
fn source<T: ?Sized>(value: &T) -> usize {
    (&raw const *value).expose_provenance()
}

/// Returns the address of memory that the kernel fills.
fn target<T: ?Sized>(value: &mut T) -> usize {
    (&raw mut *value).expose_provenance()
}

/// Ends this process.
pub(crate) fn exit(code: usize) -> ! {
    loop {
        // SAFETY: no addresses.
        let _ = unsafe { call(number::EXIT_GROUP, [code, 0, 0, 0]) };
    }
}

/// Writes to a descriptor.
pub(crate) fn write(descriptor: usize, bytes: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel reads `bytes`.
    unsafe { call(number::WRITE, [descriptor, source(bytes), bytes.len(), 0]) }
}

/// Opens a file for reading; the descriptor is closed at exec.
pub(crate) fn open(path: &CStr) -> Result<usize, Errno> {
    const AT_FDCWD: usize = (-100_isize) as usize;
    const O_RDONLY_CLOEXEC: usize = 0o2_000_000;
    let path = path.as_ptr().expose_provenance();
    // SAFETY: the kernel reads `path` up to its zero.
    unsafe { call(number::OPENAT, [AT_FDCWD, path, O_RDONLY_CLOEXEC, 0]) }
}

/// The ids of this process's children, each with a space behind it, as many as fit. Empty if the
/// kernel has no such list.
pub(crate) fn children(text: &mut [u8]) -> &[u8] {
    let Ok(list) = open(c"/proc/thread-self/children") else {
        return &[];
    };
    // SAFETY: the kernel fills `text`, as long as said.
    let read = unsafe { call(number::READ, [list, target(text), text.len(), 0]) };
    // SAFETY: no addresses.
    let _ = unsafe { call(number::CLOSE, [list, 0, 0, 0]) };
    text.get(..read.unwrap_or(0)).unwrap_or(&[])
}

/// Duplicates a descriptor to 3 or more; the new one is closed at exec.
pub(crate) fn duplicate(descriptor: usize) -> Result<usize, Errno> {
    const F_DUPFD_CLOEXEC: usize = 1030;
    // SAFETY: no addresses.
    unsafe { call(number::FCNTL, [descriptor, F_DUPFD_CLOEXEC, 3, 0]) }
}

/// Makes `to` refer to the file of `from`; it stays open at exec.
pub(crate) fn replace(from: usize, to: usize) -> Result<usize, Errno> {
    // SAFETY: no addresses.
    unsafe { call(number::DUP3, [from, to, 0, 0]) }
}

/// Marks every descriptor from `first` on as closed at exec. Kernels before 5.11 refuse,
/// harmlessly.
pub(crate) fn close_at_exec(first: usize) {
    const CLOSE_RANGE_CLOEXEC: usize = 4;
    // SAFETY: no addresses.
    let _ = unsafe {
        call(
            number::CLOSE_RANGE,
            [first, u32::MAX as usize, CLOSE_RANGE_CLOEXEC, 0],
        )
    };
}

/// Returns the process id of the parent.
pub(crate) fn parent() -> usize {
    // SAFETY: no addresses.
    unsafe { call(number::GETPPID, [0; 4]) }.unwrap_or(0)
}

/// Requests a signal for this process when its parent ends.
pub(crate) fn signal_at_parents_end(signal: usize) {
    const PR_SET_PDEATHSIG: usize = 1;
    // SAFETY: no addresses.
    let _ = unsafe { call(number::PRCTL, [PR_SET_PDEATHSIG, signal, 0, 0]) };
}

/// Makes this process the parent of all orphans among its descendants.
pub(crate) fn adopt_orphans() {
    const PR_SET_CHILD_SUBREAPER: usize = 36;
    // SAFETY: no addresses.
    let _ = unsafe { call(number::PRCTL, [PR_SET_CHILD_SUBREAPER, 1, 0, 0]) };
}

/// Starts a session without a terminal. The kernel refuses, harmlessly, if the process leads its
/// group.
pub(crate) fn new_session() {
    // SAFETY: no addresses.
    let _ = unsafe { call(number::SETSID, [0; 4]) };
}

/// Puts this process into a process group of its own.
pub(crate) fn new_group() {
    // SAFETY: no addresses.
    let _ = unsafe { call(number::SETPGID, [0; 4]) };
}

/// Turns address randomisation off for the programs that are executed later.
pub(crate) fn fix_addresses() {
    const QUERY: usize = 0xffff_ffff;
    const ADDR_NO_RANDOMIZE: usize = 0x0004_0000;
    // SAFETY: no addresses.
    let now = unsafe { call(number::PERSONALITY, [QUERY, 0, 0, 0]) }.unwrap_or(0);
    // SAFETY: no addresses.
    let _ = unsafe { call(number::PERSONALITY, [now | ADDR_NO_RANDOMIZE, 0, 0, 0]) };
}

/// Gives a signal its default action. The kernel refuses, harmlessly, for those whose action cannot
/// be changed.
pub(crate) fn default_signal(signal: usize) {
    // `struct sigaction` of the kernel: handler, flags, restorer, mask; all zero is the default.
    let action = [0_u64; 4];
    // SAFETY: the kernel reads `action`, which is as large as its structure.
    let _ = unsafe { call(number::RT_SIGACTION, [signal, source(&action), 0, 8]) };
}

/// Blocks exactly these signals.
pub(crate) fn block_signals(set: SignalSet) {
    const SIG_SETMASK: usize = 2;
    // SAFETY: the kernel reads `set`, 8 bytes as said.
    let _ = unsafe { call(number::RT_SIGPROCMASK, [SIG_SETMASK, source(&set), 0, 8]) };
}

/// Sleeps until one of these blocked signals arrives, at most for `limit`; returns its number.
pub(crate) fn await_signal(set: SignalSet, limit: Option<Timespec>) -> Result<usize, Errno> {
    let time = limit.as_ref().map_or(0, source);
    // SAFETY: the kernel reads `set`, 8 bytes as said, and the time, if any.
    unsafe { call(number::RT_SIGTIMEDWAIT, [source(&set), 0, time, 8]) }
}

/// Sends a signal to a process.
pub(crate) fn signal(process: usize, signal: usize) -> Result<usize, Errno> {
    // SAFETY: no addresses.
    unsafe { call(number::KILL, [process, signal, 0, 0]) }
}

/// Sends a signal to a process group.
pub(crate) fn signal_group(group: usize, signal: usize) -> Result<usize, Errno> {
    self::signal(group.wrapping_neg(), signal)
}

/// Waiting behaviour of `reap`.
#[derive(Clone, Copy)]
pub(crate) enum Patience {
    /// Wait until a child has ended.
    Endless = 0,
    /// Return at once (`WNOHANG`).
    None = 1,
}

/// Reaps any child; returns its id, or 0 if none has ended.
pub(crate) fn reap(
    patience: Patience,
    status: &mut u32,
    usage: &mut Rusage,
) -> Result<usize, Errno> {
    const ANY: usize = usize::MAX;
    // SAFETY: the kernel fills `status` and `usage`, which have the sizes of its types.
    unsafe {
        call(
            number::WAIT4,
            [ANY, target(status), patience as usize, target(usage)],
        )
    }
}

/// Returns the nanoseconds of the monotonic clock.
pub(crate) fn now_ns() -> u64 {
    const CLOCK_MONOTONIC: usize = 1;
    let mut time = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: the kernel fills `time`, its own structure.
    let _ = unsafe {
        call(
            number::CLOCK_GETTIME,
            [CLOCK_MONOTONIC, target(&mut time), 0, 0],
        )
    };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

/// Executes another program; returns only if that failed, with the error.
///
/// # Safety
///
/// `arguments` and `environment` end with a null, and each string with a zero.
pub(crate) unsafe fn execute(program: &CStr, arguments: Strings, environment: Strings) -> Errno {
    let program = program.as_ptr().expose_provenance();
    let places = [
        program,
        arguments.expose_provenance(),
        environment.expose_provenance(),
        0,
    ];
    // SAFETY: the kernel reads what the caller vouches for.
    unsafe { call(number::EXECVE, places) }.err().unwrap_or(0)
}

/// Stack of a child while it shares this memory.
#[repr(C, align(16))]
pub(crate) struct ChildStack(MaybeUninit<[u8; 8192]>);

impl ChildStack {
    /// Returns an empty stack.
    pub(crate) const fn new() -> Self {
        Self(MaybeUninit::uninit())
    }
}

/// Makes a child that runs `entry` in this address space, on its own stack. This process sleeps
/// until the child has executed another program or exited. Returns the child's id.
///
/// # Safety
///
/// `entry` never returns, needs less than the stack, and leaves this memory unchanged except for
/// its stack and atomics.
pub(crate) unsafe fn spawn<T>(
    stack: &mut ChildStack,
    entry: extern "C" fn(*const T) -> !,
    argument: &T,
) -> Result<usize, Errno> {
    const CLONE_VM_VFORK_SIGCHLD: usize = 0x100 | 0x4000 | 17;
    let top = target(stack) + size_of::<ChildStack>();
    let entry = entry as *const () as usize;
    let argument = source(argument);
    let result: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: with CLONE_VFORK the parent resumes only after the child has left. The child uses its
    // own stack only: it leaves through `entry`, with the alignment that a call expects.
    unsafe {
        asm!("syscall", "test rax, rax", "jnz 2f", "xor ebp, ebp", "mov rdi, r9", "call r8",
            "ud2", "2:", inlateout("rax") number::CLONE => result,
            in("rdi") CLONE_VM_VFORK_SIGCHLD, in("rsi") top, in("rdx") 0_usize,
            in("r10") 0_usize, in("r8") entry, in("r9") argument,
            lateout("rcx") _, lateout("r11") _);
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as for x86_64.
    unsafe {
        asm!("svc #0", "cbnz x0, 2f", "mov x29, xzr", "mov x30, xzr", "mov x0, x6", "blr x5",
            "brk #1", "2:", in("x8") number::CLONE,
            inlateout("x0") CLONE_VM_VFORK_SIGCHLD => result, in("x1") top, in("x2") 0_usize,
            in("x3") 0_usize, in("x4") 0_usize, in("x5") entry, in("x6") argument);
    }
    checked(result)
}

// Functions that the compiler and `core` expect from any C library. Accesses are volatile, so that
// the compiler does not replace a loop by a call of the function itself.

/// Fills memory with a byte.
///
/// # Safety
///
/// Those of C's memset.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, count: usize) -> *mut u8 {
    for place in 0..count {
        // SAFETY: the caller vouches for `count` bytes.
        unsafe { to.wrapping_add(place).write_volatile(byte as u8) };
    }
    to
}

/// Copies memory.
///
/// # Safety
///
/// Those of C's memcpy.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    for place in 0..count {
        // SAFETY: the caller vouches for `count` bytes to read.
        let byte = unsafe { from.wrapping_add(place).read_volatile() };
        // SAFETY: the caller vouches for `count` bytes to write.
        unsafe { to.wrapping_add(place).write_volatile(byte) };
    }
    to
}

/// Counts the bytes of a string.
///
/// # Safety
///
/// Those of C's strlen.
#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(text: *const c_char) -> usize {
    let mut count = 0;
    // SAFETY: the caller vouches for a zero, at which the loop ends.
    while unsafe { text.wrapping_add(count).read_volatile() } != 0 {
        count += 1;
    }
    count
}
