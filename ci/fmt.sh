#!/usr/bin/env bash
# Checks that every Rust file is formatted by rustfmt, including files that no manifest names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mapfile -d '' files < <(git ls-files -z --cached --others --exclude-standard -- '*.rs')
[ "${#files[@]}" -gt 0 ] || { echo "git names no Rust file" >&2; exit 1; }
rustfmt --check --edition 2024 "${files[@]}"
echo "${#files[@]} files are as rustfmt writes them"
