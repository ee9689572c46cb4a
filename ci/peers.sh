#!/usr/bin/env bash
# The one peer in C++, which the test command leaves out: who has no C++ compiler can run that, too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh g++
# The libraries under examples/, which are not built for single tests.
cargo build --workspace --features furlong-peers/snmalloc --examples
cargo test --workspace --features furlong-peers/snmalloc --test malloc --test malloc_answers
