#!/usr/bin/env bash
# Measures what the rest of a process costs a thread in malloc, such as the longest wait that other
# threads cause: the preloaded libraries beside the C library's allocator and, if installed (Debian:
# libmimalloc2.0) or named by MIMALLOC, mimalloc.
# ci/malloc_latency.sh [REPEATS]: as root, for real-time priorities, on at least two CPUs.
#
# Each program runs REPEATS times (3), in turn. Other load can only increase a figure, so the
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
cc -O2 -Wall -Werror -pthread -o "$folder/latency" crates/furlong-preload/latency/latency.c -ldl

declare -A library=([glibc]="")
for name in "${names[@]}"; do
  library[$name]=$PWD/$target/preload/examples/lib$name.so
  [ "${target:0:1}" != / ] || library[$name]=$target/preload/examples/lib$name.so
done
arms=("${names[@]}" glibc)
mimalloc=${MIMALLOC:-$(ldconfig -p | awk '/libmimalloc\.so/ { print $NF; exit }')}
if [ -n "$mimalloc" ]; then
  # The loader passes over a library that is not there, and would measure the C library.
  [ -r "$mimalloc" ] || { echo "there is no library $mimalloc" >&2; exit 2; }
  library[mimalloc]=$mimalloc
  arms+=(mimalloc)
fi

failed=0
# measure MODE FIGURE LIMIT: says if furlong_malloc's FIGURE is at most LIMIT. A limit that begins with
# x is a multiple of mimalloc's figure. Without a limit the figures are only printed.
measure() {
  local mode=$1 figure=$2 limit=${3:-} arm line value
  local -A least=()
  echo "$mode:"
  for ((round = 0; round < repeats; round++)); do
    for arm in "${arms[@]}"; do
      line=$(LD_PRELOAD=${library[$arm]} timeout 300 "$folder/latency" "$mode") || line="no end"
      printf '  %-22s %s\n' "$arm" "$line"
      value=$(awk -v name="$figure" '{ for (at = 1; at < NF; at++) if ($at == name) print $(at + 1) }' \
        <<<"$line")
      least[$arm]=$(printf '%s\n' "${least[$arm]:-}" "$value" | sort -g | awk 'NF { print; exit }')
    done
  done
  [ -n "$limit" ] || return 0
  if [ "${limit:0:1}" = x ]; then
    [ -n "${least[mimalloc]:-}" ] || { echo "  no mimalloc to compare $figure with"; return 0; }
    limit=$(awk -v times="${limit:1}" -v theirs="${least[mimalloc]}" 'BEGIN { print times * theirs }')
  fi
  if awk -v have="${least[furlong_malloc]:-1e9}" -v most="$limit" 'BEGIN { exit !(have <= most) }'; then
    echo "  $figure: at most $limit"
  else
    echo "  $figure: above $limit"
    failed=1
  fi
}

measure realtime worst_us 300
measure middle worst_us 1000
measure purge worst_us 2000
measure threads rss_mb x2
# No limit: the time is mostly that of page faults, and mimalloc's memory has huge pages.
measure sleepers ns
measure holes ns x1.2
measure zones drop_ns x1.2
measure zones ns x1.2
exit "$failed"
