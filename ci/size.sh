#!/usr/bin/env bash
# The machine code that each system adds to a program without an operating system: builds one that
# calls its usual operations, with opt-level s and link-time optimisation, and subtracts a program
# that calls nothing. Fails if a figure is more than a tenth off the table in the library's README.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh size
readme=$PWD/crates/furlong/README.md
target=${CARGO_TARGET_DIR:-$PWD/target}/size
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src/bin"

cat >"$work/Cargo.toml" <<TOML
[workspace]
[package]
name = "sized"
version = "0.0.0"
edition = "2024"
[dependencies]
furlong = { path = "$PWD/crates/furlong" }
[profile.release]
opt-level = "s"
lto = "fat"
codegen-units = 1
panic = "abort"
TOML

# What every program has: a start, a heap, copies for the compiler, and a value nobody can foresee.
cat >"$work/src/start.rs" <<'RS'
use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicUsize, Ordering};

#[repr(C, align(4096))]
struct Arena(core::cell::UnsafeCell<[u8; 1 << 20]>);
unsafe impl Sync for Arena {}
static ARENA: Arena = Arena(core::cell::UnsafeCell::new([0; 1 << 20]));
static USED: AtomicUsize = AtomicUsize::new(0);

struct Bump;
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let at = (USED.load(Ordering::Relaxed) + layout.align() - 1) & !(layout.align() - 1);
        if at + layout.size() > 1 << 20 {
            return core::ptr::null_mut();
        }
        USED.store(at + layout.size(), Ordering::Relaxed);
        unsafe { ARENA.0.get().cast::<u8>().add(at) }
    }
    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}
#[global_allocator]
static HEAP: Bump = Bump;

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// A number that the optimiser does not know.
pub fn any() -> u64 {
    core::hint::black_box(USED.load(Ordering::Relaxed) as u64 + 0x1000)
}

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    core::hint::black_box(super::run());
    loop {}
}
RS
for name in memcpy memmove; do
  cat >>"$work/src/start.rs" <<RS
#[unsafe(no_mangle)]
unsafe extern "C" fn $name(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    for at in 0..len {
        let at = if (to as usize) < from as usize { at } else { len - 1 - at };
        unsafe { to.add(at).write_volatile(from.add(at).read_volatile()) };
    }
    to
}
RS
done
cat >>"$work/src/start.rs" <<'RS'
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, len: usize) -> *mut u8 {
    for at in 0..len {
        unsafe { to.add(at).write_volatile(byte as u8) };
    }
    to
}
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, len: usize) -> i32 {
    for at in 0..len {
        let (a, b) = unsafe { (a.add(at).read_volatile(), b.add(at).read_volatile()) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, len: usize) -> i32 {
    unsafe { memcmp(a, b, len) }
}
RS

# program NAME: its `run` is on standard input.
program() {
  {
    printf '#![no_std]\n#![no_main]\n#![allow(unused_imports)]\nextern crate alloc;\n'
    printf '#[path = "../start.rs"]\nmod start;\nuse start::any;\n'
    cat
  } >"$work/src/bin/$1.rs"
}

program nothing <<'RS'
fn run() -> Option<u64> {
    let mut kept = alloc::vec::Vec::new();
    kept.try_reserve(any() as usize).ok()?;
    kept.push(any());
    kept.first().copied()
}
RS
program iova <<'RS'
use furlong::addr::{Address, Extent, Iova};
use furlong::iova::{Highest, Request, VecSpace};
fn run() -> Option<u64> {
    let all = Extent::from_last(Iova::new(0x1000), Iova::new(0xffff_ffff))?;
    let mut space = VecSpace::new(all, 4096, alloc::vec::Vec::new()).ok()?;
    space.reserve_fixed(Extent::from_len(Iova::new(any() << 8), 0x10_0000)?, |_| ()).ok()?;
    let grant = space.reserve(&Request::new(any()).align(any()), Highest).ok()?;
    let at = grant.iova().raw();
    space.release(grant).ok()?;
    Some(at)
}
RS
program phys <<'RS'
use furlong::addr::{Address, Extent, Pfn, PhysAddr};
use furlong::phys::{Descriptor, SegmentTable};
struct Page(Pfn);
impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        Self(frame)
    }
}
static MEMORY: SegmentTable<Page> = SegmentTable::new();
fn run() -> Option<u64> {
    let frames = Extent::from_len(Pfn::new(any()), any())?;
    MEMORY.lock().plug(frames).ok()?;
    MEMORY.lock().grow_on_heap();
    MEMORY.lock().start().ok()?;
    let reader = MEMORY.rcu().register().ok()?;
    let page = MEMORY.read(&reader.enter()).page(PhysAddr::new(any())).map(|page| page.0.raw());
    MEMORY.lock().unplug(frames).ok()?;
    page
}
RS
program maple <<'RS'
use furlong::addr::Extent;
use furlong::maple::Maple;
fn run() -> Option<u64> {
    let range = |start, len| Extent::from_len(start, len);
    let mut map: Maple<u64, &'static u64> = Maple::new();
    map.insert(range(any(), 0x2000)?, &7).ok()?;
    drop(map.store(range(any() + 0x1000, 0x2000)?, &8).ok()?);
    drop(map.erase_range(range(any(), 0x100)?).ok()?);
    let gap = map.lowest_gap(any(), range(0, any() << 8)?)?;
    Some(gap.start() + map.load(any())?)
}
RS
program vmspace <<'RS'
use furlong::addr::{Address, Extent};
use furlong::vmspace::{Access, Layout, Prot, Request, Space, Value};
#[derive(Clone)]
struct Anonymous;
impl Value for Anonymous {
    fn merges(&self, _: &Self) -> bool {
        true
    }
}
fn run() -> Option<u64> {
    let mut space: Space<Anonymous> = Space::new(Layout::LINUX_X86_64).ok()?;
    let at = space.map(Request::anonymous(any(), Prot::READ, Anonymous), drop).ok()?;
    space.protect(at, any(), Prot::READ | Prot::WRITE, drop).ok()?;
    let area = space.fault(at, Access::Write).ok()?.extent;
    space.unmap(at, any(), drop).ok()?;
    Some(at.raw() + space.len() as u64 + core::hint::black_box(area).start().raw())
}
RS
program bounce <<'RS'
use furlong::addr::Address;
use furlong::bounce::{Device, FromDevice, HeapMemory, Limits, OneCpu, Plan, Pool, ToDevice};
fn run() -> Option<u64> {
    let pool = Pool::new(HeapMemory::new(), OneCpu, &Plan::new(any() as usize, 1)).ok()?;
    let disk = Device::new(1, Limits::new().min_align_mask(0xfff)).ok()?;
    let mut sector = [0_u8; 512];
    let sent = pool.map(&disk, ToDevice(&sector)).ok()?;
    let at = sent.address().raw();
    drop(sent);
    pool.map(&disk, FromDevice(&mut sector)).ok()?.finish(any() as usize);
    Some(at)
}
RS
program malloc <<'RS'
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, Ordering};
use furlong::malloc::{
    Batched, Config, CurrentHeap, Global, Heap, Inlined, Malloc, Misuse, NoHardening, PageSource,
};
struct Pages;
unsafe impl PageSource for Pages {
    fn map(&self, len: usize, align: usize) -> Option<NonNull<u8>> {
        let layout = Layout::from_size_align(len, align).ok()?;
        NonNull::new(unsafe { alloc::alloc::alloc_zeroed(layout) })
    }
    unsafe fn unmap(&self, _: NonNull<u8>, _: usize) {}
    unsafe fn purge(&self, _: NonNull<u8>, _: usize) -> bool {
        false
    }
    fn random(&self) -> u64 {
        any()
    }
    fn stop(&self, _: Misuse, _: usize) -> ! {
        loop {}
    }
}
static CURRENT: AtomicPtr<Heap> = AtomicPtr::new(core::ptr::null_mut());
struct OneCpu;
unsafe impl CurrentHeap for OneCpu {
    type Pin = ();
    fn pin() {}
    fn get() -> &'static Heap {
        unsafe { CURRENT.load(Ordering::Relaxed).as_ref() }.unwrap_or(Heap::vacant())
    }
    unsafe fn set(heap: &'static Heap) {
        CURRENT.store(core::ptr::from_ref(heap).cast_mut(), Ordering::Relaxed);
    }
}
struct Kernel;
impl Config for Kernel {
    type Source = Pages;
    type Current = OneCpu;
    type Hardening = NoHardening;
    type Gate = Inlined;
    type Tier = Batched;
}
static MALLOC: Malloc<Kernel> = unsafe { Malloc::new(Pages) };
static GLOBAL: Global<Kernel> = Global::new(&MALLOC);
fn run() -> Option<u64> {
    let layout = Layout::from_size_align(any() as usize, 16).ok()?;
    let block = unsafe { GLOBAL.alloc(layout) };
    let block = unsafe { GLOBAL.realloc(block, layout, 2 * any() as usize) };
    unsafe { GLOBAL.dealloc(block, layout) };
    Some(block as u64)
}
RS

program small <<'RS'
use core::alloc::{GlobalAlloc, Layout};
use furlong::malloc::{SmallGlobal, StaticRegion};
use furlong::sync::SpinLock;
static REGION: StaticRegion<65536> = StaticRegion::new();
static GLOBAL: SmallGlobal<SpinLock, StaticRegion<65536>> =
    SmallGlobal::new(SpinLock::new(), &REGION);
fn run() -> Option<u64> {
    let layout = Layout::from_size_align(any() as usize, any() as usize).ok()?;
    let block = unsafe { GLOBAL.alloc(layout) };
    let block = unsafe { GLOBAL.realloc(block, layout, 2 * any() as usize) };
    unsafe { GLOBAL.dealloc(block, layout) };
    Some(block as u64)
}
RS

systems=(iova phys maple vmspace bounce malloc small)
flags="-Crelocation-model=static -Clink-arg=-nostdlib -Clink-arg=-static -Clink-arg=-Wl,--gc-sections"
RUSTFLAGS=$flags cargo build --quiet --release --manifest-path "$work/Cargo.toml" --target-dir "$target"

# code NAME: the bytes of its machine code.
code() { size -A "$target/release/$1" | awk '$1 == ".text" { print $2 }'; }
nothing=$(code nothing)
failed=
for name in "${systems[@]}"; do
  bytes=$(($(code "$name") - nothing))
  said=$(awk -F'|' -v name=" \`$name\`" 'index($2, name) == 1 && $3 ~ /^ [0-9.]+ KiB $/ { print $3 + 0 }' "$readme")
  awk -v name="$name" -v bytes="$bytes" -v said="${said:-0}" 'BEGIN {
    is = bytes / 1024
    printf "%-8s %6.1f KiB, %s in the table\n", name, is, said
    exit is > said * 1.1 || is < said * 0.9
  }' || failed=yes
  if [ "$name" = small ] && [ "$bytes" -ge 8000 ]; then
    echo "the small heap has $bytes bytes of code" >&2
    failed=yes
  fi
done
[ -z "$failed" ] || { echo "code sizes are not those of crates/furlong/README.md" >&2; exit 1; }
