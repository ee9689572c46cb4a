#!/usr/bin/env bash
# Runs AddressSanitizer over every input that fuzzing kept, over the multi-threaded tests and over
# the private heaps'. `ci/asan.sh --all` runs all tests of library, specification and adapters,
# which are much to build and, with the allocator's, long to run. Further arguments are passed to
# cargo test. The sanitizer comes with the stable toolchain; only its flag is unstable, hence
# RUSTC_BOOTSTRAP.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tests=(--test malloc_zones --test fuzz_corpus --test virtio --test races)
packages=(-p furlong -p furlong-spec -p furlong-adapters)
if [ "${1:-}" = --all ]; then
  tests=(--lib --tests)
  shift
fi

export RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address -Cforce-frame-pointers=yes"
export ASAN_OPTIONS="detect_stack_use_after_return=1:strict_init_order=1"
host=$(rustc -vV | sed -n 's/^host: //p')

# Would it notice? Three planted errors must be found before its silence means anything.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/after_free.rs" <<'RS'
fn main() {
    let stale = Box::into_raw(Box::new(std::env::args().count()));
    drop(unsafe { Box::from_raw(stale) });
    println!("{}", unsafe { stale.read_volatile() });
}
RS
cat >"$work/overflow.rs" <<'RS'
fn main() {
    let row = vec![0u64; std::env::args().count()];
    println!("{}", unsafe { row.as_ptr().add(row.len()).read_volatile() });
}
RS
cat >"$work/leak.rs" <<'RS'
fn main() {
    let lost = Box::into_raw(Box::new(std::env::args().count()));
    println!("{}", unsafe { lost.read_volatile() });
}
RS
# planted PROGRAM REPORT: the program must stop with that report.
planted() {
  rustc --edition 2024 -Zsanitizer=address --target "$host" -o "$work/$1" "$work/$1.rs"
  if "$work/$1" >"$work/out" 2>&1 || ! grep -q "Sanitizer: $2" "$work/out"; then
    cat "$work/out" >&2
    echo "AddressSanitizer did not see a planted $2" >&2
    exit 1
  fi
}
planted after_free heap-use-after-free
planted overflow heap-buffer-overflow
planted leak 'detected memory leaks'
echo "AddressSanitizer sees planted errors"

# With an explicit target the flags stay away from build scripts and macros.
cargo test "${packages[@]}" "${tests[@]}" --features furlong/std --target "$host" \
  --target-dir target/asan "$@"
