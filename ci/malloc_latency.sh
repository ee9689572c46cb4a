#!/usr/bin/env bash
# Measures the longest wait of a thread in malloc that other threads cause: the preloaded libraries
# beside the C library's allocator and, if installed (Debian: libmimalloc2.0), mimalloc.
# ci/malloc_latency.sh [REPEATS]: as root, for real-time priorities, on at least two CPUs.
#
# Each program runs REPEATS times (3), in turn. Other load can only increase a worst case, so the
# smallest of them is compared with the limit; all are printed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

repeats=${1:-3}
target=${CARGO_TARGET_DIR:-target}
if [ "$(id -u)" -ne 0 ] || [ "$(nproc)" -lt 2 ]; then
  echo "skipped: it wants root, for real-time priorities, and two CPUs"
  exit 0
fi

names=(furlong_malloc furlong_malloc_secure)
for name in "${names[@]}"; do
  cargo build --quiet -p furlong-preload --profile preload --example "$name"
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cc -O2 -Wall -Werror -pthread -o "$folder/latency" crates/furlong-preload/latency/latency.c

declare -A library=([glibc]="")
for name in "${names[@]}"; do
  library[$name]=$PWD/$target/preload/examples/lib$name.so
  [ "${target:0:1}" != / ] || library[$name]=$target/preload/examples/lib$name.so
done
arms=("${names[@]}" glibc)
mimalloc=${MIMALLOC:-$(ldconfig -p | awk '/libmimalloc\.so/ { print $NF; exit }')}
if [ -n "$mimalloc" ]; then
  library[mimalloc]=$mimalloc
  arms+=(mimalloc)
fi

failed=0
# measure MODE LIMIT_US: a limit of 0 is none. It is furlong_malloc's.
measure() {
  local mode=$1 limit=$2 arm round worst
  local -A least
  echo "$mode:"
  for ((round = 0; round < repeats; round++)); do
    for arm in "${arms[@]}"; do
      line=$(LD_PRELOAD=${library[$arm]} timeout 300 "$folder/latency" "$mode") || line="no end"
      printf '  %-22s %s\n' "$arm" "$line"
      worst=$(awk '{ for (at = 1; at < NF; at++) if ($at == "worst_us") print $(at + 1) }' \
        <<<"$line")
      least[$arm]=$(printf '%s\n' "${least[$arm]:-}" "${worst:-}" | sort -g | awk 'NF { print; exit }')
    done
  done
  [ "$limit" -gt 0 ] || return 0
  if awk -v have="${least[furlong_malloc]:-1e9}" -v most="$limit" 'BEGIN { exit !(have <= most) }'; then
    echo "  within $limit us"
  else
    echo "  above $limit us"
    failed=1
  fi
}

measure realtime 300
measure middle 1000
measure purge 2000
measure threads 0
exit "$failed"
