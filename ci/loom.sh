#!/usr/bin/env bash
# Runs the loom models of sync, rcu and the systems: every interleaving with up to two preemptions,
# and with three in `ci/full.sh loom`.
# `ci/loom.sh SYSTEM` runs those of one system, `ci/loom.sh NAME` the models whose names contain NAME.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-2}"

tests=()
for file in loom/tests/loom*"${1:-}"*.rs; do
  [ -e "$file" ] && tests+=(--test "$(basename "$file" .rs)")
done
if [ "${#tests[@]}" -gt 0 ]; then
  set --
else
  tests=(--tests)
fi
exec cargo test --release --locked --manifest-path loom/Cargo.toml \
  --target-dir "${CARGO_TARGET_DIR:-target}/loom" "${tests[@]}" -- --test-threads "$(nproc)" "$@"
