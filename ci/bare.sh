#!/usr/bin/env bash
# Links the library into programs that bring their own panic handler: if anything in it pulls std
# in, the compiler finds two handlers and fails. The last case checks that it does fail.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
target=$PWD/target/bare
# Nothing of it runs.
export CARGO_PROFILE_DEV_OPT_LEVEL=0

cat >"$work/bare.rs" <<'RS'
#![no_std]
extern crate furlong as _;

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
RS

cat >"$work/heap.rs" <<'RS'
#![no_std]
extern crate alloc;
extern crate furlong as _;

use core::alloc::{GlobalAlloc, Layout};

struct Empty;

// SAFETY: it never hands memory out, so nothing it gives can be misused.
unsafe impl GlobalAlloc for Empty {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }
    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static HEAP: Empty = Empty;

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
RS

# links PROGRAM FEATURES: builds the library with these features alone and links the program to it.
links() {
  rm -f "$work/log"
  cargo build --quiet -p furlong --lib --no-default-features --features "$2" \
    --target-dir "$target" || exit 1
  rustc --edition 2024 --crate-type staticlib -C panic=abort -o "$work/out.a" \
    --extern furlong="$target/debug/libfurlong.rlib" -L dependency="$target/debug/deps" \
    "$work/$1.rs" 2>"$work/log"
}

# Features only add code: what links with several links with each of them.
links bare linux || { cat "$work/log" >&2; echo "furlong without alloc needs std" >&2; exit 1; }
links heap alloc,linux,serde,allocator-api2 ||
  { cat "$work/log" >&2; echo "furlong with alloc needs std" >&2; exit 1; }
if links bare std || ! grep -q 'duplicate lang item .panic_impl' "$work/log"; then
  cat "$work/log" >&2
  echo "this check would not have seen std: it must be mended" >&2
  exit 1
fi
echo "furlong links without std: with linux alone, and with alloc, linux, serde and allocator-api2"
