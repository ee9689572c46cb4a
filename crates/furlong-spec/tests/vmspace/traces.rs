//! Recordings of real programs, replayed on every index, and corrupted recordings.

use std::fs;
use std::path::{Path, PathBuf};

use furlong::addr::VirtAddr;
use furlong::vmspace::{
    Access, At, Config, Custom, Errno, FaultError, Layout, Linux, Maple, Prot, Rbtree, Remap,
    Request, Space,
};
use furlong_spec::vmspace::trace::{
    AddressSpace, Class, Event, Fault, Report, Script, Trace, Unwatched, What, parse, read, replay,
};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../traces/vmspace")
        .join(name)
}

fn whole(name: &str) -> Vec<Event> {
    let Trace { events, error } = read(&path(name));
    assert!(error.is_none(), "{error:?}");
    events
}

fn replayed<S: AddressSpace>(script: &Script) -> Report {
    replay::<S>(script, &mut Unwatched)
}

/// Replays the whole build. Every result must equal the kernel's.
fn answers_as_the_kernel<C: Config<Index<u32>: Default>>(script: &Script) {
    let report = replayed::<Space<u32, C>>(script);
    assert!(report.mismatches.is_empty(), "{:?}", report.by_kind());
    let expected = [
        (Class::New, 823),
        (Class::End, 904),
        (Class::Fork, 81),
        (Class::Map, 12_966),
        (Class::MapFixed, 8007),
        (Class::Unmap, 1364),
        (Class::Protect, 4038),
        (Class::Brk, 6734),
        (Class::Fault, 742_042),
    ];
    for (class, count) in expected {
        assert_eq!(report.carried_out[&class], count, "{class}");
    }
    // Every place that the kernel chose is the one that the space would choose.
    assert_eq!(report.choices, (12_966, 12_966));
}

#[test]
fn the_kernel_build_is_answered_as_the_kernel_did() {
    let script = Script::new(&whole("kernbench-lib.vmtrace.zst"));
    assert_eq!((script.events, script.spaces), (789_712, 904));
    assert_eq!((script.no_execs.len(), script.unsaid_execs.len()), (28, 1));
    answers_as_the_kernel::<Custom<Rbtree>>(&script);
    answers_as_the_kernel::<Custom<Maple>>(&script);
}

#[test]
fn the_cut_is_the_beginning_and_is_answered_too() {
    let cut = whole("kernbench-cut.vmtrace.zst");
    assert_eq!(cut.len(), 24_000);
    let script = Script::new(&cut);
    let report = replayed::<Space<u32>>(&script);
    assert!(report.mismatches.is_empty(), "{:?}", report.by_kind());
    assert!(
        report.carried_out[&Class::Fork] > 0 && script.spaces > 30,
        "{report:?}"
    );
    let whole = whole("kernbench-lib.vmtrace.zst");
    assert!(whole.starts_with(&cut));
}

/// Replays a recording in the mode that matches the kernel. Every result must equal the kernel's.
fn answers_all<C: Config<Index<u32>: Default>>(script: &Script) -> Report {
    let report = replayed::<Space<u32, C>>(script);
    assert!(report.mismatches.is_empty(), "{:?}", report.by_kind());
    report
}

#[test]
fn runtimes_that_move_mappings_and_hint_at_places_are_answered_as_the_kernel_did() {
    let events = whole("runtimes.vmtrace.zst");
    let hints = events.iter().filter(|event| match &event.what {
        What::Map { call, .. } => matches!(call.request(()).at, At::Hint(_)),
        _ => false,
    });
    assert_eq!(hints.count(), 87);
    let script = Script::new(&events);
    assert!(script.not_asked.is_empty(), "{:?}", script.not_asked);
    let report = answers_all::<Custom<Rbtree, Linux>>(&script);
    assert_eq!(answers_all::<Custom<Maple, Linux>>(&script), report);
    assert_eq!(script.spaces, 3);
    for (class, least) in [
        (Class::Remap, 30),
        (Class::Map, 150),
        (Class::Unmap, 200),
        (Class::Protect, 150),
        (Class::Brk, 40),
        (Class::Fault, 14_000),
    ] {
        assert!(report.carried_out[&class] >= least, "{report:?}");
    }
    // Every place that the kernel chose is the one that the space would choose.
    assert_eq!(report.choices.0, report.choices.1, "{report:?}");
}

#[test]
fn what_the_kernel_refuses_is_refused_with_the_same_numbers() {
    let events = whole("refusals.vmtrace.zst");
    let mut refused: Vec<(&str, i32)> = Vec::new();
    for event in &events {
        let (call, answer) = match &event.what {
            What::Map { answer, .. } => ("mmap", answer),
            What::Unmap { answer, .. } => ("munmap", answer),
            What::Protect { answer, .. } => ("mprotect", answer),
            What::Remap { answer, .. } => ("mremap", answer),
            _ => continue,
        };
        refused.extend(answer.err().map(|errno| (call, errno)));
    }
    refused.sort_unstable();
    refused.dedup();
    let (enomem, eacces, efault, eexist, enodev, einval) = (12, 13, 14, 17, 19, 22);
    let expected = [
        ("mmap", 9),
        ("mmap", enomem),
        ("mmap", eacces),
        ("mmap", eexist),
        ("mmap", enodev),
        ("mmap", einval),
        ("mprotect", enomem),
        ("mprotect", eacces),
        ("mprotect", einval),
        ("mremap", enomem),
        ("mremap", efault),
        ("mremap", einval),
        ("munmap", einval),
    ];
    assert_eq!(refused, expected);
    let script = Script::new(&events);
    // The space is not involved in a mapping of an invalid file.
    assert_eq!(script.not_asked.len(), 1);
    let report = answers_all::<Custom<Rbtree, Linux>>(&script);
    assert_eq!(answers_all::<Custom<Maple, Linux>>(&script), report);
    assert_eq!(report.carried_out[&Class::Fork], 1);
}

#[test]
fn where_the_kernel_has_changed_something_before_it_refused_only_its_mode_agrees() {
    let script = Script::new(&whole("refusals.vmtrace.zst"));
    let report = replayed::<Space<u32, Custom<Maple>>>(&script);
    let kinds: Vec<_> = report.by_kind().into_keys().collect();
    let written = (Class::Fault, FaultError::Access.to_string());
    assert_eq!(kinds, [written], "{report:?}");
}

/// A space with one fault.
struct Wrong<const WHAT: usize>(Space<u32>);

const KEEPS_WHAT_IS_UNMAPPED: usize = 0;
const HAS_STACKS_THAT_STAY: usize = 1;
const PROTECTS_NOTHING: usize = 2;
const MOVES_NO_BREAK: usize = 3;
const FORKS_NOTHING: usize = 4;

impl<const WHAT: usize> AddressSpace for Wrong<WHAT> {
    fn new(layout: &Layout) -> Self {
        Self(AddressSpace::new(layout))
    }

    fn fork(&self) -> Self {
        match WHAT {
            FORKS_NOTHING => Self::new(self.0.layout()),
            _ => Self(AddressSpace::fork(&self.0)),
        }
    }

    fn map(&mut self, request: &Request<u32>) -> Result<VirtAddr, Errno> {
        AddressSpace::map(&mut self.0, request)
    }

    fn unmap(&mut self, start: VirtAddr, len: u64) -> Result<(), Errno> {
        match WHAT {
            KEEPS_WHAT_IS_UNMAPPED => Ok(()),
            _ => AddressSpace::unmap(&mut self.0, start, len),
        }
    }

    fn protect(&mut self, start: VirtAddr, len: u64, prot: Prot) -> Result<(), Errno> {
        match WHAT {
            PROTECTS_NOTHING => Err(Errno::Enomem),
            _ => AddressSpace::protect(&mut self.0, start, len, prot),
        }
    }

    fn remap(&mut self, remap: &Remap) -> Result<VirtAddr, Errno> {
        AddressSpace::remap(&mut self.0, remap)
    }

    fn start_brk(&mut self, start: VirtAddr) {
        self.0.start_brk(start);
    }

    fn brk(&mut self, end: VirtAddr) -> VirtAddr {
        match WHAT {
            MOVES_NO_BREAK => self.0.brk(),
            _ => AddressSpace::brk(&mut self.0, end),
        }
    }

    fn fault(&mut self, address: VirtAddr, access: Access) -> Result<(), FaultError> {
        match WHAT {
            HAS_STACKS_THAT_STAY if self.0.find(address).is_none() => Err(FaultError::NotMapped),
            _ => AddressSpace::fault(&mut self.0, address, access),
        }
    }

    fn areas(&self) -> usize {
        self.0.len()
    }
}

#[test]
fn a_wrong_space_is_told_by_the_kernels_answers() {
    let script = Script::new(&whole("kernbench-cut.vmtrace.zst"));
    let differ = |report: Report| {
        let kinds = report.by_kind();
        let classes: Vec<Class> = kinds.into_keys().map(|(class, _)| class).collect();
        classes
    };
    let kept = differ(replayed::<Wrong<KEEPS_WHAT_IS_UNMAPPED>>(&script));
    assert!(kept.contains(&Class::Map), "{kept:?}");
    let stays = differ(replayed::<Wrong<HAS_STACKS_THAT_STAY>>(&script));
    assert!(stays.contains(&Class::Fault), "{stays:?}");
    let unprotected = differ(replayed::<Wrong<PROTECTS_NOTHING>>(&script));
    assert!(unprotected.contains(&Class::Protect), "{unprotected:?}");
    let no_break = differ(replayed::<Wrong<MOVES_NO_BREAK>>(&script));
    assert!(no_break.contains(&Class::Brk), "{no_break:?}");
    let no_fork = differ(replayed::<Wrong<FORKS_NOTHING>>(&script));
    assert!(no_fork.contains(&Class::Fault), "{no_fork:?}");
}

#[test]
fn an_event_is_written_as_it_is_read() {
    let mut text = String::from("# vmtrace 1\n");
    let events = whole("kernbench-cut.vmtrace.zst");
    for event in &events {
        text.push_str(&format!("{event}\n"));
    }
    let more = "99999999 r 7 1000 2000 3000 1 0 = 5000\n99999999 r 7 1000 0 0 0 0 = -22\n";
    let again = parse("written", (text.clone() + more).as_bytes());
    assert!(again.error.is_none(), "{:?}", again.error);
    for (one, other) in events.iter().zip(&again.events) {
        assert_eq!(
            (one.at_us, one.pid, &one.what),
            (other.at_us, other.pid, &other.what)
        );
    }
    let last: Vec<String> = again.events[events.len()..]
        .iter()
        .map(|event| format!("{event}\n"))
        .collect();
    assert_eq!(last.concat(), more);
}

/// The number of events before the faulty line, the number of that line, and the message.
fn damage(text: &str) -> (usize, Option<usize>, String) {
    let trace = parse("trace", text.as_bytes());
    let error = trace.error.expect("something is wrong");
    (trace.events.len(), error.line, error.to_string())
}

#[test]
fn a_damaged_line_is_named_and_what_is_before_it_is_kept() {
    let before = "# vmtrace 1\n# a comment\n5 x 1\n5 i 1 1000 1000 3 a b\n";
    let wrong = [
        ("4 x 1\n", "earlier than 5 us"),
        ("6 x 1", "has no end"),
        ("6 q 1\n", "`q` is no operation"),
        ("6\n", "the operation is missing"),
        ("x 1\n", "`x` is no time"),
        ("6 x\n", "the process is missing"),
        ("6 x 1 2\n", "`2` is behind the last field"),
        ("6 x -1\n", "`-1` is no process"),
        ("6 u 1 1000 0x10 = 0\n", "`0x10` is no length"),
        ("6 u 1 1000 10 0\n", "`0` is no `=` before the result"),
        ("6 u 1 1000 10 =\n", "the result is missing"),
        ("6 u 1 1000 10 = -0\n", "`-0` is no result"),
        ("6 u 1 1000 10 = -5000\n", "`-5000` is no result"),
        (
            "6 m 1 0 1000 3 22 -1 0\n",
            "the `=` before the result is missing",
        ),
        ("6 m 1 0 10000000000000000 3 22 -1 0 = 0\n", "is no length"),
        ("6 f 1 +1000 4\n", "`+1000` is no address"),
        ("6  x 1\n", "the operation is missing"),
    ];
    for (line, expected) in wrong {
        let (kept, at, message) = damage(&format!("{before}{line}7 x 1\n"));
        // A last line without an end runs into the next one.
        if line.ends_with('\n') {
            assert_eq!((kept, at), (2, Some(5)), "{line:?}: {message}");
            assert!(message.contains(expected), "{line:?}: {message}");
        }
        let (kept, at, message) = damage(&format!("{before}{line}"));
        assert_eq!((kept, at), (2, Some(5)), "{line:?}: {message}");
        assert!(message.contains(expected), "{line:?}: {message}");
    }
}

#[test]
fn what_is_no_trace_is_refused_in_one_line() {
    let files: [(&[u8], &str); 5] = [
        (b"", "holds no event"),
        (b"# vmtrace 1\n# nothing\n", "holds no event"),
        (b"# vmtrace 2\n0 x 1\n", "begins with `# vmtrace 1`"),
        (b"\x7fELF\x02\n", "begins with `# vmtrace 1`"),
        (b"# vmtrace 1\n0 x \xff\n", "is no text"),
    ];
    for (bytes, expected) in files {
        let error = parse("trace", bytes).error.expect("it is no trace");
        let message = error.to_string();
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains('\n'), "{message:?}");
    }
    let missing = read(Path::new("no/such/trace"))
        .error
        .expect("it is missing");
    assert!(matches!(missing.fault, Fault::Open(_)), "{missing}");
    let folder = read(&path("")).error.expect("it is a folder");
    assert!(matches!(folder.fault, Fault::Directory), "{folder}");
}

#[test]
fn a_packed_trace_that_was_cut_off_gives_what_can_be_unpacked() {
    let packed = fs::read(path("kernbench-cut.vmtrace.zst")).expect("it can be read");
    for part in [5, packed.len() / 2, packed.len() - 3] {
        let trace = parse("cut", &packed[..part]);
        let error = trace.error.expect("it is cut off");
        assert!(
            matches!(error.fault, Fault::Unpack(_) | Fault::CutOff),
            "{error}"
        );
        assert!(part < 100 || !trace.events.is_empty(), "{part}: {error}");
        // The events that were read can be replayed.
        let report = replayed::<Space<u32>>(&Script::new(&trace.events));
        assert!(report.mismatches.is_empty(), "{:?}", report.by_kind());
    }
    let mut flipped = packed;
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x10;
    let trace = parse("flipped", flipped.as_slice());
    assert!(trace.error.is_some(), "the damage is not told");
}
