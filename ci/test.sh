#!/usr/bin/env bash
# Runs the test command of README.md, letter for letter.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What the lab measures with, a database, a cluster, and the programs that the allocator serves.
bash ci/need.sh valgrind strace /usr/bin/time hyperfine initdb openssl munged slurmctld slurmd sbatch \
  python3 perl jq git make gcc g++ node sqlite3 redis-server redis-benchmark

# So a test that cannot run one of them fails.
export FURLONG_PROGRAMS_ARE_THERE=1

mapfile -t commands < <(grep -E '^cargo test' README.md)
if [ "${#commands[@]}" -ne 1 ]; then
  echo "README.md must have exactly one line that begins with the test command" >&2
  exit 1
fi
echo "+ ${commands[0]}"
bash -euc "${commands[0]}"
