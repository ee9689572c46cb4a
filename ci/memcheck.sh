#!/usr/bin/env bash
# Runs Valgrind's memcheck over the allocator's own tests: no access to unmapped memory, and no
# branch on uninitialised memory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh valgrind

# What an error of memcheck's ends a program with.
found=99
memcheck=(valgrind --quiet --error-exitcode="$found" --num-callers=25)

# Would it notice? Two planted errors must be found before its silence means anything.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/unwritten.rs" <<'RS'
fn main() {
    let row = Vec::<u64>::with_capacity(std::env::args().count() + 7);
    if unsafe { row.as_ptr().read_volatile() } > 7 {
        println!("more");
    }
}
RS
cat >"$work/unmapped.rs" <<'RS'
fn main() {
    let stale = Box::into_raw(Box::new(std::env::args().count()));
    drop(unsafe { Box::from_raw(stale) });
    println!("{}", unsafe { stale.read_volatile() });
}
RS
for planted in unwritten unmapped; do
  rustc --edition 2024 -g -o "$work/$planted" "$work/$planted.rs"
  code=0
  "${memcheck[@]}" "$work/$planted" >"$work/out" 2>&1 || code=$?
  [ "$code" -eq "$found" ] || { cat "$work/out" >&2; echo "memcheck missed $planted" >&2; exit 1; }
done
echo "memcheck sees planted errors"

# Cargo runs the tests through it, which has one thread run at a time anyway.
host=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
export "CARGO_TARGET_${host}_RUNNER=${memcheck[*]}"
features=std,allocator-api2
cargo test -p furlong --features "$features" --lib -- --test-threads 1 malloc::
cargo test -p furlong --features "$features" --test malloc_misuse --test malloc_zones \
  -- --test-threads 1
# The other tests there say why they are not for it.
cargo test -p furlong --features "$features" --test malloc_uninitialised \
  -- --test-threads 1 --exact blocks_that_nobody_wrote_to_are_freed
