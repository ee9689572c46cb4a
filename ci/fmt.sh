#!/usr/bin/env bash
# Is every Rust file as rustfmt would write it? Those that no manifest names are asked too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mapfile -d '' files < <(git ls-files -z --cached --others --exclude-standard -- '*.rs')
[ "${#files[@]}" -gt 0 ] || { echo "git names no Rust file" >&2; exit 1; }
rustfmt --check --edition 2024 "${files[@]}"
echo "${#files[@]} files are as rustfmt writes them"
