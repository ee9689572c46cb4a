#!/usr/bin/env bash
# Checks that the documents build without a warning. Broken links are warnings. Doctests run with
# the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Libraries only: the command and the library are both called furlong and would share a folder.
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --lib

# The library once more, with every feature and their labels, as its readers get it. The labels are
# called unstable, hence RUSTC_BOOTSTRAP, and the folder of ci/api.sh, which says why.
RUSTC_BOOTSTRAP=1 RUSTDOCFLAGS="-D warnings --cfg docsrs" \
  cargo doc -p furlong --no-deps --all-features --target-dir "${CARGO_TARGET_DIR:-target}/unstable"
