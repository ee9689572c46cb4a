#!/usr/bin/env bash
# Is every Rust file as rustfmt would write it?
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo fmt --all --check
