//! A process that does nothing but system calls: one that it is told, and then the answer.
//!
//! It is forked off once and never allocates. Its free addresses but for an arena are filled, so
//! that whatever the kernel finds for it lies in the arena; the harness's own memory is elsewhere.
#![expect(unsafe_code, reason = "system calls")]

use std::fs;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

use super::maps::{self, Area};

/// What is asked: a number and its arguments.
type Words = [i64; 7];

/// Not a system call: fork, and let the child answer from now on, or the parent.
const FORK: i64 = -1;

/// Free pages of the arena.
pub(crate) const PAGES: u64 = 480;
/// Bytes of a page.
pub(crate) const PAGE: u64 = 4096;
/// The first address that belongs to the kernel, less a page.
pub(crate) const TASK_END: u64 = 0x7fff_ffff_f000;

/// The process that answers, the ends of the pipes to it, and what it maps.
#[derive(Debug)]
pub(crate) struct Process {
    pid: i32,
    maps: File,
    ask: File,
    hear: File,
    /// While this is open, processes that wait go on waiting.
    _leash: File,
    /// The first address of the arena; the break.
    pub(crate) start: u64,
    /// What may be mapped as an object, and the number of its inode.
    pub(crate) files: [(RawFd, u64); 3],
}

/// A process that changes nothing any more, and what it maps.
#[derive(Debug)]
pub(crate) struct Witness {
    pid: i32,
    is_child: bool,
    maps: File,
}

/// The two ends of a new pipe, to read and to write.
fn pipe() -> io::Result<[File; 2]> {
    let mut ends = [0; 2];
    // SAFETY: there is room for two numbers.
    let made = unsafe { libc::pipe(ends.as_mut_ptr()) };
    if made != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptors are new, and nobody else has them.
    Ok(ends.map(|end| unsafe { File::from_raw_fd(end) }))
}

/// A file in memory, of a few pages.
fn memory_file() -> io::Result<(RawFd, u64)> {
    // SAFETY: the name is a string that ends with 0.
    let file = unsafe { libc::memfd_create(c"object".as_ptr(), 0) };
    let link = fs::metadata(format!("/proc/self/fd/{file}"))?;
    Ok((file, std::os::unix::fs::MetadataExt::ino(&link)))
}

/// The system call, and its answer as the kernel gives it: an error is less than 0.
fn call(words: &Words) -> i64 {
    let [number, rest @ ..] = *words;
    let [a, b, c, d, e, f] = rest;
    // SAFETY: the harness asks for calls that change the arena only, where nothing of Rust's is.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if answer == -1 {
        return -i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(0));
    }
    answer
}

/// Answers until nobody asks any more. It neither allocates nor unwinds.
fn serve(ask: RawFd, answer: RawFd, leash: RawFd) -> ! {
    let size = size_of::<Words>();
    loop {
        let mut words: Words = [0; 7];
        // SAFETY: there is room for so many bytes, and any bytes are numbers.
        let got = unsafe { libc::read(ask, words.as_mut_ptr().cast(), size) };
        if got != size as isize {
            // SAFETY: it ends the process.
            unsafe { libc::_exit(0) }
        }
        let said = if words[0] == FORK {
            let child = call(&[libc::SYS_clone, libc::SIGCHLD.into(), 0, 0, 0, 0, 0]);
            let is_child = child == 0;
            if child >= 0 && is_child != (words[1] != 0) {
                let mut byte = 0_u8;
                // SAFETY: there is room for a byte. It waits, until the harness is gone.
                unsafe { libc::read(leash, (&raw mut byte).cast(), 1) };
                // SAFETY: it ends the process.
                unsafe { libc::_exit(0) }
            }
            let myself = call(&[libc::SYS_getpid, 0, 0, 0, 0, 0, 0]);
            if is_child { myself } else { child }
        } else {
            call(&words)
        };
        // SAFETY: the answer has eight bytes.
        unsafe { libc::write(answer, (&raw const said).cast(), 8) };
    }
}

impl Process {
    /// A process whose free addresses are those of the arena.
    ///
    /// # Errors
    /// Why there is none here.
    pub(crate) fn new() -> Result<Self, String> {
        let failed = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
        let [asked, ask] = pipe().map_err(failed("a pipe"))?;
        let [hear, answer] = pipe().map_err(failed("a pipe"))?;
        let [leash, held] = pipe().map_err(failed("a pipe"))?;
        let mut files = [(0, 0); 3];
        for file in &mut files {
            *file = memory_file().map_err(failed("a file in memory"))?;
        }
        // SAFETY: it changes who gets the orphans of this process's children, and nothing else.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
        // SAFETY: the child makes system calls only, none of which takes a lock of this process's.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => return Err(failed("fork")(io::Error::last_os_error())),
            0 => {
                for mine in [&ask, &hear, &held] {
                    // SAFETY: the child never uses its copy of this descriptor.
                    unsafe { libc::close(mine.as_raw_fd()) };
                }
                serve(asked.as_raw_fd(), answer.as_raw_fd(), leash.as_raw_fd());
            }
            _ => {}
        }
        let maps = open_maps(pid)?;
        let mut process = Self {
            pid,
            maps,
            ask,
            hear,
            _leash: held,
            start: 0,
            files,
        };
        process.fill()?;
        Ok(process)
    }

    /// Lets the arena begin at the next page behind the break, and fills all others.
    fn fill(&mut self) -> Result<(), String> {
        let brk = self.call([libc::SYS_brk, 0, 0, 0, 0, 0, 0])? as u64;
        self.start = brk.next_multiple_of(PAGE);
        let set = self.call([libc::SYS_brk, self.start as i64, 0, 0, 0, 0, 0])?;
        if set as u64 != self.start {
            return Err(format!("the break stays at {set:#x}"));
        }
        let mut taken = maps::all(&mut self.maps)?;
        taken.retain(|area| area.end <= TASK_END);
        if taken
            .iter()
            .any(|area| area.overlaps(self.start, self.end()))
        {
            return Err("something is mapped right behind the break".into());
        }
        taken.push(Area::free(self.start, self.end()));
        taken.push(Area::free(TASK_END, TASK_END + PAGE));
        taken.sort_by_key(|area| area.start);
        let mut at = least_address();
        for area in taken {
            // Each side of the arena has a page of another kind, with which nothing merges.
            let (below, above) = (area.start.saturating_sub(PAGE), at + PAGE);
            if at < area.start {
                if at == self.end() {
                    self.take(at, above, true)?;
                    at = above;
                }
                let last = if area.start == self.start {
                    below
                } else {
                    area.start
                };
                if at < last {
                    self.take(at, last, false)?;
                }
                if last.max(at) < area.start {
                    self.take(last.max(at), area.start, true)?;
                }
            }
            at = at.max(area.end);
        }
        Ok(())
    }

    /// Maps what nobody may touch.
    fn take(&mut self, start: u64, end: u64, is_edge: bool) -> Result<(), String> {
        let kind = if is_edge {
            libc::MAP_SHARED
        } else {
            libc::MAP_PRIVATE
        };
        let flags = kind | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        let words = [
            libc::SYS_mmap,
            start as i64,
            (end - start) as i64,
            0,
            i64::from(flags),
            -1,
            0,
        ];
        match self.call(words)? {
            at if at as u64 == start => Ok(()),
            error => Err(format!("{start:#x} to {end:#x} cannot be filled: {error}")),
        }
    }

    /// The address behind the arena.
    #[must_use]
    pub(crate) fn end(&self) -> u64 {
        self.start + PAGES * PAGE
    }

    /// The kernel's answer; an error is less than 0.
    ///
    /// # Errors
    /// If the process is gone.
    pub(crate) fn call(&mut self, words: Words) -> Result<i64, String> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut answer = [0; 8];
        let asked = self.ask.write_all(&bytes);
        let heard = asked.and_then(|()| self.hear.read_exact(&mut answer));
        heard.map_err(|error| format!("the process is gone: {error}"))?;
        Ok(i64::from_ne_bytes(answer))
    }

    /// What is mapped in the arena.
    ///
    /// # Errors
    /// If that cannot be read.
    pub(crate) fn areas(&mut self) -> Result<Vec<Area>, String> {
        let (start, end) = (self.start, self.end());
        Ok(maps::within(&maps::all(&mut self.maps)?, start, end))
    }

    /// Forks. One of the two goes on, the other one is the witness.
    ///
    /// # Errors
    /// If it was not forked.
    pub(crate) fn fork(&mut self, is_child_to_go_on: bool) -> Result<Witness, String> {
        let words = [FORK, i64::from(is_child_to_go_on), 0, 0, 0, 0, 0];
        let child = self.call(words)?;
        let child = i32::try_from(child).map_err(|error| error.to_string())?;
        if child <= 0 {
            return Err(format!("fork answered {child}"));
        }
        let maps = open_maps(child)?;
        let (pid, maps) = if is_child_to_go_on {
            (
                core::mem::replace(&mut self.pid, child),
                core::mem::replace(&mut self.maps, maps),
            )
        } else {
            (child, maps)
        };
        Ok(Witness {
            pid,
            is_child: !is_child_to_go_on,
            maps,
        })
    }

    /// What a witness maps in the arena.
    ///
    /// # Errors
    /// If that cannot be read.
    pub(crate) fn areas_of(&self, witness: &mut Witness) -> Result<Vec<Area>, String> {
        let all = maps::all(&mut witness.maps)?;
        Ok(maps::within(&all, self.start, self.end()))
    }

    /// Ends a witness.
    ///
    /// # Errors
    /// If the process is gone.
    pub(crate) fn dismiss(&mut self, witness: &Witness) -> Result<(), String> {
        let pid = witness.pid;
        // SAFETY: nobody has waited for this process yet, so the number is still its own.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        if witness.is_child {
            self.call([libc::SYS_wait4, i64::from(pid), 0, 0, 0, 0, 0])?;
        } else {
            // SAFETY: nothing is written.
            unsafe { libc::waitpid(pid, core::ptr::null_mut(), 0) };
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // SAFETY: nobody has waited for this process yet, so the number is still its own.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        // SAFETY: nothing is written.
        unsafe { libc::waitpid(self.pid, core::ptr::null_mut(), 0) };
        for (file, _) in self.files {
            // SAFETY: the descriptor is this process's, and is not used any more.
            unsafe { libc::close(file) };
        }
    }
}

fn open_maps(pid: i32) -> Result<File, String> {
    let path = format!("/proc/{pid}/maps");
    File::open(&path).map_err(|error| format!("{path}: {error}"))
}

/// The lowest address that may be mapped.
fn least_address() -> u64 {
    let said = fs::read_to_string("/proc/sys/vm/mmap_min_addr").unwrap_or_default();
    said.trim().parse().unwrap_or(PAGE).max(PAGE)
}

/// All of a file that can be read again.
pub(super) fn read_again(file: &mut File) -> Result<String, String> {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
    read.map_err(|error| format!("the maps: {error}"))?;
    Ok(text)
}
