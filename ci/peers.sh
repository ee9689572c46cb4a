#!/usr/bin/env bash
# Tests the one peer in C++. The test command leaves it out, so that it needs no C++ compiler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh g++
# The libraries under examples/, which are not built for single tests.
cargo build --workspace --features furlong-peers/snmalloc --examples
cargo test --workspace --features furlong-peers/snmalloc --test malloc --test malloc_answers
