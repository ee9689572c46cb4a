#!/usr/bin/env bash
# Runs Clippy over everything and over the library in each of its feature sets, checks the shell
# scripts, and checks that the library links without std.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh shellcheck

cargo clippy --workspace --all-targets -- -D warnings
cargo clippy -p furlong --all-targets --no-default-features -- -D warnings
cargo clippy -p furlong --all-targets --no-default-features --features alloc -- -D warnings
cargo clippy -p furlong --all-targets --all-features -- -D warnings
cargo clippy --locked --manifest-path ci/mutants/Cargo.toml --all-targets \
  --target-dir "${CARGO_TARGET_DIR:-target}/mutants/tool" -- -D warnings

shellcheck .ci/run ci/*.sh examples/kernel/*.sh

bash ci/bare.sh
