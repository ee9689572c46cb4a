//! Blocks of the allocator under measurement. Each starts with a word that identifies its owner.

use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

use crate::said::die;

/// Bytes of the word at the start of each block; no block is shorter.
pub(crate) const WORD: usize = 8;

/// Bytes of the smallest page.
const PAGE: usize = 4096;

/// Maximum bytes of a block that are touched. A larger block is assumed to be filled in part.
const TOUCHED_MAX: usize = 64 << 20;

/// An odd multiplier whose multiples share few bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Protections and flags of `mmap`.
const READ: c_int = 1;
const WRITE: c_int = 2;
const PRIVATE: c_int = 2;
const ANONYMOUS: c_int = 0x20;
const POPULATE: c_int = 0x8000;

/// Bytes of the largest block that [`Nothing`] hands out.
const NOTHING_MAX: usize = 2048;

/// Result of `dladdr` for an address.
#[repr(C)]
struct Symbol {
    file: *const c_char,
    base: *mut c_void,
    name: *const c_char,
    address: *mut c_void,
}

unsafe extern "C" {
    fn malloc(len: usize) -> *mut c_void;
    fn free(block: *mut c_void);
    fn calloc(count: usize, len: usize) -> *mut c_void;
    fn realloc(block: *mut c_void, len: usize) -> *mut c_void;
    fn aligned_alloc(align: usize, len: usize) -> *mut c_void;
    fn mmap(
        at: *mut c_void,
        len: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn malloc_usable_size(block: *mut c_void) -> usize;
    fn dladdr(address: *const c_void, found: *mut Symbol) -> c_int;
}

/// A source of blocks.
pub(crate) trait Source: Sized {
    /// True if a block keeps the data written to it.
    const KEEPS: bool;

    /// Returns at least `len` bytes, or null.
    fn allocate(len: usize) -> *mut u8;

    /// Frees a block.
    ///
    /// # Safety
    /// The block came from this source, and no thread uses it any more.
    unsafe fn release(block: *mut u8);
}

/// The allocator of this process, whichever it is.
pub(crate) struct Process;

impl Source for Process {
    const KEEPS: bool = true;

    #[inline(always)]
    fn allocate(len: usize) -> *mut u8 {
        // SAFETY: malloc accepts any length.
        unsafe { malloc(len) }.cast()
    }

    #[inline(always)]
    unsafe fn release(block: *mut u8) {
        // SAFETY: the block came from malloc, and the caller passes ownership.
        unsafe { free(block.cast()) }
    }
}

/// An allocator that does nothing: each thread gets the same block every time. A work run with it
/// costs only the work's own instructions.
pub(crate) struct Nothing;

impl Source for Nothing {
    const KEEPS: bool = false;

    #[inline(never)]
    fn allocate(len: usize) -> *mut u8 {
        type Area = UnsafeCell<[u8; NOTHING_MAX]>;
        thread_local! {
            static AREA: Area = const { Area::new([0; NOTHING_MAX]) };
        }
        if len > NOTHING_MAX {
            return ptr::null_mut();
        }
        AREA.with(|area| area.get().cast())
    }

    #[inline(never)]
    unsafe fn release(block: *mut u8) {
        std::hint::black_box(block);
    }
}

/// A block and its requested length.
pub(crate) struct Block<S: Source = Process> {
    start: NonNull<u8>,
    len: usize,
    source: PhantomData<S>,
}

// SAFETY: one owner at a time accesses the memory; an allocator lets any thread free a block.
unsafe impl Send for Block<Process> {}

impl<S: Source> Block<S> {
    /// Allocates at least [`WORD`] bytes and writes `word` at the start. Ends the program if out of
    /// memory.
    #[inline(always)]
    pub(crate) fn new(len: usize, word: u64) -> Self {
        let len = len.max(WORD);
        Self::of(S::allocate(len).cast(), len, word)
    }

    #[inline(always)]
    fn of(found: *mut c_void, len: usize, word: u64) -> Self {
        let block = Self::found(found, len);
        // SAFETY: the block has at least [`WORD`] bytes, and only this program uses it.
        unsafe { block.start.cast::<u64>().write_unaligned(word) };
        block
    }

    #[inline(always)]
    fn found(found: *mut c_void, len: usize) -> Self {
        let Some(start) = NonNull::new(found.cast()) else {
            die(&format!("no memory for {len} bytes"));
        };
        Self {
            start,
            len,
            source: PhantomData,
        }
    }

    /// The block's length in bytes.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Frees the block if `word` is still at its start; otherwise ends the program.
    #[inline(always)]
    pub(crate) fn free(self, word: u64) {
        // SAFETY: the word was written when the block was made.
        let found = unsafe { self.start.cast::<u64>().read_unaligned() };
        if S::KEEPS && found != word {
            die(&format!("a block of {} bytes was overwritten", self.len));
        }
        // SAFETY: the block came from this source, and `self` owned it.
        unsafe { S::release(self.start.as_ptr()) };
    }
}

impl Block {
    /// As [`Block::new`], at a multiple of `align`, a power of two. Ends the program if the address
    /// is not aligned.
    pub(crate) fn aligned(len: usize, align: usize, word: u64) -> Self {
        let len = len.max(WORD);
        // SAFETY: aligned_alloc accepts any length and alignment.
        let block = Self::of(unsafe { aligned_alloc(align, len) }, len, word);
        if block.start.addr().get() % align != 0 {
            die(&format!("a block of {len} bytes is not aligned to {align}"));
        }
        block
    }

    /// As [`Block::new`], zeroed. Ends the program if the first or last word is not zero.
    pub(crate) fn zeroed(len: usize, word: u64) -> Self {
        let len = len.max(WORD);
        // SAFETY: calloc accepts any length.
        let found = unsafe { calloc(1, len) };
        if !found.is_null() {
            for place in [0, len - WORD] {
                // SAFETY: a place inside the block.
                let at = unsafe { found.byte_add(place) };
                // SAFETY: a whole word inside the block, written by the allocator.
                if unsafe { at.cast::<u64>().read_unaligned() } != 0 {
                    die(&format!("a block of {len} bytes from calloc is not zeroed"));
                }
            }
        }
        Self::of(found, len, word)
    }

    /// Resizes the block and writes another word. Ends the program if the old word is lost.
    pub(crate) fn resized(self, len: usize, word: u64, next: u64) -> Self {
        let len = len.max(WORD);
        // SAFETY: the block came from malloc, and `self` owned it.
        let found = unsafe { realloc(self.start.as_ptr().cast(), len) };
        if !found.is_null() {
            // SAFETY: the old block's first word, written when that block was made.
            let kept = unsafe { found.cast::<u64>().read_unaligned() };
            if kept != word {
                die(&format!(
                    "a block of {} bytes changed when it was resized",
                    self.len
                ));
            }
        }
        Self::of(found, len, next)
    }
}

impl Block {
    /// As [`Block::new`] or [`Block::aligned`], but nothing is written to it.
    pub(crate) fn unmarked(len: usize, align: usize) -> Self {
        let len = len.max(WORD);
        let found = match align {
            1 => Process::allocate(len).cast(),
            // SAFETY: aligned_alloc accepts any length and alignment.
            _ => unsafe { aligned_alloc(align, len) },
        };
        Self::found(found, len)
    }

    /// As [`Block::zeroed`], but nothing is written to it.
    pub(crate) fn unmarked_zeroed(len: usize) -> Self {
        let len = len.max(WORD);
        // SAFETY: calloc accepts any length.
        Self::found(unsafe { calloc(1, len) }, len)
    }

    /// As [`Block::resized`], but nothing is written to it or checked.
    pub(crate) fn resized_unmarked(self, len: usize) -> Self {
        let len = len.max(WORD);
        // SAFETY: the block came from malloc, and `self` owned it.
        Self::found(unsafe { realloc(self.start.as_ptr().cast(), len) }, len)
    }

    /// Writes the word at the start.
    pub(crate) fn mark(&mut self, word: u64) {
        // SAFETY: the block has at least [`WORD`] bytes, and only this program uses it.
        unsafe { self.start.cast::<u64>().write_unaligned(word) };
    }

    /// Frees the block, whatever it holds.
    pub(crate) fn free_unmarked(self) {
        // SAFETY: the block came from malloc, and `self` owned it.
        unsafe { Process::release(self.start.as_ptr()) };
    }

    /// Writes to some pages of the block.
    pub(crate) fn touch_pages(&mut self, first: usize, count: usize) {
        let end = self.len.min((first + count) * PAGE);
        for place in (first * PAGE + WORD..end).step_by(PAGE) {
            // SAFETY: a place inside the block.
            let byte = unsafe { self.start.add(place) };
            // SAFETY: `self`, the block's owner, is borrowed mutably.
            unsafe { byte.write(1) };
        }
    }

    /// Writes to the last byte of a block that [`Block::touch`] has touched to its end.
    pub(crate) fn touch_end(&mut self) {
        if (WORD + 1..=TOUCHED_MAX).contains(&self.len) {
            // SAFETY: the last byte of the block.
            let byte = unsafe { self.start.add(self.len - 1) };
            // SAFETY: `self`, the block's owner, is borrowed mutably.
            unsafe { byte.write(1) };
        }
    }

    /// Frees the block and returns the bytes that it could hold; 0 if the allocator does not tell.
    pub(crate) fn usable(self) -> usize {
        if origin_of(malloc as *const c_void) != origin_of(malloc_usable_size as *const c_void) {
            return 0;
        }
        // SAFETY: a block of this allocator in use.
        let usable = unsafe { malloc_usable_size(self.start.as_ptr().cast()) };
        // SAFETY: the block came from malloc, and `self` owned it.
        unsafe { Process::release(self.start.as_ptr()) };
        usable
    }
}

impl<S: Source> Block<S> {
    /// Writes to each page of the block, up to [`TOUCHED_MAX`] bytes, as typical programs do.
    pub(crate) fn touch(&mut self) {
        for place in (WORD..self.len.min(TOUCHED_MAX)).step_by(PAGE) {
            // SAFETY: a place inside the block.
            let byte = unsafe { self.start.add(place) };
            // SAFETY: `self`, the block's owner, is borrowed mutably.
            unsafe { byte.write(1) };
        }
    }
}

/// A block with a word that no other block has.
pub(crate) struct Marked {
    block: Block,
    word: u64,
}

impl Marked {
    /// A block of at least [`WORD`] bytes.
    pub(crate) fn new(len: usize) -> Self {
        thread_local! {
            static NEXT: Cell<u64> = const { Cell::new(0) };
        }
        let word = NEXT.with(|next| {
            let number = next.replace(next.get() + 1);
            number.wrapping_mul(SPREAD) ^ ptr::from_ref(next).addr() as u64
        });
        let block = Block::new(len, word);
        Self { block, word }
    }

    /// The block's length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.block.len()
    }

    /// As [`Block::touch`].
    pub(crate) fn touch(&mut self) {
        self.block.touch();
    }

    /// As [`Block::free`].
    pub(crate) fn free(self) {
        self.block.free(self.word);
    }
}

/// A block with every byte written at creation.
pub(crate) struct Bytes(Block);

impl Bytes {
    /// Allocates at least [`WORD`] bytes, all set to `byte`.
    pub(crate) fn new(len: usize, byte: u8) -> Self {
        let block = Block::new(len, 0);
        // SAFETY: the block has that many bytes, and no other code uses it.
        unsafe { block.start.as_ptr().write_bytes(byte, block.len) };
        Self(block)
    }

    /// Frees the block.
    pub(crate) fn free(self) {
        // SAFETY: the block came from `Process`, and `self` owned it.
        unsafe { Process::release(self.0.start.as_ptr()) };
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes, all initialised at creation.
        unsafe { slice::from_raw_parts(self.0.start.as_ptr(), self.0.len) }
    }
}

impl DerefMut for Bytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self`, the owner, is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.0.start.as_ptr(), self.0.len) }
    }
}

/// Contents of standard input if it is a file, mapped rather than allocated; resident at once if
/// wanted.
pub(crate) fn input(resident: bool) -> &'static [u8] {
    let len = fs::metadata("/proc/self/fd/0").map_or(0, |data| data.len() as usize);
    if len == 0 {
        return &[];
    }
    let populate = if resident { POPULATE } else { 0 };
    // SAFETY: a new mapping at an address that the kernel chooses.
    let at = unsafe { mmap(ptr::null_mut(), len, READ, PRIVATE | populate, 0, 0) };
    if at.addr() == usize::MAX {
        die("standard input is not a file that can be mapped");
    }
    // SAFETY: `len` bytes that stay mapped and are never written.
    unsafe { slice::from_raw_parts(at.cast(), len) }
}

/// A table outside the heap, resident at once.
pub(crate) fn mapped<T>(len: usize, new: fn() -> T) -> &'static [T] {
    let bytes = (len * mem::size_of::<T>()).max(1);
    let flags = PRIVATE | ANONYMOUS | POPULATE;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let at = unsafe { mmap(ptr::null_mut(), bytes, READ | WRITE, flags, -1, 0) };
    if at.addr() == usize::MAX {
        die(&format!("no memory for a table of {bytes} bytes"));
    }
    let at: *mut T = at.cast();
    for place in 0..len {
        // SAFETY: a place inside the mapping.
        let place = unsafe { at.add(place) };
        // SAFETY: aligned memory of this mapping that nobody has seen.
        unsafe { place.write(new()) };
    }
    // SAFETY: `len` values that stay mapped.
    unsafe { slice::from_raw_parts(at, len) }
}

/// The file that provides `malloc` in this process.
pub(crate) fn origin() -> String {
    origin_of(malloc as *const c_void)
}

/// The file that provides a function.
fn origin_of(function: *const c_void) -> String {
    // SAFETY: a structure of four pointers, which may be null.
    let mut symbol: Symbol = unsafe { mem::zeroed() };
    // SAFETY: `dladdr` takes any address and a structure to fill.
    let found = unsafe { dladdr(function, &raw mut symbol) };
    if found == 0 || symbol.file.is_null() {
        die("the loader does not know where the functions of malloc are");
    }
    // SAFETY: the loader's own string, which stays valid.
    let file = unsafe { CStr::from_ptr(symbol.file) };
    file.to_string_lossy().into_owned()
}
