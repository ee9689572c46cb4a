//! Scripts: the steps of a replay, with the processes of the trace told apart.

use std::collections::HashMap;

use furlong::addr::VirtAddr;
use furlong::vmspace::linux::{MAP_ANONYMOUS, Mmap, prot};
use furlong::vmspace::{Access, At, Flags, Layout, MapError, Prot, Remap, RemapFlags, Request};

use super::{Answer, Event, What};

/// Flag of `clone`: the child shares the space.
const CLONE_VM: u64 = 0x100;
/// Flag of `clone`: the child is a thread of the process.
const CLONE_THREAD: u64 = 0x1_0000;

/// An action of the replay.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Creates the space, empty.
    New(Layout),
    /// Creates another space as a copy of this one.
    Fork {
        /// Number of the other space.
        child: usize,
    },
    /// Ends the space.
    End,
    /// Maps a part of an image.
    Image(Request<u32>),
    /// Maps a request.
    Map {
        /// The request.
        request: Request<u32>,
        /// Start of the mapping in the kernel.
        answer: Answer,
    },
    /// Unmaps a length from an address.
    Unmap(VirtAddr, u64, Answer),
    /// Changes the protection of a length from an address.
    Protect(VirtAddr, u64, Prot, Answer),
    /// Moves or resizes a mapping.
    Remap(Remap, Answer),
    /// Sets the start of the heap.
    StartBrk(VirtAddr),
    /// Sets the end of the heap.
    Brk(VirtAddr, Answer),
    /// Reports that the heap's start is unknown at its first change.
    UnknownHeap,
    /// Faults at an address.
    Fault(VirtAddr, Access),
    /// Grows the stack down to this address.
    Grown(VirtAddr),
    /// Unmaps the temporary stack of an exec, because the kernel has moved it.
    Moved(VirtAddr, u64),
}

/// A step, its space, and its line of the trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Stepped {
    /// Number of the line.
    pub line: u32,
    /// Number of the space, counted from 0.
    pub space: usize,
    /// The step.
    pub step: Step,
}

/// The steps of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The steps in order.
    pub steps: Vec<Stepped>,
    /// The number of spaces.
    pub spaces: usize,
    /// The number of events that the steps come from.
    pub events: usize,
    /// Lines with an exec that is really the growth of a process's stack. Recorders detect an exec
    /// by the stack that the kernel maps then, and the kernel reports stack growth in the same way.
    /// A new stack differs in its end.
    pub no_execs: Vec<u32>,
    /// Lines with a new stack, which only an exec makes, but without a recorded exec.
    pub unsaid_execs: Vec<u32>,
    /// Lines with an `mmap` that failed because of its file, so that the space was not involved.
    pub not_asked: Vec<u32>,
}

/// A process.
#[derive(Clone, Copy)]
struct Process {
    space: usize,
    tasks: usize,
}

/// The state of a space.
#[derive(Clone, Copy)]
struct Known {
    /// The number of processes that use it.
    processes: usize,
    has_heap: bool,
    /// Index of the step that created it.
    began: usize,
    /// End of its stack, if it has one.
    stack: Option<u64>,
    /// Start and length of a mapping that may become its stack.
    nascent: Option<(u64, u64)>,
}

/// A script under construction.
struct Cast {
    script: Script,
    processes: HashMap<u32, Process>,
    known: Vec<Known>,
    names: HashMap<Box<str>, u32>,
}

/// The first object number of images, above those of files.
const IMAGES: u32 = 1 << 20;

impl Script {
    /// Makes the script of these events. A process without a recorded start begins with its first
    /// event.
    #[must_use]
    pub fn new(events: &[Event]) -> Self {
        let mut cast = Cast {
            script: Self::default(),
            processes: HashMap::new(),
            known: Vec::new(),
            names: HashMap::new(),
        };
        for (event, next) in events.iter().zip(followers(events)) {
            cast.event(event, next.map(|next| &events[next]));
        }
        cast.script.events = events.len();
        cast.script
    }
}

/// For each event, the next event of the same process.
fn followers(events: &[Event]) -> Vec<Option<usize>> {
    let mut seen = HashMap::new();
    let backwards = events.iter().enumerate().rev();
    let mut next: Vec<_> = backwards
        .map(|(at, event)| seen.insert(event.pid, at))
        .collect();
    next.reverse();
    next
}

impl Cast {
    fn push(&mut self, line: u32, space: usize, step: Step) {
        self.script.steps.push(Stepped { line, space, step });
    }

    /// Creates a space for a process.
    fn begin(&mut self, line: u32, pid: u32) -> usize {
        let space = self.known.len();
        self.known.push(Known {
            processes: 1,
            has_heap: false,
            began: self.script.steps.len(),
            stack: None,
            nascent: None,
        });
        self.script.spaces += 1;
        self.push(line, space, Step::New(Layout::LINUX_X86_64));
        let tasks = self.processes.get(&pid).map_or(1, |process| process.tasks);
        self.processes.insert(pid, Process { space, tasks });
        space
    }

    fn space(&mut self, line: u32, pid: u32) -> usize {
        match self.processes.get(&pid) {
            Some(process) => process.space,
            None => self.begin(line, pid),
        }
    }

    /// Removes a process from its space, and ends the space if no process is left.
    fn leave(&mut self, line: u32, space: usize) {
        self.known[space].processes -= 1;
        if self.known[space].processes == 0 {
            self.push(line, space, Step::End);
        }
    }

    /// Adds the steps of an event. `next` is the next event of the same process.
    fn event(&mut self, event: &Event, next: Option<&Event>) {
        let (line, pid) = (event.line, event.pid);
        match &event.what {
            What::Exec if next.is_some_and(|next| self.is_grown(next)) => {
                self.script.no_execs.push(line);
            }
            What::Exec => {
                if let Some(process) = self.processes.get(&pid).copied() {
                    self.leave(line, process.space);
                }
                self.begin(line, pid);
            }
            What::Map {
                answer: Err(errno), ..
            } if OF_FILES.contains(errno) => self.script.not_asked.push(line),
            What::Task { child, flags } => self.task(line, pid, *child, *flags),
            What::Exit { .. } => self.exit(line, pid),
            What::Brk { end, answer } => self.brk(line, pid, *end, *answer),
            What::Image { start, .. } if self.is_grown(event) => {
                let space = self.space(line, pid);
                self.push(line, space, Step::Grown(VirtAddr::new(*start)));
            }
            What::Image {
                start,
                len,
                prot,
                name,
            } => self.image(line, pid, [*start, *len, *prot], name),
            what => {
                let space = self.space(line, pid);
                self.push(line, space, call(what));
            }
        }
    }

    fn task(&mut self, line: u32, pid: u32, child: u32, flags: u64) {
        let space = self.space(line, pid);
        if flags & CLONE_THREAD != 0 {
            let process = self.processes.entry(pid);
            process.and_modify(|process| process.tasks += 1);
            return;
        }
        let shares = flags & CLONE_VM != 0;
        let of_child = if shares {
            self.known[space].processes += 1;
            space
        } else {
            let child = self.known.len();
            let began = self.script.steps.len();
            self.known.push(Known {
                processes: 1,
                began,
                ..self.known[space]
            });
            self.script.spaces += 1;
            self.push(line, space, Step::Fork { child });
            child
        };
        let process = Process {
            space: of_child,
            tasks: 1,
        };
        // A reused number replaces a process whose end was not recorded.
        if let Some(old) = self.processes.insert(child, process) {
            self.leave(line, old.space);
        }
    }

    fn exit(&mut self, line: u32, pid: u32) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        process.tasks -= 1;
        if process.tasks == 0 {
            let space = process.space;
            self.processes.remove(&pid);
            self.leave(line, space);
        }
    }

    /// Adds a `brk`. The first one of a space tells the start of the heap.
    fn brk(&mut self, line: u32, pid: u32, end: u64, answer: Answer) {
        let space = self.space(line, pid);
        let known = self.known[space].has_heap;
        self.known[space].has_heap = true;
        match answer {
            Ok(is) if !known && is != end => {
                self.push(line, space, Step::StartBrk(VirtAddr::new(is)));
            }
            Ok(is) if !known => {
                self.push(line, space, Step::UnknownHeap);
                self.push(line, space, Step::StartBrk(VirtAddr::new(is)));
            }
            _ => {}
        }
        if end != 0 || known {
            self.push(line, space, Step::Brk(VirtAddr::new(end), answer));
        }
    }

    /// True if the event is the growth of its process's stack.
    fn is_grown(&self, event: &Event) -> bool {
        let What::Image {
            start, len, name, ..
        } = &event.what
        else {
            return false;
        };
        let process = self.processes.get(&event.pid);
        let stack = process.and_then(|process| self.known[process.space].stack);
        &**name == "[stack]" && stack.is_some() && stack == start.checked_add(*len)
    }

    fn image(&mut self, line: u32, pid: u32, image: [u64; 3], name: &str) {
        let [start, len, bits] = image;
        let mut space = self.space(line, pid);
        if name == "[stack]" && self.known[space].stack.is_some() {
            self.script.unsaid_execs.push(line);
            self.leave(line, space);
            space = self.begin(line, pid);
        }
        let next = IMAGES + u32::try_from(self.names.len()).unwrap_or(u32::MAX - IMAGES);
        let object = *self.names.entry(name.into()).or_insert(next);
        let at = At::Fixed(VirtAddr::new(start));
        let memory = Request::anonymous(len, prot(bits), 0).at(at);
        let request = match name {
            "[stack]" => memory.flags(Flags::GROWS_DOWN),
            "anon" => memory,
            // Only the kernel writes to these pages.
            _ if name.starts_with("[vvar") => {
                let shown = Request::object(len, prot(bits), 0, object);
                shown.at(at).may(Prot::READ)
            }
            _ => Request::object(len, prot(bits), 0, object).at(at),
        };
        match name {
            "[stack]" => {
                self.known[space].stack = start.checked_add(len);
                if let Some((start, len)) = self.known[space].nascent.take() {
                    self.push(line, space, Step::Moved(VirtAddr::new(start), len));
                }
            }
            // An exec fills its stack at the end of the space, and moves it later.
            _ if self.known[space].stack.is_none() => {
                self.known[space].nascent = Some((start, len));
            }
            _ => self.lift(space, start, len),
        }
        self.push(line, space, Step::Image(request));
    }

    /// Sets the upper end of searches to the end of the highest image below the stack. The kernel
    /// maps the loader of an image first, directly below that end.
    fn lift(&mut self, space: usize, start: u64, len: u64) {
        let known = self.known[space];
        let end = start.checked_add(len).filter(|end| *end > 0);
        let end = end.filter(|end| known.stack.is_some_and(|stack| *end < stack));
        // The kernel maps whole pages, though a faulty trace may not.
        let end = end.filter(|end| end.is_multiple_of(Layout::LINUX_X86_64.page));
        let Step::New(layout) = &mut self.script.steps[known.began].step else {
            return;
        };
        let Some(last) = end.map(|end| VirtAddr::new(end - 1)) else {
            return;
        };
        let is_first = layout.top == Layout::LINUX_X86_64.top;
        if (is_first || last > layout.top) && last <= layout.last {
            layout.top = last;
        }
    }
}

/// The step of a system call or a fault.
fn call(what: &What) -> Step {
    let at = VirtAddr::new;
    match *what {
        What::Map { call, fd, answer } => map(&call, fd, answer),
        What::Unmap { start, len, answer } => Step::Unmap(at(start), len, answer),
        What::Protect {
            start,
            len,
            prot: bits,
            answer,
        } => Step::Protect(at(start), len, prot(bits), answer),
        What::Remap {
            start,
            old_len,
            new_len,
            flags,
            new_start,
            answer,
        } => {
            let flags = u32::try_from(flags).unwrap_or(u32::MAX);
            let remap = Remap {
                start: at(start),
                old_len,
                new_len,
                flags: RemapFlags::from_bits(flags),
                new_start: at(new_start),
            };
            Step::Remap(remap, answer)
        }
        What::Fault { address, code } => Step::Fault(at(address), access(code)),
        _ => unreachable!("the others are no calls"),
    }
}

fn map(call: &Mmap, fd: i32, answer: Answer) -> Step {
    let is_file = call.flags & MAP_ANONYMOUS == 0;
    // The file descriptor stands for the object, because a trace has no better identity.
    let file = u32::try_from(fd).ok().filter(|_| is_file);
    let request = call.request(file.map_or(0, |fd| fd + 1));
    let align = if is_huge(call, is_file) { HUGE_PAGE } else { 0 };
    // Only the kernel knows that a file forbids a mapping. The subject decides when to report it.
    let refusal = match answer {
        Err(errno) if is_file => OF_OBJECTS
            .iter()
            .find(|error| error.errno().number() == errno),
        _ => None,
    };
    let request = Request {
        refusal: request.refusal.or(refusal.copied()),
        ..request.align(align)
    };
    Step::Map { request, answer }
}

/// Refusals that come from the object of a mapping.
const OF_OBJECTS: [MapError; 3] = [MapError::Access, MapError::NoDevice, MapError::NoExec];

/// Errors of files and locks, which the kernel reports before or after it uses the space: EINTR,
/// EBADF, EAGAIN, ENFILE, ETXTBSY.
const OF_FILES: [i32; 5] = [4, 9, 11, 23, 26];

/// Bytes in a huge page on x86-64.
const HUGE_PAGE: u64 = 1 << 21;

/// True if the kernel aligns the mapping to a huge page. It does so for files large enough since
/// 6.7, and for anonymous memory of whole huge pages since 6.13.
fn is_huge(call: &Mmap, is_file: bool) -> bool {
    call.len >= HUGE_PAGE && (is_file || call.len.is_multiple_of(HUGE_PAGE))
}

/// The access of a fault, from the x86 error code.
fn access(code: u64) -> Access {
    if code & 2 != 0 {
        Access::Write
    } else if code & 0x10 != 0 {
        Access::Execute
    } else {
        Access::Read
    }
}

/// True if the kernel chose the place of the mapping.
pub(super) fn is_chosen(request: &Request<u32>) -> bool {
    matches!(request.at, At::Anywhere | At::Hint(_))
}
