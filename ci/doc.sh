#!/usr/bin/env bash
# Do the documents build without a warning (broken links are warnings), and does their code run?
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Libraries only: the command and the library are both called furlong and would share a folder.
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --lib
cargo test --workspace --doc
