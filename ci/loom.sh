#!/usr/bin/env bash
# Runs the loom models of sync, rcu and the systems: every interleaving with up to two preemptions,
# and with three in `ci/full.sh loom`.
# `ci/loom.sh NAME` runs the models whose names contain NAME.
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

exec cargo test --release --package furlong --test loom --test loom_iova --test loom_phys \
    --test loom_phys_table --test loom_maple --test loom_vmspace --test loom_bounce \
    --test loom_malloc \
    -- --test-threads "$(nproc)" "$@"
