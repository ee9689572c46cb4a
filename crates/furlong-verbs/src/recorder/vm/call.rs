//! Parser of strace's lines. A call that is interrupted by others takes two lines: the first ends
//! with `<unfinished ...>`, the second begins with `<... name resumed>`.

use std::collections::HashMap;

use furlong_spec::vmspace::trace::{Answer, What};

use super::means::CALLS;
use super::system_call::what;
use super::ticks;

/// The flags equivalent to `vfork`: the child shares the space, and the parent waits for it.
const VFORK: u64 = 0x4100;

/// An action of a task, from one or two lines.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Done {
    /// Number of the line where it began; the caller assigns it.
    pub(super) begun: u64,
    pub(super) at_us: u64,
    pub(super) task: u32,
    pub(super) what: What,
}

/// Parser state: calls that have begun, by task.
#[derive(Default)]
pub(super) struct Lines {
    unfinished: HashMap<u32, (u64, u64, String)>,
    /// Calls that could not be parsed.
    pub(super) unknown: u64,
}

impl Lines {
    /// Parses a line. Returns the action that it completes.
    pub(super) fn line(&mut self, number: u64, line: &str) -> Option<Done> {
        let (task, rest) = line.split_once(' ')?;
        let (time, rest) = rest.trim_start().split_once(' ')?;
        let (task, at_us) = (task.parse().ok()?, ticks(time, 6)?);
        if rest.starts_with("+++ ") {
            self.unfinished.remove(&task);
            return Some(Done {
                begun: number,
                at_us,
                task,
                what: What::Exit { task },
            });
        }
        if let Some(begun) = rest.strip_suffix("<unfinished ...>") {
            let begun = (number, at_us, begun.to_owned());
            self.unfinished.insert(task, begun);
            return None;
        }
        let (begun, at_us, whole) = match rest.strip_prefix("<... ") {
            None => (number, at_us, rest.to_owned()),
            Some(resumed) => {
                let (_, end) = resumed.split_once("resumed>")?;
                let begun = self.unfinished.remove(&task);
                // An exec by another thread ends under its process's number.
                let by_thread = || (number, at_us, "execve(".to_owned());
                let is_exec = resumed.starts_with("execve");
                let (begun, at_us, start) = begun.or_else(|| is_exec.then(by_thread))?;
                (begun, at_us, start + end)
            }
        };
        let call = Call::parse(&whole);
        let what = call.as_ref().and_then(Call::what);
        let name = whole.split('(').next().unwrap_or_default();
        self.unknown += u64::from(what.is_none() && CALLS.contains(&name));
        Some(Done {
            begun,
            at_us,
            task,
            what: what?,
        })
    }
}

/// A call with its result.
struct Call<'a> {
    name: &'a str,
    arguments: &'a str,
    answer: Option<Answer>,
}

impl<'a> Call<'a> {
    fn parse(whole: &'a str) -> Option<Self> {
        let (call, result) = whole.rsplit_once(") ")?;
        let (name, arguments) = call.split_once('(')?;
        let result = result.trim_start().strip_prefix("= ")?;
        Some(Self {
            name,
            arguments,
            answer: answer(result),
        })
    }

    /// The call's change of a space, if any.
    fn what(&self) -> Option<What> {
        let answer = self.answer?;
        match (self.name, answer) {
            ("execve" | "execveat", Ok(_)) => Some(What::Exec),
            ("fork" | "vfork" | "clone" | "clone3", Ok(child)) => Some(What::Task {
                child: u32::try_from(child).ok()?,
                flags: self.flags(),
            }),
            (name, answer) => {
                let words = self.arguments.split(',').map(|word| number(word.trim()));
                let arguments: Option<Vec<u64>> = words.collect();
                what(name, &arguments?, answer)
            }
        }
    }

    /// The flags of a new task.
    fn flags(&self) -> u64 {
        if self.name == "vfork" {
            return VFORK;
        }
        let flags = self.arguments.split_once("flags=");
        let flags = flags.map_or("", |(_, rest)| rest);
        let end = flags.find([',', '|', '}']).unwrap_or(flags.len());
        number(flags[..end].trim()).unwrap_or(0)
    }
}

/// Parses `NULL`, or a number in C's notation.
fn number(word: &str) -> Option<u64> {
    if word == "NULL" {
        return Some(0);
    }
    if let Some(digits) = word.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let negative = word.parse::<i64>().ok().map(|number| number as u64);
    negative.or_else(|| word.parse().ok())
}

/// Parses `0x1000`, or `-1 ENOMEM (Cannot allocate memory)`.
fn answer(result: &str) -> Option<Answer> {
    let mut words = result.split_whitespace();
    let first = words.next()?;
    if first != "-1" {
        return number(first).map(Ok);
    }
    let name = words.next()?;
    let errno = ERRNOS.iter().find(|(known, _)| *known == name);
    errno.map(|(_, number)| Err(*number))
}

/// Possible errors of these calls, with Linux's numbers.
const ERRNOS: [(&str, i32); 19] = [
    ("EPERM", 1),
    ("ENOENT", 2),
    ("EINTR", 4),
    ("EBADF", 9),
    ("EAGAIN", 11),
    ("ENOMEM", 12),
    ("EACCES", 13),
    ("EFAULT", 14),
    ("EBUSY", 16),
    ("EEXIST", 17),
    ("ENODEV", 19),
    ("EINVAL", 22),
    ("ENFILE", 23),
    ("ETXTBSY", 26),
    ("ENOSPC", 28),
    ("ENOSYS", 38),
    ("EOVERFLOW", 75),
    ("EOPNOTSUPP", 95),
    ("ENOTSUP", 95),
];

#[cfg(test)]
mod tests {
    use furlong_spec::vmspace::trace::{Event, What};

    use super::{Done, Lines, VFORK};

    /// Parses a text into lines of a trace, each with the number of the line where it began.
    fn read(text: &str) -> (Vec<(u64, String)>, u64) {
        let mut lines = Lines::default();
        let done = text.lines().zip(1..);
        let done = done.filter_map(|(line, number)| lines.line(number, line));
        let shown = done.map(
            |Done {
                 begun,
                 at_us,
                 task,
                 what,
             }| {
                let event = Event {
                    line: 0,
                    at_us: at_us % 1000,
                    pid: task,
                    what,
                };
                (begun, event.to_string())
            },
        );
        (shown.collect(), lines.unknown)
    }

    #[test]
    fn calls_are_understood_with_their_results() {
        let text = "\
7 1795331957.940001 brk(NULL)       = 0x55ff4b364000
7 1795331957.940002 mmap(NULL, 8192, 0x3, 0x22, -1, 0) = 0x7efc02de8000
7 1795331957.940003 mmap(0x7efc02d7a000, 339968, 0x1, 0x812, 3, 0x17c000) = 0x7efc02d7a000
7 1795331957.940004 mremap(0x7efc02de8000, 8192, 1048576, 0x1) = 0x7efc02afb000
7 1795331957.940005 mremap(0x7efc02de8000, 8192, 8192, 0x4) = -1 EINVAL (Invalid argument)
7 1795331957.940006 mprotect(0x10000, 4096, 0x3) = -1 ENOMEM (Cannot allocate memory)
7 1795331957.940007 munmap(0x1, 18446744073709551615) = -1 EINVAL (Invalid argument)
7 1795331957.940008 mmap(NULL, 4096, 0x3, 0x2, 77, 0) = -1 EBADF (Bad file descriptor)
7 1795331957.940009 execve(\"/bin/ls\", [\"ls\", \"a) = 3\"], 0x1 /* 9 vars */) = 0 (DELAYED)
7 1795331957.940010 execve(\"/bin/no\", [\"no\"], 0x1 /* 9 vars */) = -1 ENOENT (No such file)
7 1795331957.940011 +++ exited with 0 +++
";
        let expected = [
            (1, "1 b 7 0 = 55ff4b364000"),
            (2, "2 m 7 0 2000 3 22 -1 0 = 7efc02de8000"),
            (3, "3 m 7 7efc02d7a000 53000 1 812 3 17c000 = 7efc02d7a000"),
            (4, "4 r 7 7efc02de8000 2000 100000 1 0 = 7efc02afb000"),
            (5, "5 r 7 7efc02de8000 2000 2000 4 0 = -22"),
            (6, "6 p 7 10000 1000 3 = -12"),
            (7, "7 u 7 1 ffffffffffffffff = -22"),
            (8, "8 m 7 0 1000 3 2 77 0 = -9"),
            (9, "9 x 7"),
            (11, "11 e 7 7"),
        ];
        let expected = expected.map(|(begun, line)| (begun, line.to_owned()));
        assert_eq!(read(text), (expected.to_vec(), 0));
    }

    #[test]
    fn a_call_that_others_come_between_begins_where_it_began() {
        let text = "\
7 1795331957.940001 vfork( <unfinished ...>
8 1795331957.940002 execve(\"/bin/ls\", [\"ls\"], 0x1 /* 9 vars */ <unfinished ...>
7 1795331957.940003 <... vfork resumed>) = 8
8 1795331957.940004 <... execve resumed>) = 0 (DELAYED)
7 1795331957.940005 clone(child_stack=NULL, flags=0x1200000|17, child_tidptr=0x7f) = 9
7 1795331957.940006 clone3({flags=0x3d0f00, exit_signal=0, stack=0x7f}, 88 <unfinished ...>
7 1795331957.940007 <... clone3 resumed> => {parent_tid=[10]}, 88) = 10
";
        let (found, unknown) = read(text);
        let found: Vec<(u64, &str)> = found
            .iter()
            .map(|(at, line)| (*at, line.as_str()))
            .collect();
        let expected = [
            (1, "1 c 7 8 4100"),
            (2, "2 x 8"),
            (5, "5 c 7 9 1200000"),
            (6, "6 c 7 10 3d0f00"),
        ];
        assert_eq!((found.as_slice(), unknown), (&expected[..], 0));
        assert_eq!(VFORK, 0x4100);
    }

    #[test]
    fn what_is_no_call_is_passed_over_and_what_is_not_understood_is_counted() {
        let mut lines = Lines::default();
        for line in [
            "",
            "7",
            "7 1.000001",
            "x 1.000001 brk(0x0) = 0x0",
            "7 1.1 brk(0x0) = 0x0",
        ] {
            assert_eq!(lines.line(1, line), None, "{line}");
        }
        let signal = "7 1.000001 --- SIGCHLD {si_signo=SIGCHLD} ---";
        assert_eq!(lines.line(1, signal), None);
        assert_eq!(lines.unknown, 0);
        assert_eq!(lines.line(1, "7 1.000001 brk(0x0"), None);
        assert_eq!(lines.unknown, 1);
        let gone = lines.line(1, "7 1.000001 +++ killed by SIGKILL +++");
        assert!(matches!(
            gone.map(|gone| gone.what),
            Some(What::Exit { task: 7 })
        ));
    }
}
