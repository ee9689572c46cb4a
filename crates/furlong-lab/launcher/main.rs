//! The launcher: starts one command, waits for it and reports its resource usage.
//!
//! The peak memory of a child, as `wait4` reports it, starts at exec with the memory of the process
//! that started the child. A large parent thus makes every child look large. This program is
//! therefore as small as possible: no standard library, no C library, no start-up code, no heap.
//! `build.rs` compiles it; it is embedded in furlong and run from memory, once per sample.
//!
//! Its arguments have fixed positions, because only furlong starts it:
//!
//! | argument | meaning |
//! |---|---|
//! | 1 | process id of furlong: if the parent is another one, furlong is gone already |
//! | 2 | time limit in nanoseconds, 0 for none |
//! | 3 | 1 if the command's addresses are not to be randomised, else 0 |
//! | 4 | path of the file that becomes the command's standard input |
//! | 5 | path of the program |
//! | 6.. | the command's arguments, its own name first |
//!
//! With two arguments it is itself a command to measure: `spin` or `walk`, and an amount of work.
//!
//! Descriptor 0 is the pipe for the [`Record`]. Descriptors 1 and 2 are already the command's, and
//! so is the environment. `src/measure/launcher.rs` reads the record.
#![no_std]
#![no_main]

mod sys;

use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU64, Ordering};

use sys::{ChildStack, Errno, Patience, Rusage, SignalSet, Strings, Timespec};

/// Message if the launcher is started without its arguments.
const USAGE: &[u8] = b"this is furlong's launcher; run furlong itself\n";

/// The command's end. `Record::value` holds the value in brackets.
mod ending {
    /// It exited (exit code).
    pub(crate) const EXITED: u64 = 0;
    /// A signal ended it (signal).
    pub(crate) const SIGNALLED: u64 = 1;
    /// The time limit passed, and it was killed with all its descendants (0).
    pub(crate) const TIMED_OUT: u64 = 2;
    /// The program could not be started (errno of execve).
    pub(crate) const NOT_EXECUTED: u64 = 3;
    /// The fork failed (errno of clone).
    pub(crate) const NOT_FORKED: u64 = 4;
    /// The input could not be opened (errno of openat).
    pub(crate) const NO_INPUT: u64 = 5;
    /// Furlong is gone or sent a signal to stop, and it was killed with all its descendants (0).
    pub(crate) const INTERRUPTED: u64 = 6;
}

/// Words of a record, in the order of [`Record::words`].
const RECORD_WORDS: usize = 14;

/// "furlong1", which marks a record.
const MAGIC: u64 = u64::from_le_bytes(*b"furlong1");

/// The record that furlong reads, in one piece.
struct Record {
    ending: u64,
    value: u64,
    /// From just before the process is made to the return of `wait4`.
    wall_ns: u64,
    usage: Rusage,
    /// True if a process that it started outlives it.
    left_behind: bool,
}

/// Data of the child. Both processes share it until the child has executed the command or exited.
struct Start {
    program: &'static CStr,
    arguments: Strings,
    environment: Strings,
    /// Error of the execve; 0 until it has failed.
    errno: AtomicU64,
}

const SIGHUP: usize = 1;
const SIGINT: usize = 2;
const SIGQUIT: usize = 3;
const SIGKILL: usize = 9;
const SIGTERM: usize = 15;
const SIGCHLD: usize = 17;
const SIGNAL_LAST: usize = 64;

/// Signals that are blocked and waited for.
const AWAITED: SignalSet = bit(SIGCHLD) | bit(SIGHUP) | bit(SIGINT) | bit(SIGQUIT) | bit(SIGTERM);

/// Returns the set of one signal.
const fn bit(signal: usize) -> SignalSet {
    1 << (signal - 1)
}

/// Cells that work walks through, 2 MiB: more than most cores have of their own, and few enough
/// that addresses are found as fast with small pages as with huge ones.
const CELLS: usize = 1 << 18;
static TABLE: [AtomicU64; CELLS] = [const { AtomicU64::new(0) }; CELLS];

/// Nothing here panics. If it did, furlong would report the missing record.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    sys::exit(3)
}

/// Called by `_start`.
///
/// # Safety
///
/// `stack` is the stack as the kernel sets it up for a new program.
#[unsafe(no_mangle)]
unsafe extern "C" fn launch(stack: *const usize) -> ! {
    // SAFETY: a new program's stack begins with the argument count.
    let count = unsafe { stack.read() };
    let arguments = stack.wrapping_add(1).cast::<*const c_char>();
    if count == 3 {
        // SAFETY: index 1 is less than the count.
        let kind = unsafe { string(arguments, 1) };
        // SAFETY: index 2 is less than the count.
        work(kind, number(unsafe { string(arguments, 2) }));
        sys::exit(0)
    }
    if count < 7 {
        let _ = sys::write(2, USAGE);
        sys::exit(2)
    }
    // SAFETY: index 1 is less than the count.
    let parent = number(unsafe { string(arguments, 1) });
    // SAFETY: index 2 is less than the count.
    let limit_ns = number(unsafe { string(arguments, 2) });
    // SAFETY: index 3 is less than the count.
    let fixed = number(unsafe { string(arguments, 3) }) == 1;
    // SAFETY: index 4 is less than the count.
    let input = unsafe { string(arguments, 4) };
    // SAFETY: index 5 is less than the count.
    let program = unsafe { string(arguments, 5) };
    // The environment follows the null that ends the arguments.
    let environment = arguments.wrapping_add(count + 1);
    let start = Start {
        program,
        arguments: arguments.wrapping_add(6),
        environment,
        errno: AtomicU64::new(0),
    };

    let Ok(pipe) = sys::duplicate(0) else {
        sys::exit(4)
    };
    let record = match set_up(parent, fixed, input) {
        Ok(()) => run(&start, limit_ns),
        Err((ending, value)) => Record::unstarted(ending, value),
    };
    let _ = sys::write(pipe, record.words().as_flattened());
    sys::exit(0)
}

/// Does work whose time is known to grow with its amount: it computes, or it waits for caches.
fn work(kind: &CStr, amount: u64) {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let walks = kind == c"walk";
    let mut value = 1_u64;
    for step in 0..amount {
        // Each step depends on the one before.
        value = value.wrapping_mul(FACTOR) ^ step;
        if walks {
            let cell = &TABLE[value as usize % CELLS];
            // Relaxed: there is one thread.
            value ^= cell.load(Ordering::Relaxed);
            cell.store(value, Ordering::Relaxed);
        }
    }
    core::hint::black_box(value);
}

/// Does everything before the clock starts.
fn set_up(parent: u64, fixed: bool, input: &CStr) -> Result<(), (u64, Errno)> {
    sys::signal_at_parents_end(SIGTERM);
    if sys::parent() as u64 != parent {
        return Err((ending::INTERRUPTED, 0));
    }
    // In a session without a terminal, a command that needs one fails at once. In the background of
    // furlong's session it would be stopped and never continue.
    sys::new_session();
    // What loses its parent becomes a child of this process, whatever group or session it is in.
    sys::adopt_orphans();
    // Ignored signals stay ignored across exec. The command begins with none ignored.
    for signal in 1..=SIGNAL_LAST {
        sys::default_signal(signal);
    }
    let opened = sys::open(input).and_then(|descriptor| sys::replace(descriptor, 0));
    opened.map_err(|errno| (ending::NO_INPUT, errno))?;
    // Furlong's own descriptors are not for the command.
    sys::close_at_exec(3);
    if fixed {
        sys::fix_addresses();
    }
    sys::block_signals(AWAITED);
    Ok(())
}

/// Starts the command and waits for it.
fn run(start: &Start, limit_ns: u64) -> Record {
    let mut stack = ChildStack::new();
    let begin_ns = sys::now_ns();
    // SAFETY: `become_command` ends in execve or exit, calls nothing deep, and only reads its
    // argument, except for an atomic store.
    let pid = match unsafe { sys::spawn(&mut stack, become_command, start) } {
        Ok(pid) => pid,
        Err(errno) => return Record::unstarted(ending::NOT_FORKED, errno),
    };
    let mut usage: Rusage = [0; 18];
    let (killed, status) = wait(pid, begin_ns, limit_ns, &mut usage);
    let wall_ns = sys::now_ns() - begin_ns;
    // Relaxed: the child is gone, and `reap` returned after that.
    let errno = start.errno.load(Ordering::Relaxed);
    let (ending, value) = match (errno, killed) {
        (0, Some(ending)) => (ending, 0),
        (0, None) if status & 0x7f == 0 => (ending::EXITED, u64::from((status >> 8) & 0xff)),
        (0, None) => (ending::SIGNALLED, u64::from(status & 0x7f)),
        (errno, _) => (ending::NOT_EXECUTED, errno),
    };
    if killed.is_some() {
        kill_descendants();
    }
    let left_behind = has_descendants();
    Record {
        ending,
        value,
        wall_ns,
        usage,
        left_behind,
    }
}

/// Executes the command in the child, or stores the error and exits.
extern "C" fn become_command(start: *const Start) -> ! {
    // SAFETY: `run` gave a pointer to its own `Start` and sleeps until this process has left.
    let start = unsafe { &*start };
    sys::new_group();
    // If the launcher is killed and cannot clean up, the command is killed too.
    sys::signal_at_parents_end(SIGKILL);
    sys::block_signals(0);
    // SAFETY: both lists are the kernel's own, from this program's stack.
    let errno = unsafe { sys::execute(start.program, start.arguments, start.environment) };
    // Relaxed: read by the parent once this process is gone.
    start.errno.store(errno, Ordering::Relaxed);
    sys::exit(127)
}

/// Waits until the command has ended. Returns the ending if it was killed here, and its status.
/// Orphans that end meanwhile are reaped.
fn wait(pid: usize, begin_ns: u64, limit_ns: u64, usage: &mut Rusage) -> (Option<u64>, u32) {
    let mut killed = None;
    let mut status = 0;
    loop {
        let patience = if killed.is_some() {
            Patience::Endless
        } else {
            Patience::None
        };
        match sys::reap(patience, &mut status, usage) {
            Ok(0) | Err(sys::EINTR) => {}
            Ok(other) if other != pid => continue,
            _ => return (killed, status),
        }
        if killed.is_none() {
            killed = reason_to_kill(begin_ns, limit_ns);
            let is_killed = || {
                let group = sys::signal_group(pid, SIGKILL);
                sys::signal(pid, SIGKILL).is_ok() || group.is_ok()
            };
            // That of another user is not waited for.
            if killed.is_some() && !is_killed() {
                return (killed, 0);
            }
        }
    }
}

/// Kills what the command has started outside of its process group. Each process that ends leaves
/// its own children to this one. A kernel without the list of children leaves them alive.
fn kill_descendants() {
    let (mut status, mut usage) = (0, [0; 18]);
    let mut text = [0; 4096];
    loop {
        let mut killed = false;
        // A number that is cut off at the end comes again in the next round.
        for pid in sys::children(&mut text).split_inclusive(|byte| *byte == b' ') {
            if let [digits @ .., b' '] = pid {
                killed |= sys::signal(decimal(digits) as usize, SIGKILL).is_ok();
            }
        }
        // Those of other users are not waited for.
        if !killed || sys::reap(Patience::Endless, &mut status, &mut usage) == Err(sys::ECHILD) {
            return;
        }
    }
}

/// True if a process lives that the command has started. Reaps those that have ended.
fn has_descendants() -> bool {
    let (mut status, mut usage) = (0, [0; 18]);
    loop {
        match sys::reap(Patience::None, &mut status, &mut usage) {
            Ok(0) => return true,
            Ok(_) | Err(sys::EINTR) => {}
            Err(_) => return false,
        }
    }
}

/// Sleeps until a signal or the time limit; returns the ending if the command is to be killed.
fn reason_to_kill(begin_ns: u64, limit_ns: u64) -> Option<u64> {
    let limit = (limit_ns > 0).then(|| {
        let rest_ns = limit_ns.saturating_sub(sys::now_ns() - begin_ns);
        Timespec {
            seconds: (rest_ns / 1_000_000_000) as i64,
            nanoseconds: (rest_ns % 1_000_000_000) as i64,
        }
    });
    match sys::await_signal(AWAITED, limit) {
        Ok(SIGCHLD) => None,
        Ok(_) => Some(ending::INTERRUPTED),
        Err(sys::EAGAIN) => Some(ending::TIMED_OUT),
        Err(_) => None,
    }
}

impl Record {
    /// Returns the record of a command that never ran.
    const fn unstarted(ending: u64, value: u64) -> Self {
        Self {
            ending,
            value,
            wall_ns: 0,
            usage: [0; 18],
            left_behind: false,
        }
    }

    /// Returns the little-endian words for the pipe.
    fn words(&self) -> [[u8; 8]; RECORD_WORDS] {
        let usage = &self.usage;
        [
            MAGIC,
            self.ending,
            self.value,
            self.wall_ns,
            usage[0] * 1_000_000 + usage[1],
            usage[2] * 1_000_000 + usage[3],
            usage[4],  // maxrss, KiB
            usage[8],  // minor faults
            usage[9],  // major faults
            usage[11], // blocks in
            usage[12], // blocks out
            usage[16], // voluntary context switches
            usage[17], // involuntary context switches
            u64::from(self.left_behind),
        ]
        .map(u64::to_le_bytes)
    }
}

/// Returns an argument.
///
/// # Safety
///
/// `arguments` are the kernel's, and there are more than `index`.
unsafe fn string(arguments: Strings, index: usize) -> &'static CStr {
    // SAFETY: the caller vouches for the index.
    let text = unsafe { arguments.wrapping_add(index).read() };
    // SAFETY: the kernel ends every argument with a zero and leaves it alone from then on.
    unsafe { CStr::from_ptr(text) }
}

/// Parses a number in an argument.
fn number(text: &CStr) -> u64 {
    decimal(text.to_bytes())
}

/// Parses digits.
fn decimal(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |value: u64, digit| {
        value
            .wrapping_mul(10)
            .wrapping_add(u64::from(digit.wrapping_sub(b'0')))
    })
}
