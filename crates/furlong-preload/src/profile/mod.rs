//! The heap profile: where the program's memory comes from.
//!
//! # What it is
//! The allocator samples some of its blocks, and this module notes each one's stack. The sums by
//! stack go to a file of pprof's at exit, at a signal, and when the program asks.
//!
//! The C library's own `backtrace` finds the callers. Its first call loads the unwinding library,
//! which allocates, so it is made when the program starts. Nothing else here allocates.
//!
//! # Files
//! - `table`: samples by stack and by block; `memory`: the memory for them.
//! - `maps`: the mapped files; `pprof`: the file's format.

mod maps;
mod memory;
mod pprof;
mod table;

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::fmt::{self, Write};
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use core::{mem, ptr};

use furlong::malloc::{Sample, Sampler};

use crate::report::Text;
use crate::system::{found, keeping_errno};
use memory::mapped;
use pprof::{Scratch, Sink};
use table::{FRAMES, ONE, Sum, Table};

/// Frames of the allocator itself, which are left out of a profile.
const OWN_FRAMES: usize = 10;

/// The longest name of a profile.
const NAME: usize = 1024;

/// Bytes for the numbers of process and file, and the ending, behind the prefix of a name.
const SUFFIX: usize = 32;

/// The process's profile.
pub static PROFILE: Profile = Profile {
    holder: AtomicU32::new(0),
    wanted: AtomicBool::new(false),
    is_inherited: AtomicBool::new(false),
    every: AtomicUsize::new(0),
    backtrace: AtomicPtr::new(ptr::null_mut()),
    parts: UnsafeCell::new(None),
};

/// The samples, and the place of their files.
struct Parts {
    table: &'static mut Table,
    scratch: &'static mut Scratch,
    /// The code of this library, once there was a sample: a process that allocates little does not
    /// look for it.
    own: Option<Range<usize>>,
    /// The start of the names of files: a copy, since programs overwrite their environment.
    prefix: Text,
    /// The number of files that were written before the end.
    files: u32,
}

/// The heap profile of a process; it is off until the environment asks for one.
pub struct Profile {
    /// The thread that uses the parts; 0 is none.
    holder: AtomicU32,
    /// Set if a signal asked for a file while a thread used the parts.
    wanted: AtomicBool,
    /// Set in a new process, whose table is still that of its parent.
    is_inherited: AtomicBool,
    /// The mean number of bytes between samples; 0 while it is off.
    every: AtomicUsize,
    backtrace: AtomicPtr<c_void>,
    parts: UnsafeCell<Option<Parts>>,
}

// SAFETY: only the holder uses the parts.
unsafe impl Sync for Profile {}

type Backtrace = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;

fn this_thread() -> u32 {
    // SAFETY: no contract.
    u32::try_from(unsafe { libc::syscall(libc::SYS_gettid) }).unwrap_or(1)
}

impl Sampler for Profile {
    fn allocated(&self, sample: Sample) {
        let mut frames = [ptr::null_mut(); FRAMES + OWN_FRAMES];
        let found = self.backtrace.load(Ordering::SeqCst);
        // SAFETY: null, or the C library's function of this type.
        let Some(backtrace) = (unsafe { mem::transmute::<*mut c_void, Option<Backtrace>>(found) })
        else {
            return;
        };
        // SAFETY: room for so many addresses.
        let len = unsafe { backtrace(frames.as_mut_ptr(), frames.len() as c_int) };
        let addresses = frames.map(<*mut c_void>::addr);
        let len = usize::try_from(len).unwrap_or(0);
        let (room, every) = sample.chance;
        // The product of an object's size and the mean may have more than 64 bits.
        let (room, every) = (room.max(1) as u128, every as u128);
        let by_room = |number: u64| ((u128::from(number) * every + room / 2) / room) as u64;
        let sum = Sum {
            count: by_room(ONE),
            bytes: by_room(sample.size as u64),
        };
        let add = |parts: &mut Parts| {
            let frames = addresses.get(..len).unwrap_or_default();
            let mappings = &mut parts.scratch.mappings;
            let code = parts.own.get_or_insert_with(|| own_code(mappings));
            let own = frames.iter().take_while(|frame| code.contains(frame));
            let frames = frames.get(own.count()..).unwrap_or_default();
            parts.table.add(sample.block.addr(), frames, sum);
        };
        keeping_errno(|| self.with(add));
    }

    fn freed(&self, block: *mut u8) {
        keeping_errno(|| self.with(|parts| parts.table.remove(block.addr())));
    }
}

impl Profile {
    /// Begins a profile whose files' names start with `prefix`: a sample each `every` bytes on
    /// average. `false` if this system cannot, or the prefix leaves no room for what follows it.
    pub(crate) fn begin(&self, prefix: &CStr, every: usize) -> bool {
        if prefix.count_bytes() > NAME - SUFFIX {
            return false;
        }
        let found = found(c"backtrace");
        // SAFETY: null, or the C library's function of this type.
        let backtrace = unsafe { mem::transmute::<*mut c_void, Option<Backtrace>>(found) };
        let parts = mapped::<Table>().zip(mapped::<Scratch>());
        let parts = parts.map(|(table, scratch)| Parts {
            own: None,
            table,
            scratch,
            prefix: Text::of(prefix.to_bytes()),
            files: 0,
        });
        let (Some(backtrace), true) = (backtrace, parts.is_some()) else {
            return false;
        };
        let mut frames = [ptr::null_mut(); 4];
        // SAFETY: room for so many addresses.
        unsafe { backtrace(frames.as_mut_ptr(), 4) };
        // SAFETY: the program has not begun, and nothing is sampled yet.
        unsafe { *self.parts.get() = parts };
        self.backtrace.store(found, Ordering::SeqCst);
        self.every.store(every, Ordering::SeqCst);
        true
    }

    /// Waits until no other thread uses the parts. Returns `true` if this thread does not use them
    /// already: a handler of a fork may allocate between [`lock`](Self::lock) and
    /// [`unlock`](Self::unlock).
    fn take(&self) -> bool {
        let me = this_thread();
        loop {
            let free = self
                .holder
                .compare_exchange(0, me, Ordering::SeqCst, Ordering::SeqCst);
            if free.is_ok() || free == Err(me) {
                return free.is_ok();
            }
            // SAFETY: no contract.
            unsafe { libc::sched_yield() };
        }
    }

    /// Lets other threads use the parts, after the file that a signal asked for meanwhile.
    fn release(&self) {
        self.holder.store(0, Ordering::SeqCst);
        if self.wanted.load(Ordering::SeqCst) {
            self.at_signal();
        }
    }

    /// Runs a closure on the parts, if the profile is on.
    fn with<T>(&self, run: impl FnOnce(&mut Parts) -> T) -> Option<T> {
        if self.every.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let taken = self.take();
        // SAFETY: this thread holds them, and this module's closures do not call this again.
        let parts = unsafe { &mut *self.parts.get() };
        let done = self.own(parts).map(run);
        if taken {
            self.release();
        }
        done
    }

    /// Keeps other threads from the parts until [`unlock`](Self::unlock), for a fork.
    pub(crate) fn lock(&self) {
        if self.every.load(Ordering::SeqCst) > 0 {
            self.take();
        }
    }

    /// Ends what [`lock`](Self::lock) began, in either process.
    pub(crate) fn unlock(&self) {
        if self.every.load(Ordering::SeqCst) > 0 {
            self.release();
        }
    }

    /// Begins the profile of a process that was just forked, at its next use: most such processes
    /// run another program.
    pub(crate) fn inherit(&self) {
        self.is_inherited.store(true, Ordering::SeqCst);
    }

    /// The parts as those of this process, if the profile is on.
    fn own<'a>(&self, parts: &'a mut Option<Parts>) -> Option<&'a mut Parts> {
        let parts = parts.as_mut()?;
        if self.is_inherited.swap(false, Ordering::SeqCst) {
            parts.table.inherit();
        }
        Some(parts)
    }

    /// Writes a file now, or as soon as the thread that uses the parts is done.
    pub(crate) fn at_signal(&self) {
        self.wanted.store(true, Ordering::SeqCst);
        let me = this_thread();
        let free = self
            .holder
            .compare_exchange(0, me, Ordering::SeqCst, Ordering::SeqCst);
        if free.is_err() {
            return;
        }
        if self.wanted.swap(false, Ordering::SeqCst) {
            // SAFETY: this thread holds them.
            let parts = unsafe { &mut *self.parts.get() };
            if let Some(parts) = self.own(parts) {
                parts.write_next(self.every.load(Ordering::SeqCst));
            }
        }
        self.release();
    }

    /// Writes the file of a process that ends, if there are samples.
    pub(crate) fn at_exit(&self) {
        let every = self.every.load(Ordering::SeqCst);
        self.with(|parts| {
            if !parts.table.stacks().is_empty() {
                let name = parts.name(None);
                parts.write(&name, every);
            }
        });
    }

    /// Writes a file of this name. `false` if the profile is off, or the file cannot be written.
    pub(crate) fn write_to(&self, name: &CStr) -> bool {
        if name.count_bytes() > NAME {
            return false;
        }
        let every = self.every.load(Ordering::SeqCst);
        let name = Text::of(name.to_bytes());
        self.with(|parts| parts.write(&name, every)) == Some(true)
    }
}

impl Parts {
    /// The name of a file: with the number of the process, and that of the file if it is not the
    /// last one.
    fn name(&self, file: Option<u32>) -> Text {
        // SAFETY: no contract.
        let process = unsafe { libc::getpid() };
        let mut name = Text::new();
        // Text cuts off what does not fit, and never fails.
        name.put(self.prefix.bytes());
        let _ = write!(name, ".{process}");
        if let Some(file) = file {
            let _ = write!(name, ".{file}");
        }
        let _ = write!(name, ".pb.gz");
        name
    }

    fn write_next(&mut self, every: usize) {
        self.files += 1;
        let name = self.name(Some(self.files));
        self.write(&name, every);
    }

    /// Writes a file; says so and returns `false` if it cannot be written.
    fn write(&mut self, name: &Text, every: usize) -> bool {
        let mut path = [0; NAME + 1];
        for (slot, byte) in path.iter_mut().take(NAME).zip(name.bytes()) {
            *slot = *byte;
        }
        let path = CStr::from_bytes_until_nul(&path).unwrap_or_default();
        let mut file = File::open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC);
        let mappings = read_mappings(&mut self.scratch.mappings);
        let about = (every, now_ns());
        let written =
            file.0.is_some() && pprof::write(self.table, self.scratch, mappings, about, &mut file);
        file.close();
        let lost = self.table.lost;
        let say = |what: fmt::Arguments<'_>| {
            let mut line = Text::new();
            let name = core::str::from_utf8(name.bytes()).unwrap_or("?");
            let _ = writeln!(line, "furlong malloc: {name}: {what}");
            line.print(2);
        };
        if !written {
            say(format_args!("the heap profile cannot be written"));
        } else if lost > 0 {
            say(format_args!(
                "{lost} samples are missing: there are too many stacks or blocks"
            ));
        }
        written
    }
}

fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The range of this library's code.
fn own_code(mappings: &mut [maps::Mapping]) -> Range<usize> {
    let count = read_mappings(mappings);
    let here = (own_code as *const c_void).addr();
    let own = mappings
        .iter()
        .take(count)
        .find(|mapping| mapping.has(here));
    own.map_or(0..0, |own| own.start..own.end)
}

/// Reads the mapped files of this process; returns their number.
fn read_mappings(mappings: &mut [maps::Mapping]) -> usize {
    let mut file = File::open(c"/proc/self/maps", libc::O_RDONLY);
    let mut lines = maps::Lines::new(mappings);
    let mut piece = [0; 2048];
    while let Some(descriptor) = file.0 {
        // SAFETY: room for so many bytes.
        let len =
            unsafe { libc::syscall(libc::SYS_read, descriptor, piece.as_mut_ptr(), piece.len()) };
        match usize::try_from(len) {
            Ok(len) if len > 0 => lines.take(piece.get(..len).unwrap_or_default()),
            _ => file.close(),
        }
    }
    lines.count
}

/// An open file, without a buffer; `None` once it has failed. Its system calls are not those of the
/// C library, where a thread that was cancelled would end within `malloc`.
struct File(Option<c_int>);

impl File {
    fn open(path: &CStr, flags: c_int) -> Self {
        let flags = flags | libc::O_CLOEXEC;
        // SAFETY: a name that ends with a zero.
        let opened = unsafe {
            libc::syscall(
                libc::SYS_openat,
                libc::AT_FDCWD,
                path.as_ptr(),
                flags,
                0o644,
            )
        };
        Self(c_int::try_from(opened).ok().filter(|file| *file >= 0))
    }

    fn close(&mut self) {
        if let Some(descriptor) = self.0.take() {
            // SAFETY: this owns it.
            unsafe { libc::syscall(libc::SYS_close, descriptor) };
        }
    }
}

impl Sink for File {
    fn write(&mut self, mut bytes: &[u8]) -> bool {
        while let (Some(file), false) = (self.0, bytes.is_empty()) {
            // SAFETY: so many bytes.
            let len = unsafe { libc::syscall(libc::SYS_write, file, bytes.as_ptr(), bytes.len()) };
            match usize::try_from(len).ok().and_then(|len| bytes.get(len..)) {
                Some(rest) if len > 0 => bytes = rest,
                _ => self.close(),
            }
        }
        self.0.is_some()
    }
}

/// The handler of the signal that asks for a file.
pub(crate) extern "C" fn signalled(_: c_int) {
    keeping_errno(|| PROFILE.at_signal());
}

/// `furlong_heap_profile`: writes the heap profile to a file. 0 if that was done, -1 if the profile
/// is off, the name is null or longer than 1,024 bytes, or the file cannot be written.
///
/// # Safety
/// `name` is null or ends with a zero.
pub unsafe fn furlong_heap_profile<K>(name: *const c_char) -> c_int {
    if name.is_null() {
        return -1;
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    if PROFILE.write_to(name) { 0 } else { -1 }
}
