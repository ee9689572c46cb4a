#!/usr/bin/env bash
# Other targets, each if the toolchain has it: the library alone; its tests with musl's C library;
# the small heap as a WebAssembly module. Names the targets that it left out.
# `rustup target add` adds one. ci/aarch64.sh runs the tests as aarch64 programs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${CARGO_TARGET_DIR:-$PWD/target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "targets: $*" >&2; exit 1; }
has() { [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ]; }

left_out=()
for name in x86_64-unknown-linux-musl aarch64-unknown-linux-gnu wasm32-unknown-unknown thumbv7m-none-eabi; do
  if ! has "$name"; then
    left_out+=("$name")
    continue
  fi
  for features in "" alloc; do
    # Without 64-bit atomics some systems are left out, and the compiler sees what only they use.
    cargo check --quiet -p furlong --lib --no-default-features --features "$features" \
      --target "$name" 2>"$work/log" || { cat "$work/log" >&2; fail "$name: it does not compile"; }
  done
  echo "$name: the library compiles"
done

if has x86_64-unknown-linux-musl; then
  # Left out: the tests of glibc's own functions.
  cargo test --quiet -p furlong --features std --target x86_64-unknown-linux-musl \
    --lib --test malloc_small --test malloc_overlap
  echo "x86_64-unknown-linux-musl: tests passed"
fi

if has wasm32-unknown-unknown; then
  bash ci/need.sh node
  mkdir "$work/src"
  cat >"$work/Cargo.toml" <<TOML
[workspace]
[package]
name = "module"
version = "0.0.0"
edition = "2024"
[lib]
path = "src/lib.rs"
crate-type = ["cdylib"]
[dependencies]
furlong = { path = "$PWD/crates/furlong", default-features = false }
[profile.release]
opt-level = "s"
lto = "fat"
panic = "abort"
overflow-checks = true
debug-assertions = true
TOML
  cat >"$work/src/lib.rs" <<'RS'
#![no_std]
extern crate alloc;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::arch::wasm32::{memory_grow, unreachable};
use core::mem::MaybeUninit;
use core::{ptr, slice};
use furlong::check::Check;
use furlong::malloc::{RegionSource, SmallGlobal, SmallHeap};
use furlong::sync::SpinLock;

struct Pages;

impl RegionSource for Pages {
    fn more(&'static self, layout: Layout) -> Option<&'static mut [MaybeUninit<u8>]> {
        let pages = SmallHeap::bytes_for(layout)?.div_ceil(1 << 16);
        let first = memory_grow::<0>(pages);
        if first == usize::MAX {
            return None;
        }
        let start = ptr::with_exposed_provenance_mut(first << 16);
        Some(unsafe { slice::from_raw_parts_mut(start, pages << 16) })
    }
}

#[global_allocator]
static GLOBAL: SmallGlobal<SpinLock, Pages> = SmallGlobal::new(SpinLock::new(), &Pages);

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    unreachable()
}

/// Vectors that grow and go, of which at most `kept` live. Returns the bytes that were in use at
/// most, or 0 if anything was wrong.
#[unsafe(no_mangle)]
extern "C" fn run(operations: u32, kept: u32) -> u32 {
    // More than there are addresses.
    let most = Layout::from_size_align(0, 1 << 31).expect("a layout");
    let more = Layout::from_size_align((1 << 31) - 8, 8).expect("a layout");
    let large = Layout::from_size_align(0x7e00_0000, 1).expect("a layout");
    if [most, more, large].map(SmallHeap::bytes_for) != [None; 3]
    {
        return 0;
    }
    let mut vectors: Vec<Vec<u32>> = Vec::new();
    let (mut state, mut most) = (1_u32, 0);
    for _ in 0..operations {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let at = state >> 16;
        if vectors.len() as u32 == kept {
            let vector = vectors.swap_remove((at % kept) as usize);
            let first = vector.first().copied().unwrap_or(0);
            if !vector.iter().enumerate().all(|(at, value)| *value == first + at as u32) {
                return 0;
            }
        }
        vectors.push((at..at + at % 500).collect());
        let heap = GLOBAL.lock();
        most = most.max(heap.statistics().used_bytes);
        if at % 64 == 0 && heap.check().is_err() {
            return 0;
        }
    }
    drop(vectors);
    if GLOBAL.lock().statistics().used_blocks == 0 { most as u32 } else { 0 }
}
RS
  RUSTFLAGS='' cargo build --quiet --release --manifest-path "$work/Cargo.toml" \
    --target wasm32-unknown-unknown --target-dir "$target/targets"
  node - "$target/targets/wasm32-unknown-unknown/release/module.wasm" <<'JS' || fail "the module is wrong"
const { readFileSync } = require("node:fs");
const bytes = readFileSync(process.argv[2]);
WebAssembly.instantiate(bytes, {}).then(({ instance }) => {
  const { run, memory } = instance.exports;
  const before = memory.buffer.byteLength;
  const most = run(20000, 50);
  const grown = memory.buffer.byteLength - before;
  const again = run(20000, 50);
  const more = memory.buffer.byteLength - before - grown;
  console.log(`wasm32-unknown-unknown: ${most} bytes in use at most, in ${grown} of memory; ` +
    `${more} more for the same again`);
  // Twice as much as is in use, and no leak: the second run has the same blocks.
  process.exit(most > 0 && again === most && grown <= 2 * most && more === 0 ? 0 : 1);
});
JS
fi
[ "${#left_out[@]}" -eq 0 ] || echo "left out, because the toolchain lacks them: ${left_out[*]}"
