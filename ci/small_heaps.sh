#!/usr/bin/env bash
# The small heap beside four others over one region: the share of it that blocks of one size can
# have, the share in use whenever a request is refused, and the instructions of a call.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh valgrind
target=${CARGO_TARGET_DIR:-$PWD/target}/small_heaps
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cat >"$work/Cargo.toml" <<TOML
[workspace]
[package]
name = "heaps"
version = "0.0.0"
edition = "2024"
[dependencies]
furlong = { path = "$PWD/crates/furlong", default-features = false }
linked_list_allocator = { version = "=0.10.6", default-features = false }
talc = "=5.1.1"
rlsf = "=0.2.3"
dlmalloc = { version = "=0.2.14", default-features = false }
[profile.release]
panic = "abort"
TOML
cat >"$work/src/main.rs" <<'RS'
use std::alloc::Layout;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

type Memory = &'static mut [MaybeUninit<u8>];

trait Heap {
    fn allocate(&mut self, layout: Layout) -> Option<NonNull<u8>>;
    unsafe fn free(&mut self, block: NonNull<u8>, layout: Layout);
}

impl Heap for furlong::malloc::SmallHeap<'static> {
    fn allocate(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        self.allocate(layout)
    }
    unsafe fn free(&mut self, block: NonNull<u8>, layout: Layout) {
        unsafe { self.free(block, layout) }.expect("a block")
    }
}

impl Heap for linked_list_allocator::Heap {
    fn allocate(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        self.allocate_first_fit(layout).ok()
    }
    unsafe fn free(&mut self, block: NonNull<u8>, layout: Layout) {
        unsafe { self.deallocate(block, layout) }
    }
}

type Talc = talc::base::Talc<talc::source::Manual, talc::DefaultBinning>;

impl Heap for Talc {
    fn allocate(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        unsafe { self.allocate(layout) }
    }
    unsafe fn free(&mut self, block: NonNull<u8>, layout: Layout) {
        unsafe { self.deallocate(block.as_ptr(), layout) }
    }
}

type Tlsf = rlsf::Tlsf<'static, u16, u16, 14, 16>;

impl Heap for Tlsf {
    fn allocate(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        self.allocate(layout)
    }
    unsafe fn free(&mut self, block: NonNull<u8>, layout: Layout) {
        unsafe { self.deallocate(block, layout.align()) }
    }
}

/// All of the region at the first request.
struct Once(Cell<Option<Memory>>);

unsafe impl Send for Once {}

unsafe impl dlmalloc::Allocator for Once {
    fn alloc(&self, len: usize) -> (*mut u8, usize, u32) {
        match self.0.take() {
            Some(memory) if len <= memory.len() => (memory.as_mut_ptr().cast(), memory.len(), 0),
            memory => {
                self.0.set(memory);
                (std::ptr::null_mut(), 0, 0)
            }
        }
    }
    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        std::ptr::null_mut()
    }
    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }
    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }
    fn can_release_part(&self, _: u32) -> bool {
        false
    }
    fn allocates_zeros(&self) -> bool {
        false
    }
    fn page_size(&self) -> usize {
        4096
    }
}

impl Heap for dlmalloc::Dlmalloc<Once> {
    fn allocate(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        NonNull::new(unsafe { self.malloc(layout.size(), layout.align()) })
    }
    unsafe fn free(&mut self, block: NonNull<u8>, layout: Layout) {
        unsafe { self.free(block.as_ptr(), layout.size(), layout.align()) }
    }
}

#[repr(align(65536))]
struct Region([MaybeUninit<u8>; 1 << 18]);

const NAMES: [&str; 5] = ["furlong", "linked-list", "talc", "tlsf", "dlmalloc"];

fn heap(name: &str, len: usize) -> Box<dyn Heap> {
    let region = Box::leak(Box::new(Region([MaybeUninit::uninit(); 1 << 18])));
    let memory = &mut region.0[..len];
    match name {
        "furlong" => {
            let mut heap = furlong::malloc::SmallHeap::new();
            heap.add(memory).expect("it is long enough");
            Box::new(heap)
        }
        "linked-list" => {
            let mut heap = linked_list_allocator::Heap::empty();
            heap.init_from_slice(memory);
            Box::new(heap)
        }
        "talc" => {
            let mut heap = Talc::new(talc::source::Manual);
            unsafe { heap.claim(memory.as_mut_ptr().cast(), len) }.expect("it is long enough");
            Box::new(heap)
        }
        "tlsf" => {
            let mut heap = Tlsf::new();
            heap.insert_free_block(memory);
            Box::new(heap)
        }
        _ => Box::new(dlmalloc::Dlmalloc::new_with_allocator(Once(Cell::new(Some(memory))))),
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }
}

const TRACES: [&str; 3] = ["mixed", "1-128", "64-2063"];

/// Sizes of a firmware: 70 % of 8 to 128 bytes, 25 % of 128 to 1,024, 5 % of 1 to 4 KiB; or equally
/// likely ones.
fn size(random: &mut Random, trace: &str) -> usize {
    match trace {
        "mixed" => match random.below(100) {
            0..70 => 8 + random.below(121),
            70..95 => 128 + random.below(897),
            _ => 1024 + random.below(3073),
        },
        "1-128" => 1 + random.below(128),
        _ => 64 + random.below(2000),
    }
}

/// Allocates; whenever that is refused, frees random blocks until it is not. Returns the mean share
/// of the region that is requested and in use at a refusal, and the number of calls.
fn churn(name: &str, len: usize, trace: &str, blocks: usize) -> (f64, u64) {
    let (mut heap, mut random) = (heap(name, len), Random(7));
    let mut live: Vec<(NonNull<u8>, Layout)> = Vec::new();
    let (mut bytes, mut sum, mut refused) = (0, 0, 0_u64);
    for _ in 0..blocks {
        let layout = Layout::from_size_align(size(&mut random, trace), 8).expect("a layout");
        let block = loop {
            if let Some(block) = heap.allocate(layout) {
                break block;
            }
            sum += bytes;
            refused += 1;
            let (block, freed) = live.swap_remove(random.below(live.len()));
            bytes -= freed.size();
            unsafe { heap.free(block, freed) };
        };
        bytes += layout.size();
        live.push((block, layout));
    }
    let share = 100.0 * sum as f64 / refused as f64 / len as f64;
    (share, blocks as u64 + 2 * refused)
}

fn row(name: &str, of: impl Fn(&str) -> f64) {
    let shares: Vec<String> = NAMES.iter().map(|name| format!("{:.1}", of(name))).collect();
    println!("| {name} | {} |", shares.join(" | "));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [name, len, blocks] = &arguments[..] {
        let (len, blocks) = (len.parse().expect("a length"), blocks.parse().expect("a count"));
        println!("{}", churn(name, len, "mixed", blocks).1);
        return;
    }
    for len in [64 << 10, 256 << 10] {
        println!("\n| % of {} KiB | {} |\n|---|{}", len >> 10, NAMES.join(" | "), "---|".repeat(5));
        for size in [16, 24, 64, 100, 256, 1000, 1024, 4096, 16_384] {
            row(&format!("blocks of {size} bytes"), |name| {
                let layout = Layout::from_size_align(size, 8).expect("a layout");
                let mut heap = heap(name, len);
                let blocks = (0..).take_while(|_| heap.allocate(layout).is_some()).count();
                100.0 * (blocks * size) as f64 / len as f64
            });
        }
        for trace in TRACES {
            row(&format!("{trace}, at a refusal"), |name| churn(name, len, trace, 200_000).0);
        }
    }
}
RS
cargo build --quiet --release --manifest-path "$work/Cargo.toml" --target-dir "$target"
heaps=$target/release/heaps
"$heaps"

# count NAME LEN BLOCKS: the calls, and the instructions of the whole process.
count() {
  local calls
  calls=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$work/log" "$heaps" "$@")
  echo "$calls $(awk '/Collected/ { print $NF }' "$work/log")"
}
echo
echo "| instructions of a call, \`mixed\` | furlong | linked-list | talc | tlsf | dlmalloc |"
echo "|---|---|---|---|---|---|"
for len in 65536 262144; do
  printf '| %s KiB |' $((len / 1024))
  for name in furlong linked-list talc tlsf dlmalloc; do
    # The difference of two runs: a start and a region cost the same in both.
    read -r few before <<<"$(count "$name" "$len" 20000)"
    read -r many after <<<"$(count "$name" "$len" 60000)"
    printf ' %d |' $(((after - before) / (many - few)))
  done
  echo
done
