#!/usr/bin/env bash
# Runs Clippy over everything and over the library in each of its feature sets, checks the shell
# scripts, and checks that the library links without std and how much code it is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh shellcheck

# In the workspace, the library has all its features.
cargo clippy --workspace --all-targets -- -D warnings
# With fewer features, the library with its own tests.
for features in "" alloc; do
  cargo clippy -p furlong --lib --profile test --no-default-features --features "$features" -- -D warnings
done
cargo clippy --locked --manifest-path ci/mutants/Cargo.toml --all-targets \
  --target-dir "${CARGO_TARGET_DIR:-target}/mutants/tool" -- -D warnings

# The oldest compiler that the library and the adapters are for, where it is installed; clippy's
# incompatible_msrv holds it everywhere.
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' crates/furlong/Cargo.toml)
if rustup run "$oldest" rustc --version >/dev/null 2>&1; then
  cargo "+$oldest" check -p furlong -p furlong-adapters --all-features \
    --target-dir "${CARGO_TARGET_DIR:-target}/oldest"
else
  echo "Rust $oldest is not installed: neither library nor adapters are built with it here"
fi

shellcheck .ci/run ci/*.sh examples/kernel/*.sh

bash ci/bare.sh
bash ci/size.sh
