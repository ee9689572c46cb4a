//! The launcher: starts one command, waits for it and says what it took.
//!
//! What `wait4` says of a child's memory is a running maximum that begins, at exec, with the memory
//! of whoever started it; a large parent makes every child look large. This program is therefore
//! as small as a program can be: no standard library, no C library, no start-up code, no heap. It
//! is compiled by `build.rs`, embedded in furlong and run from memory, once a sample.
//!
//! It is told by position, since nothing but furlong starts it:
//!
//! | argument | meaning |
//! |---|---|
//! | 1 | process id of furlong: with another parent, furlong is gone already |
//! | 2 | time limit in nanoseconds, 0 for none |
//! | 3 | 1 where the command's addresses are not to be randomised, else 0 |
//! | 4 | path of the file that becomes the command's standard input |
//! | 5 | path of the program |
//! | 6.. | the command's arguments, its own name first |
//!
//! Descriptor 0 is the pipe for the [`Record`]; 1 and 2 are the command's already, and so is the
//! environment. The record is read by `src/measure/launcher.rs`.
#![no_std]
#![no_main]

mod sys;

use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU64, Ordering};

use sys::{ChildStack, Errno, Patience, Rusage, SignalSet, Strings, Timespec};

/// What is said when somebody other than furlong starts this.
const USAGE: &[u8] = b"this is furlong's launcher; run furlong itself\n";

/// How the command came to its end, and in `Record::value`: what is in brackets.
mod ending {
    /// It exited (exit code).
    pub(crate) const EXITED: u64 = 0;
    /// A signal ended it (signal).
    pub(crate) const SIGNALLED: u64 = 1;
    /// The time limit passed, and its process group was killed (0).
    pub(crate) const TIMED_OUT: u64 = 2;
    /// The program could not be started (errno of execve).
    pub(crate) const NOT_EXECUTED: u64 = 3;
    /// There is no process to start it in (errno of clone).
    pub(crate) const NOT_FORKED: u64 = 4;
    /// The input could not be opened (errno of openat).
    pub(crate) const NO_INPUT: u64 = 5;
    /// Furlong is gone or asked to stop, and the process group was killed (0).
    pub(crate) const INTERRUPTED: u64 = 6;
}

/// Words of a record, in the order of [`Record::words`].
const RECORD_WORDS: usize = 14;

/// "furlong1", to know a record from whatever else might be in a pipe.
const MAGIC: u64 = u64::from_le_bytes(*b"furlong1");

/// What furlong learns, in one piece.
struct Record {
    ending: u64,
    value: u64,
    /// From just before the process is made to the return of `wait4`.
    wall_ns: u64,
    usage: Rusage,
    /// The command's process group outlives it.
    left_behind: bool,
}

/// What the child needs. Both processes see it until the child is gone or has become the command.
struct Start {
    program: &'static CStr,
    arguments: Strings,
    environment: Strings,
    /// Why it did not become the command; 0 while nothing is known.
    errno: AtomicU64,
}

const SIGHUP: usize = 1;
const SIGINT: usize = 2;
const SIGQUIT: usize = 3;
const SIGKILL: usize = 9;
const SIGTERM: usize = 15;
const SIGCHLD: usize = 17;
const SIGNAL_LAST: usize = 64;

/// The signals that the launcher waits for instead of being hit by them.
const AWAITED: SignalSet = bit(SIGCHLD) | bit(SIGHUP) | bit(SIGINT) | bit(SIGQUIT) | bit(SIGTERM);

/// A signal in a set.
const fn bit(signal: usize) -> SignalSet {
    1 << (signal - 1)
}

/// Nothing here panics; if it did, furlong would miss the record and say so.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    sys::exit(3)
}

/// Where `_start` leads.
///
/// # Safety
///
/// `stack` is the stack as the kernel hands it to a new program.
#[unsafe(no_mangle)]
unsafe extern "C" fn launch(stack: *const usize) -> ! {
    // SAFETY: a new program's stack begins with the argument count.
    let count = unsafe { stack.read() };
    if count < 7 {
        let _ = sys::write(2, USAGE);
        sys::exit(2)
    }
    let arguments = stack.wrapping_add(1).cast::<*const c_char>();
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

/// Everything that is to be done before the clock starts.
fn set_up(parent: u64, fixed: bool, input: &CStr) -> Result<(), (u64, Errno)> {
    sys::signal_at_parents_end(SIGTERM);
    if sys::parent() as u64 != parent {
        return Err((ending::INTERRUPTED, 0));
    }
    // Without a terminal, a command that insists on one fails at once. In the background of
    // furlong's own session it would be stopped and never come back.
    sys::new_session();
    // What is ignored stays ignored across exec; the command begins with nothing ignored.
    for signal in 1..=SIGNAL_LAST {
        sys::default_signal(signal);
    }
    let opened = sys::open(input).and_then(|descriptor| sys::replace(descriptor, 0));
    opened.map_err(|errno| (ending::NO_INPUT, errno))?;
    // What furlong itself was started with is not for the command.
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
    // SAFETY: `become_command` ends in execve or exit, calls nothing deep, and only reads what it
    // is given, but for an atomic.
    let pid = match unsafe { sys::spawn(&mut stack, become_command, start) } {
        Ok(pid) => pid,
        Err(errno) => return Record::unstarted(ending::NOT_FORKED, errno),
    };
    let mut usage: Rusage = [0; 18];
    let (killed, status) = wait(pid, begin_ns, limit_ns, &mut usage);
    let wall_ns = sys::now_ns() - begin_ns;
    // Relaxed: the child is gone, and `wait_for` came back after that.
    let errno = start.errno.load(Ordering::Relaxed);
    let (ending, value) = match (errno, killed) {
        (0, Some(ending)) => (ending, 0),
        (0, None) if status & 0x7f == 0 => (ending::EXITED, u64::from((status >> 8) & 0xff)),
        (0, None) => (ending::SIGNALLED, u64::from(status & 0x7f)),
        (errno, _) => (ending::NOT_EXECUTED, errno),
    };
    let left_behind = sys::signal_group(pid, 0).is_ok();
    Record {
        ending,
        value,
        wall_ns,
        usage,
        left_behind,
    }
}

/// In the child: becomes the command, or leaves the reason and goes.
extern "C" fn become_command(start: *const Start) -> ! {
    // SAFETY: `run` gave a pointer to its own `Start` and sleeps until this process has left.
    let start = unsafe { &*start };
    sys::new_group();
    // Should the launcher be killed without a chance to clean up, the command goes too.
    sys::signal_at_parents_end(SIGKILL);
    sys::block_signals(0);
    // SAFETY: both lists are the kernel's own, from this program's stack.
    let errno = unsafe { sys::execute(start.program, start.arguments, start.environment) };
    // Relaxed: read by the parent once this process is gone.
    start.errno.store(errno, Ordering::Relaxed);
    sys::exit(127)
}

/// Waits until the command is gone; the ending if it had to be killed, and its status.
fn wait(pid: usize, begin_ns: u64, limit_ns: u64, usage: &mut Rusage) -> (Option<u64>, u32) {
    let mut killed = None;
    let mut status = 0;
    loop {
        let patience = if killed.is_some() {
            Patience::Endless
        } else {
            Patience::None
        };
        match sys::wait_for(pid, patience, &mut status, usage) {
            Ok(0) | Err(sys::EINTR) => {}
            _ => return (killed, status),
        }
        if killed.is_none() {
            killed = reason_to_kill(begin_ns, limit_ns);
            if killed.is_some() {
                let _ = sys::signal_group(pid, SIGKILL);
            }
        }
    }
}

/// Sleeps until something happens; the ending where the command is to be killed for it.
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
    /// Of a command that never ran.
    const fn unstarted(ending: u64, value: u64) -> Self {
        Self {
            ending,
            value,
            wall_ns: 0,
            usage: [0; 18],
            left_behind: false,
        }
    }

    /// As it goes through the pipe: little-endian words.
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

/// An argument.
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

/// The number that an argument spells.
fn number(text: &CStr) -> u64 {
    text.to_bytes().iter().fold(0, |value: u64, digit| {
        value
            .wrapping_mul(10)
            .wrapping_add(u64::from(digit.wrapping_sub(b'0')))
    })
}
