#!/usr/bin/env bash
# The hostile caller: safe code that forgets results, panics in every callback, re-enters and lies,
# against every system, under AddressSanitizer. Prints the number of distinct attacks that each
# public type has withstood (a pair of place and state counts once), and fails below 100,000 in
# total. With FURLONG_HOSTILE=full it attacks every state instead of a quarter, and fails below
# 300,000. The tests are those of the specification and of the adapters whose names begin with
# hostile_.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tests=()
for file in crates/furlong-{spec,adapters}/tests/hostile_*; do
  [ -e "$file" ] || { echo "there are no hostile tests" >&2; exit 1; }
  tests+=(--test "$(basename "$file" .rs)")
done

# AddressSanitizer comes with the stable toolchain; only its flag is called unstable.
export RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address -Cforce-frame-pointers=yes"
# A forgotten value is a leak on purpose; nothing else is looked for here but use after free,
# double free and access out of bounds.
export ASAN_OPTIONS="detect_leaks=0:detect_stack_use_after_return=1"
host=$(rustc -vV | sed -n 's/^host: //p')

least=100000
[ "${FURLONG_HOSTILE:-}" != full ] || least=300000
out=$(mktemp)
trap 'rm -f "$out"' EXIT
# The packages of ci/asan.sh, so that both build the same libraries.
if ! cargo test -p furlong -p furlong-spec -p furlong-adapters "${tests[@]}" --features furlong/std \
  --target "$host" --target-dir target/asan -- --nocapture "$@" >"$out" 2>&1; then
  tail -n 100 "$out" >&2
  exit 1
fi
grep -E '^test result' "$out"
# The prefix may follow the test runner's own "test NAME ... " on a line.
grep -oE 'hostile: [^ ]+ [0-9]+$' "$out" | awk -v least="$least" '
  { pairs[$2] += $3; total += $3 }
  END {
    for (of in pairs) printf "%-32s %8d\n", of, pairs[of] | "sort"
    close("sort")
    printf "%-32s %8d\n", "all", total
    if (total < least) { print "fewer than " least " distinct attacks" > "/dev/stderr"; exit 1 }
  }'
