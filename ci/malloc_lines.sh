#!/usr/bin/env bash
# Counts the cache lines that move between processors for each pair of malloc and free, with 2, 8
# and 64 threads: the preloaded libraries, the C library's allocator, and the libraries that are
# named: ci/malloc_lines.sh [LIBRARY.so]..
#
# Valgrind runs one thread at a time and traces each access, so the counts are exact, whatever the
# machine, and each thread stands for a processor with a cache of its own. A line moves if a thread
# reads what it does not have and another one has written last, or writes what others have. Only what
# happens inside of the allocator's functions counts. The program touches each block itself before it
# frees it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash ci/need.sh valgrind cc python3

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cc -O2 -Wall -Werror -pthread -o "$folder/lines" crates/furlong-preload/lines/lines.c
libraries=("")
for name in furlong_malloc furlong_malloc_plain furlong_malloc_secure; do
  cargo build --quiet -p furlong-preload --profile preload --example "$name"
  libraries+=("$(realpath "${CARGO_TARGET_DIR:-target}")/preload/examples/lib$name.so")
done
for library in "$@"; do
  # The loader passes over a library that is not there, and would count the C library.
  [ -r "$library" ] || { echo "there is no library $library" >&2; exit 2; }
  libraries+=("$(realpath "$library")")
done

cat >"$folder/count.py" <<'PYTHON'
import sys

trace, mark = open(sys.argv[1]), int(open(sys.argv[2]).readline(), 16)
# By line: the thread that wrote it last, and those that have it.
writer, have = {}, {}
thread, inside, counts, moved, pairs = 0, False, False, 0, 0
for line in trace:
    kind = line[1:2]
    if line[0] != " " or kind not in "LSM":
        continue
    place, size = line[3:].split(",")
    place = int(place, 16)
    what = place - mark
    if 0 <= what < 4 + 256:
        if what == 0:
            inside = counts
        elif what == 1:
            inside = False
        elif what == 2:
            counts = True
        elif what == 3:
            pairs += counts
        else:
            thread = what - 4
        continue
    for number in range(place >> 6, (place + int(size) - 1 >> 6) + 1):
        sharers = have.setdefault(number, {thread})
        if kind == "L":
            if thread not in sharers:
                moved += inside and number in writer
                sharers.add(thread)
        else:
            if sharers != {thread}:
                moved += inside
                have[number] = {thread}
            writer[number] = thread
print(f"{moved / pairs:8.2f}")
PYTHON

# count LIBRARY WORKLOAD THREADS ROUNDS
count() {
  LD_PRELOAD=$1 valgrind --quiet --tool=lackey --trace-mem=yes --basic-counts=no \
    --log-file="$folder/trace" "$folder/lines" "$2" "$3" "$4" >"$folder/mark"
  python3 "$folder/count.py" "$folder/trace" "$folder/mark"
}

printf '%-24s %-8s %8s %8s %8s\n' library workload "2" "8" "64 threads"
for library in "${libraries[@]}"; do
  name=$(basename "${library:-libglibc.so}" .so)
  for workload in own pass one kept; do
    printf '%-24s %-8s' "${name#lib}" "$workload"
    for threads in "2 64" "8 64" "64 16"; do
      read -ra sizes <<<"$threads"
      figure=$(count "$library" "$workload" "${sizes[@]}")
      printf ' %s' "$figure"
    done
    echo
  done
done
