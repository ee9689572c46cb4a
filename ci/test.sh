#!/usr/bin/env bash
# Runs the test command that README.md names, letter for letter.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh valgrind strace

mapfile -t commands < <(grep -E '^cargo test' README.md)
if [ "${#commands[@]}" -ne 1 ]; then
  echo "README.md must have exactly one line that begins with the test command" >&2
  exit 1
fi
echo "+ ${commands[0]}"
bash -euc "${commands[0]}"
