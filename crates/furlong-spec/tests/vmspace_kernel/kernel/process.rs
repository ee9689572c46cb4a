//! A process that only makes the system calls that it receives, and returns their results.
//!
//! It is forked once and never allocates. All its free addresses outside of an arena are filled. So
//! the kernel can place a mapping only in the arena, and the harness's own memory stays elsewhere.
#![expect(unsafe_code, reason = "system calls")]

use std::fs;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

use super::maps::{self, Area};

/// A request: a system call number and its arguments.
type Words = [i64; 7];

/// A request to fork, and to let the child answer from now on, or the parent.
const FORK: i64 = -1;

/// The number of free pages in the arena.
pub(crate) const PAGES: u64 = 480;
/// Bytes in a page.
pub(crate) const PAGE: u64 = 4096;
/// The end of the user address range: the kernel's first address, less a page.
pub(crate) const TASK_END: u64 = 0x7fff_ffff_f000;

/// The process that answers, the ends of its pipes, and its listing of areas.
#[derive(Debug)]
pub(crate) struct Process {
    pid: i32,
    maps: File,
    ask: File,
    hear: File,
    /// While this is open, processes that wait continue to wait.
    _leash: File,
    /// The first address of the arena, which is the start of the heap.
    pub(crate) start: u64,
    /// Files that can be mapped as objects, with their inode numbers.
    pub(crate) files: [(RawFd, u64); 3],
}

/// A process that makes no further changes, and its listing of areas.
#[derive(Debug)]
pub(crate) struct Witness {
    pid: i32,
    is_child: bool,
    maps: File,
}

/// A new pipe: the end to read and the end to write.
fn pipe() -> io::Result<[File; 2]> {
    let mut ends = [0; 2];
    // SAFETY: there is room for two numbers.
    let made = unsafe { libc::pipe(ends.as_mut_ptr()) };
    if made != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptors are new, and no other code owns them.
    Ok(ends.map(|end| unsafe { File::from_raw_fd(end) }))
}

/// A file of a few pages in memory.
fn memory_file() -> io::Result<(RawFd, u64)> {
    // SAFETY: the name is a string that ends with 0.
    let file = unsafe { libc::memfd_create(c"object".as_ptr(), 0) };
    let link = fs::metadata(format!("/proc/self/fd/{file}"))?;
    Ok((file, std::os::unix::fs::MetadataExt::ino(&link)))
}

/// Makes the system call, and returns the kernel's result: an error is negative.
fn call(words: &Words) -> i64 {
    let [number, rest @ ..] = *words;
    let [a, b, c, d, e, f] = rest;
    // SAFETY: the harness requests only calls that change the arena, where Rust has no memory.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if answer == -1 {
        return -i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(0));
    }
    answer
}

/// Answers requests until the pipe closes. Neither allocates nor unwinds.
fn serve(ask: RawFd, answer: RawFd, leash: RawFd) -> ! {
    let size = size_of::<Words>();
    loop {
        let mut words: Words = [0; 7];
        // SAFETY: there is room for this many bytes, and any bytes are numbers.
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
                // SAFETY: there is room for a byte. It waits until the harness is gone.
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
    /// A process whose only free addresses are those of the arena.
    ///
    /// # Errors
    /// The reason that it is not possible here.
    pub(crate) fn new() -> Result<Self, String> {
        let failed = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
        let [asked, ask] = pipe().map_err(failed("a pipe"))?;
        let [hear, answer] = pipe().map_err(failed("a pipe"))?;
        let [leash, held] = pipe().map_err(failed("a pipe"))?;
        let mut files = [(0, 0); 3];
        for file in &mut files {
            *file = memory_file().map_err(failed("a file in memory"))?;
        }
        // SAFETY: it only changes which process adopts the orphans of this process's children.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
        // SAFETY: the child only makes system calls, none of which takes a lock of this process.
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

    /// Places the arena at the next page above the heap, and fills all other addresses.
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
            // The page at each edge of the arena is of another kind, so that nothing merges with
            // it.
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

    /// Maps a range without any access.
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

    /// The address after the arena.
    #[must_use]
    pub(crate) fn end(&self) -> u64 {
        self.start + PAGES * PAGE
    }

    /// Makes a system call. Returns the kernel's result; an error is negative.
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

    /// The areas mapped in the arena.
    ///
    /// # Errors
    /// If the listing cannot be read.
    pub(crate) fn areas(&mut self) -> Result<Vec<Area>, String> {
        let (start, end) = (self.start, self.end());
        Ok(maps::within(&maps::all(&mut self.maps)?, start, end))
    }

    /// Forks. One of the two processes continues, and the other one becomes the witness.
    ///
    /// # Errors
    /// If the fork failed.
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

    /// The areas that a witness has mapped in the arena.
    ///
    /// # Errors
    /// If the listing cannot be read.
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
        // SAFETY: no code has waited for this process yet, so the number is still its own.
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
        // SAFETY: no code has waited for this process yet, so the number is still its own.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        // SAFETY: nothing is written.
        unsafe { libc::waitpid(self.pid, core::ptr::null_mut(), 0) };
        for (file, _) in self.files {
            // SAFETY: the descriptor belongs to this process, and is not used any more.
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

/// The whole contents of a file, read from its start again.
pub(super) fn read_again(file: &mut File) -> Result<String, String> {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
    read.map_err(|error| format!("the maps: {error}"))?;
    Ok(text)
}
