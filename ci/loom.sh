#!/usr/bin/env bash
# Runs the loom models of sync, rcu and the systems: every interleaving with up to two preemptions,
# and with three in `ci/full.sh loom`.
# `ci/loom.sh SYSTEM` runs those of one system, `ci/loom.sh NAME` the models whose names contain NAME.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A target directory of its own, for the flag would rebuild everything else each time.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom"
export RUSTFLAGS="--cfg loom ${RUSTFLAGS:-}"
export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-2}"
# Optimized, but built fast.
export CARGO_PROFILE_RELEASE_LTO=off
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
export CARGO_PROFILE_RELEASE_DEBUG=false

tests=()
for file in crates/furlong/tests/loom*"${1:-}"*.rs; do
  [ -e "$file" ] && tests+=(--test "$(basename "$file" .rs)")
done
if [ "${#tests[@]}" -gt 0 ]; then
  set --
else
  tests=(--test 'loom*')
fi
exec cargo test --release --package furlong "${tests[@]}" -- --test-threads "$(nproc)" "$@"
