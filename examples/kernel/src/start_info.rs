//! The map of memory that the loader passes: PVH's `hvm_start_info`, version 1.

use core::ptr;

/// The first word.
const MAGIC: u32 = 0x336e_c578;

/// The kind of a range that is memory.
const RAM: u32 = 1;

/// Ranges that are looked at.
const RANGES: usize = 64;

#[repr(C)]
#[derive(Clone, Copy)]
struct StartInfo {
    magic: u32,
    version: u32,
    flags: u32,
    modules: u32,
    modules_at: u64,
    command_line_at: u64,
    rsdp_at: u64,
    map_at: u64,
    map_len: u32,
    reserved: u32,
}

/// A range of the map, as the loader lists it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Range {
    /// The first byte.
    pub(crate) start: u64,
    /// Bytes.
    pub(crate) len: u64,
    kind: u32,
    reserved: u32,
}

impl Range {
    const NONE: Self = Self {
        start: 0,
        len: 0,
        kind: 0,
        reserved: 0,
    };

    /// True if it is memory, neither a device's nor the firmware's.
    pub(crate) fn is_ram(&self) -> bool {
        self.kind == RAM
    }
}

/// The map of memory: a copy, since the loader's lies in memory that may be given away.
pub(crate) struct MemoryMap {
    ranges: [Range; RANGES],
    len: usize,
}

impl MemoryMap {
    /// The map in the start info at this address.
    ///
    /// # Safety
    /// The loader has said that its start info is there, and nothing has been written since.
    pub(crate) unsafe fn of(start_info: u64) -> Self {
        let info = ptr::with_exposed_provenance::<StartInfo>(start_info as usize);
        // SAFETY: the caller's promise; the first 4 GiB are mapped where they are.
        let info = unsafe { info.read_unaligned() };
        assert_eq!(info.magic, MAGIC, "the loader is one for PVH");
        assert!(info.version >= 1, "the loader brings a map of memory");
        let (len, first) = (info.map_len as usize, info.map_at as usize);
        assert!(len <= RANGES, "the map has {len} ranges; at most {RANGES}");
        let first = ptr::with_exposed_provenance::<Range>(first);
        let mut ranges = [Range::NONE; RANGES];
        for (at, range) in ranges[..len].iter_mut().enumerate() {
            // SAFETY: as above; the map has so many ranges in a row.
            *range = unsafe { first.wrapping_add(at).read_unaligned() };
        }
        Self { ranges, len }
    }

    /// All ranges.
    pub(crate) fn ranges(&self) -> &[Range] {
        &self.ranges[..self.len]
    }
}
