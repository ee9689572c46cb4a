//! Conversion of the specification's operations to system calls.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::os::fd::RawFd;

use furlong::addr::{Address, VirtAddr};
use furlong::vmspace::{Advice, At, Flags, Prot, Remap, RemapFlags, Request};
use furlong_spec::Random;
use furlong_spec::vmspace::{Operation, Seen};

use super::maps::{ANONYMOUS, Area};
use super::process::{PAGE, Process, TASK_END};

/// An operation, and the corresponding system call.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) name: &'static str,
    pub(super) operation: Operation,
    pub(super) words: [i64; 7],
    /// For a fork: true if the child continues.
    pub(super) goes_on: bool,
}

/// The same operation, in two of three cases aimed at an area or at the end of the heap. Only one
/// in four mappings keeps its flag to grow down, because such areas keep a mebibyte free.
pub(super) fn aimed(
    operation: &Operation,
    seen: &[Seen],
    brk: VirtAddr,
    random: &mut Random,
) -> Operation {
    let is_aimed = random.below(3) > 0;
    let chance = random.next();
    let area = (!seen.is_empty()).then(|| seen[chance as usize % seen.len()]);
    let (pages, page) = (random.below(4), random.below(3));
    let at = area.map_or(brk, |area| {
        let last = area.extent.last().raw();
        VirtAddr::new((area.extent.start().raw() + page * PAGE).min(last & !(PAGE - 1)))
    });
    match *operation {
        Operation::Map(ref request) => {
            let stays = random.below(4) == 0;
            let flags = request.flags;
            Operation::Map(Request {
                flags: if stays {
                    flags
                } else {
                    flags.without(Flags::GROWS_DOWN)
                },
                ..*request
            })
        }
        Operation::Protect(_, _, prot) if is_aimed => {
            Operation::Protect(at, (1 + pages) * PAGE - random.below(2), prot)
        }
        Operation::Advise(_, _, advice) if is_aimed => {
            Operation::Advise(at, (1 + pages) * PAGE, advice)
        }
        Operation::Remap(remap) if is_aimed => {
            let old_len = (1 + page) * PAGE;
            let is_same = remap.flags.contains(RemapFlags::DONT_UNMAP) || pages == 0;
            let new_len = if is_same {
                old_len
            } else {
                1 + random.below(6) * PAGE
            };
            Operation::Remap(Remap {
                start: at,
                old_len,
                new_len,
                ..remap
            })
        }
        Operation::Brk(_) if is_aimed => {
            let moved = random.below(12) * PAGE / 2;
            let end = (brk.raw() + moved).saturating_sub(2 * PAGE);
            Operation::Brk(VirtAddr::new(end))
        }
        ref other => other.clone(),
    }
}

/// True if a system call exists for the operation.
pub(super) fn is_call(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Map(_)
            | Operation::Unmap(..)
            | Operation::Protect(..)
            | Operation::Advise(..)
            | Operation::Remap(_)
            | Operation::Brk(_)
            | Operation::Fork
    )
}

/// Converts operations to calls.
pub(super) struct Calls {
    start: u64,
    end: u64,
    files: [(RawFd, u64); 3],
    /// The number of objects of shared anonymous memory so far.
    shared: u32,
    /// The inode of each of these objects.
    inodes: BTreeMap<u32, u64>,
    forks: u32,
}

/// The first object that is a file.
const FIRST_FILE: u32 = 4;
/// The first object of shared anonymous memory. Every fourth one is used, and all of these may
/// merge.
const FIRST_SHARED: u32 = 1 << 10;

impl Calls {
    pub(super) fn new(process: &Process) -> Self {
        Self {
            start: process.start,
            end: process.end(),
            files: process.files,
            shared: 0,
            inodes: BTreeMap::new(),
            forks: 0,
        }
    }

    /// The inode of an object; 0 if it is not known yet.
    pub(super) fn inode(&self, object: u32) -> u64 {
        let file = object.checked_sub(FIRST_FILE).map(|file| file as usize);
        let file = file.and_then(|file| self.files.get(file));
        let seen = || self.inodes.get(&object).copied();
        file.map(|file| file.1).or_else(seen).unwrap_or(0)
    }

    /// Records the inode that the kernel has created for shared anonymous memory mapped at `start`.
    pub(super) fn see(&mut self, asked: &Asked, start: u64, areas: &[Area]) {
        let Operation::Map(request) = &asked.operation else {
            return;
        };
        let mut at = areas.iter().filter(|area| area.overlaps(start, start + 1));
        let inode = at.find_map(|area| Some(area.file?.1));
        if let (FIRST_SHARED.., Some(inode)) = (request.value, inode) {
            self.inodes.insert(request.value, inode);
        }
    }

    /// True if the range lies in the arena, or cannot be mapped by the process at all.
    fn is_safe(&self, start: u64, len: u64) -> bool {
        let len = len.div_ceil(PAGE).checked_mul(PAGE);
        let end = len.and_then(|len| start.checked_add(len));
        match end.filter(|end| *end <= TASK_END) {
            Some(end) => self.start <= start && end <= self.end,
            None => start >= self.start,
        }
    }

    /// The call for an operation; `None` if there is none, or if it could change addresses outside
    /// of the arena.
    pub(super) fn asked(&mut self, operation: &Operation) -> Option<Asked> {
        let mut goes_on = false;
        let (name, operation, words) = match *operation {
            Operation::Map(ref request) => return self.map(request),
            Operation::Unmap(start, len) if self.is_safe(start.raw(), len) => {
                let words = [libc::SYS_munmap, start.raw() as i64, len as i64, 0, 0, 0, 0];
                ("munmap", Operation::Unmap(start, len), words)
            }
            Operation::Protect(start, len, prot) if self.is_safe(start.raw(), len) => {
                let (at, len, bits) = (start.raw() as i64, len as i64, i64::from(prot.bits()));
                let words = [libc::SYS_mprotect, at, len, bits, 0, 0, 0];
                ("mprotect", operation.clone(), words)
            }
            Operation::Advise(start, len, advice) if self.is_safe(start.raw(), len) => {
                let number = match advice {
                    Advice::DontFork => libc::MADV_DONTFORK,
                    Advice::DoFork => libc::MADV_DOFORK,
                    Advice::WipeOnFork => libc::MADV_WIPEONFORK,
                    Advice::KeepOnFork => libc::MADV_KEEPONFORK,
                };
                let (at, len) = (start.raw() as i64, len as i64);
                let words = [libc::SYS_madvise, at, len, i64::from(number), 0, 0, 0];
                ("madvise", operation.clone(), words)
            }
            Operation::Remap(ref remap) if self.is_safe_remap(remap) => {
                let words = [
                    libc::SYS_mremap,
                    remap.start.raw() as i64,
                    remap.old_len as i64,
                    remap.new_len as i64,
                    i64::from(remap.flags.bits()),
                    remap.new_start.raw() as i64,
                    0,
                ];
                ("mremap", operation.clone(), words)
            }
            Operation::Brk(end) if self.is_safe(end.raw(), 0) => {
                let words = [libc::SYS_brk, end.raw() as i64, 0, 0, 0, 0, 0];
                ("brk", operation.clone(), words)
            }
            Operation::Fork => {
                self.forks += 1;
                goes_on = self.forks.is_multiple_of(2);
                ("fork", Operation::Fork, [0; 7])
            }
            _ => return None,
        };
        Some(Asked {
            name,
            operation,
            words,
            goes_on,
        })
    }

    fn is_safe_remap(&self, remap: &Remap) -> bool {
        let is_placed =
            remap.flags.contains(RemapFlags::FIXED) || remap.flags.contains(RemapFlags::DONT_UNMAP);
        self.is_safe(remap.start.raw(), remap.old_len)
            && self.is_safe(remap.start.raw(), remap.new_len)
            && (!is_placed || self.is_safe(remap.new_start.raw(), remap.new_len))
            && remap.new_start.raw() >= self.start
    }

    fn is_safe_map(&self, map: &Request<u32>) -> bool {
        let is_safe = match map.at {
            At::Anywhere => true,
            // Linux replaces a hint below the lowest allowed page by that page.
            At::Hint(hint) => hint.raw() == 0 || hint.raw() >= self.start,
            // Linux mistakes an address in the last page for an error number, and returns it.
            At::Fixed(start) | At::Vacant(start) => {
                start.raw() <= u64::MAX - PAGE && self.is_safe(start.raw(), map.len)
            }
        };
        // Linux's files end at byte 2^63, those of the specification at byte 2^64.
        let ends_alike = |offset: u64| {
            offset < 1 << 62 || offset.checked_add(map.len.saturating_sub(1)).is_none()
        };
        is_safe && map.offset.is_none_or(ends_alike)
    }

    fn map(&mut self, request: &Request<u32>) -> Option<Asked> {
        let is_shared = request.flags.contains(Flags::SHARED);
        let grows = request.flags.contains(Flags::GROWS_DOWN);
        let mut map = Request {
            may: Prot::ALL,
            flags: request.flags.and(Flags::SHARED | Flags::GROWS_DOWN),
            align: 0,
            window: None,
            refusal: None,
            ..*request
        };
        let (how, address) = match map.at {
            At::Anywhere => (0, VirtAddr::new(0)),
            At::Hint(hint) => (0, hint),
            At::Fixed(start) => (libc::MAP_FIXED, start),
            At::Vacant(start) => (libc::MAP_FIXED_NOREPLACE, start),
        };
        let (file, offset) = match map.offset {
            Some(offset) => {
                let file = map.value as usize % self.files.len();
                map.value = FIRST_FILE + file as u32;
                (Some(self.files[file].0), offset)
            }
            None => (None, 0),
        };
        if !self.is_safe_map(&map) {
            return None;
        }
        if file.is_none() && is_shared && !grows {
            // A new object, mapped from its start.
            self.shared += 1;
            map.value = FIRST_SHARED + 4 * self.shared;
            map.offset = Some(0);
        } else if file.is_none() {
            map.value = ANONYMOUS;
        }
        let kind = if is_shared {
            libc::MAP_SHARED
        } else {
            libc::MAP_PRIVATE
        };
        // Without a reservation; otherwise Linux treats memory that was writable once differently.
        let mut flags = kind | how | libc::MAP_NORESERVE;
        if file.is_none() {
            flags |= libc::MAP_ANONYMOUS;
        }
        if grows {
            flags |= libc::MAP_GROWSDOWN;
        }
        let words = [
            libc::SYS_mmap,
            address.raw() as i64,
            map.len as i64,
            i64::from(map.prot.bits()),
            i64::from(flags),
            i64::from(file.unwrap_or(-1)),
            offset as i64,
        ];
        Some(Asked {
            name: "mmap",
            operation: Operation::Map(map),
            words,
            goes_on: false,
        })
    }
}

/// The reason not to make a call, though it stays in the arena; `None` if it can be compared.
/// `seen` are the areas of the specification, `areas` those of the kernel.
pub(super) fn is_told_apart(
    operation: &Operation,
    seen: &[Seen],
    areas: &[Area],
) -> Option<Beyond> {
    let (start, len) = match operation {
        Operation::Remap(remap) => (remap.start.raw(), remap.old_len),
        Operation::Protect(start, len, prot) if prot.contains(Prot::GROWS_DOWN) => {
            (start.raw(), *len)
        }
        _ => return None,
    };
    let end = start.saturating_add(len);
    let is_joined = |area: &Area| {
        let ends = seen.iter().map(|seen| seen.extent.last().raw() + 1);
        ends.into_iter().any(|at| area.start < at && at < area.end)
    };
    if areas
        .iter()
        .any(|area| area.overlaps(start, end.max(start.saturating_add(1))) && is_joined(area))
    {
        return Some(Beyond::Joined);
    }
    let Operation::Remap(remap) = operation else {
        return None;
    };
    let pages = |len: u64| len.div_ceil(PAGE);
    let is_as_long = pages(remap.old_len) == pages(remap.new_len);
    let keeps = remap.flags.contains(RemapFlags::DONT_UNMAP);
    if keeps && is_as_long && remap.old_len != remap.new_len {
        return Some(Beyond::Rounded);
    }
    let is_moved = remap.flags.contains(RemapFlags::FIXED) && is_as_long;
    let is_in_one = areas
        .iter()
        .any(|area| area.start <= start && end <= area.end);
    (is_moved && !is_in_one).then_some(Beyond::Several)
}

/// True if a place found by a search lies in the guard of an area that grows, even if that area is
/// not the nearest one.
pub(super) fn is_in_guard(start: VirtAddr, len: u64, seen: &[Seen]) -> bool {
    let end = start.raw() + len.div_ceil(PAGE) * PAGE;
    let mut growing = seen
        .iter()
        .filter(|seen| seen.flags.contains(Flags::GROWS_DOWN));
    growing.any(|stack| {
        let top = stack.extent.start().raw();
        end <= top && top < end + GUARD * PAGE
    })
}

/// The number of bytes that a search has to place; `None` if there is no search.
pub(super) fn searched(operation: &Operation) -> Option<u64> {
    match operation {
        Operation::Map(request) => {
            let is_searched = matches!(request.at, At::Anywhere | At::Hint(_));
            is_searched.then_some(request.len)
        }
        Operation::Remap(remap) if !remap.flags.contains(RemapFlags::FIXED) => Some(remap.new_len),
        _ => None,
    }
}

/// True if Linux finds a mistake in the arguments before it looks at the mappings.
pub(super) fn is_mistaken(operation: &Operation) -> bool {
    let Operation::Remap(remap) = operation else {
        return false;
    };
    let [old, new] = [remap.start, remap.new_start].map(VirtAddr::raw);
    let is_too_long = remap.new_len > TASK_END;
    let is_placed =
        remap.flags.contains(RemapFlags::FIXED) || remap.flags.contains(RemapFlags::DONT_UNMAP);
    let is_silly = !new.is_multiple_of(PAGE) || new > TASK_END - remap.new_len.min(TASK_END);
    let ends_behind = |start: u64, len: u64, other: u64| start.saturating_add(len) > other;
    let overlaps = ends_behind(old, remap.old_len, new) && ends_behind(new, remap.new_len, old);
    is_too_long || is_placed && (is_silly || overlaps)
}

/// The number of pages that Linux keeps free below an area that grows.
pub(super) const GUARD: u64 = 256;

/// The reason that a call is not made: a documented difference between library and Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Beyond {
    /// The call would leave the arena.
    Arena,
    /// Since 6.17, Linux moves several areas at once, and areas with holes between them. The
    /// specification is that of earlier kernels, which refuse.
    Several,
    /// The result depends on the end of an area that the kernel has merged, because it was never
    /// touched.
    Joined,
    /// The arguments have several mistakes, and since 6.17 Linux reports another one.
    Order,
    /// Both lengths have the same number of pages, but not of bytes. Linux before 6.17 refuses that
    /// if the old range stays mapped.
    Rounded,
    /// Linux before 6.17 refuses the call after it has already unmapped something.
    Late,
    /// Linux's search from above continues below the guard of the first stack that it meets.
    Guard,
}
