#!/usr/bin/env bash
# Runs the loom models of sync, rcu and the systems: every interleaving with up to two preemptions,
# and up to one in changes of a physical table, which have thousands of steps. LOOM_MAX_PREEMPTIONS=N
# is for all; `ci/full.sh loom` has three.
# `ci/loom.sh SYSTEM` runs those of one system, `ci/loom.sh NAME` the models whose names contain NAME.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# models N ARGUMENT..: runs what the arguments for cargo name, with up to N preemptions.
models() {
  LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-$1} cargo test --release --locked \
    --manifest-path loom/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}/loom" "${@:2}"
}
names=(-- --test-threads "$(nproc)")
many=() few=()
for file in loom/tests/loom*"${1:-}"*.rs; do
  [ -e "$file" ] || continue
  name=$(basename "$file" .rs)
  if [ "$name" = loom_phys ]; then few=(--test "$name"); else many+=(--test "$name"); fi
done
if [ "${#many[@]}" -eq 0 ] && [ "${#few[@]}" -eq 0 ]; then
  names+=("$@")
  many=(--test "loom*")
fi
if [ "${#many[@]}" -gt 0 ]; then models 2 "${many[@]}" "${names[@]}"; fi
if [ "${#few[@]}" -gt 0 ]; then models 1 "${few[@]}" "${names[@]}"; fi
