//! The resource usage of a command that ran to its end, and the launcher's record of it.

use std::{fmt, io};

/// The outcome of a command that was started.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// The way it ended.
    pub ending: Ending,
    /// Resources that it used.
    pub usage: Usage,
    /// True if a process that it started outlives it.
    pub left_behind: bool,
    /// The end of its standard error, at most 4 KiB.
    pub error_tail: Vec<u8>,
}

impl Finished {
    /// Returns the last line on standard error that is not empty, without control characters. For a
    /// Rust program it is the last line before its backtrace.
    pub fn last_error_line(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.error_tail);
        let text = text
            .rsplit_once("\nstack backtrace:\n")
            .filter(|(_, trace)| trace.trim_end().lines().last().is_some_and(is_hint))
            .map_or(&*text, |(before, _)| before);
        let lines = text
            .split(['\n', '\r'])
            .map(|line| line.replace(char::is_control, " "));
        let last = lines
            .rev()
            .find(|line| !line.trim().is_empty() && !is_hint(line))?;
        Some(last.trim().chars().take(300).collect())
    }
}

/// True if the line is only a Rust program's hint about its backtrace.
fn is_hint(line: &str) -> bool {
    line.starts_with("skipping backtrace")
        || line.starts_with("note: ") && line.contains("`RUST_BACKTRACE=")
}

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Exit code.
    Exited(u8),
    /// Signal that killed it.
    Signalled(u8),
    /// Killed at the time limit.
    TimedOut,
}

impl Ending {
    /// Returns the exit code or, as a shell does, 128 and the number of the signal. `None` at the
    /// time limit.
    pub fn code(self) -> Option<u8> {
        match self {
            Ending::Exited(code) => Some(code),
            Ending::Signalled(signal) => Some(signal.saturating_add(128)),
            Ending::TimedOut => None,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Exited(code) => write!(f, "exit code {code}"),
            Ending::Signalled(signal) => write!(f, "killed by {}", signal_name(*signal)),
            Ending::TimedOut => f.write_str("stopped at the time limit"),
        }
    }
}

/// Returns the name of a signal that ends programs.
fn signal_name(signal: u8) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL, an instruction that this processor does not know",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

/// Resources that a command used, with the children that it waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Seconds from just before the fork to the end of the wait.
    pub wall_s: f64,
    /// Processor seconds in user mode.
    pub user_s: f64,
    /// Processor seconds in the kernel.
    pub sys_s: f64,
    /// Largest resident size of one of its processes, KiB.
    pub maxrss_kib: u64,
    /// Page faults that needed no read from a device.
    pub minor_faults: u64,
    /// Page faults that needed a read.
    pub major_faults: u64,
    /// Voluntary context switches: it waited for something.
    pub voluntary_switches: u64,
    /// Involuntary context switches: the scheduler ran something else.
    pub involuntary_switches: u64,
    /// Reads from devices, in units of 512 bytes.
    pub blocks_in: u64,
    /// Writes to devices, in units of 512 bytes.
    pub blocks_out: u64,
}

/// Bytes of a record: its words in the order in which `launcher/main.rs` writes them.
pub(super) const RECORD_BYTES: usize = 14 * 8;

/// First word of a record.
const MAGIC: u64 = u64::from_le_bytes(*b"furlong1");

/// The launcher's record.
#[derive(Debug)]
pub(super) struct Record {
    /// The outcome of the command.
    pub(super) what: What,
    /// Resources that it used.
    pub(super) usage: Usage,
    /// True if a process that it started outlives it.
    pub(super) left_behind: bool,
}

/// The outcome of a command.
#[derive(Debug)]
pub(super) enum What {
    /// It ran to its end.
    Ended(Ending),
    /// The program could not be started.
    NotExecuted(io::Error),
    /// The fork failed.
    NotForked(io::Error),
    /// The input could not be opened.
    NoInput(io::Error),
    /// It was killed because the launcher was interrupted.
    Interrupted,
}

impl Record {
    /// Decodes the bytes from the pipe; `None` if they are no record.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let words: Vec<u64> = bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|word| u64::from_le_bytes(*word))
            .collect();
        let &[MAGIC, ending, value, ref numbers @ .., left_behind] = &words[..] else {
            return None;
        };
        let &[
            wall_ns,
            user_us,
            sys_us,
            rss,
            minor,
            major,
            read,
            written,
            waits,
            preempted,
        ] = numbers
        else {
            return None;
        };
        let small = u8::try_from(value).ok()?;
        let errno = io::Error::from_raw_os_error(i32::from(small));
        let what = match ending {
            0 => What::Ended(Ending::Exited(small)),
            1 => What::Ended(Ending::Signalled(small)),
            2 => What::Ended(Ending::TimedOut),
            3 => What::NotExecuted(errno),
            4 => What::NotForked(errno),
            5 => What::NoInput(errno),
            6 => What::Interrupted,
            _ => return None,
        };
        let usage = Usage {
            wall_s: wall_ns as f64 / 1e9,
            user_s: user_us as f64 / 1e6,
            sys_s: sys_us as f64 / 1e6,
            maxrss_kib: rss,
            minor_faults: minor,
            major_faults: major,
            voluntary_switches: waits,
            involuntary_switches: preempted,
            blocks_in: read,
            blocks_out: written,
        };
        Some(Self {
            what,
            usage,
            left_behind: left_behind == 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Ending, Finished, RECORD_BYTES, Record, Usage, What};

    /// Makes a record of these words behind the magic one.
    fn record(words: [u64; 13]) -> Vec<u8> {
        let rest = words.into_iter().flat_map(u64::to_le_bytes);
        b"furlong1".iter().copied().chain(rest).collect()
    }

    #[test]
    fn every_word_of_a_record_has_its_place() {
        let bytes = record([
            0,
            3,
            4_000_000_000,
            5_000_000,
            6_000_000,
            7,
            8,
            9,
            10,
            11,
            12,
            13,
            1,
        ]);
        assert_eq!(bytes.len(), RECORD_BYTES);
        let record = Record::decode(&bytes).unwrap();
        assert!(matches!(record.what, What::Ended(Ending::Exited(3))));
        assert!(record.left_behind);
        let expected = Usage {
            wall_s: 4.0,
            user_s: 5.0,
            sys_s: 6.0,
            maxrss_kib: 7,
            minor_faults: 8,
            major_faults: 9,
            blocks_in: 10,
            blocks_out: 11,
            voluntary_switches: 12,
            involuntary_switches: 13,
        };
        assert_eq!(record.usage, expected);
    }

    #[test]
    fn what_is_cut_or_of_another_kind_is_no_record() {
        let whole = record([0; 13]);
        for cut in 0..whole.len() {
            assert!(Record::decode(&whole[..cut]).is_none(), "{cut} bytes");
        }
        let mut other = whole.clone();
        other[0] = b'F';
        assert!(Record::decode(&other).is_none(), "another magic");
        assert!(Record::decode(&record([7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])).is_none());
    }

    #[test]
    fn the_last_error_line_is_the_last_with_text() {
        let finished = |text: &str| Finished {
            ending: Ending::Exited(1),
            usage: Usage::default(),
            left_behind: false,
            error_tail: text.into(),
        };
        let line = |text: &str| finished(text).last_error_line();
        assert_eq!(line("first\nsecond\n\n  \n").as_deref(), Some("second"));
        assert_eq!(line("10 %\r50 %\r\x1b[31mred").as_deref(), Some("[31mred"));
        assert_eq!(line("no end").as_deref(), Some("no end"));
        assert_eq!(line("\n\n"), None);
        let panicked = "thread 'main' panicked at src/main.rs:5:9:\nno room\n";
        let hint = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
        let frames = "stack backtrace:\n   0: core::panicking::panic_fmt\n   1: main\n";
        assert_eq!(
            line(&format!("{panicked}{hint}\n")).as_deref(),
            Some("no room")
        );
        let whole = format!("{panicked}{frames}note: Some details, `RUST_BACKTRACE=full`\n");
        assert_eq!(line(&whole).as_deref(), Some("no room"));
        let own = format!("{panicked}{frames}and on it went\n");
        assert_eq!(line(&own).as_deref(), Some("and on it went"));
    }
}
