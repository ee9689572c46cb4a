#!/usr/bin/env bash
# Page faults, peak memory and processor time of real programs with the preloaded allocator, by
# memory that is to have huge pages: ci/huge_pages.sh [LIBRARY.so]..
#
# The last rows are of a program that frees most of its blocks: the memory that it still has, and by
# how much the machine's free memory has become less. The second also changes with other programs. It
# is more than the first if a process gives back parts of huge pages that are not split.
#
# Each figure is the median of five runs. Other libraries have rows too. Programs that are not
# installed are left out.
set -euo pipefail
others=()
for library; do others+=("$(realpath "$library")"); done
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cargo build --quiet -p furlong-preload --profile preload --example furlong_malloc
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
library=$target/preload/examples/libfurlong_malloc.so
repository=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >tables.py <<'PYTHON'
import json, random
random.seed(1)
rows = {str(i): [random.random() for _ in range(5)] for i in range(60_000)}
rows = json.loads(json.dumps(rows))
groups = {}
for key, row in sorted(rows.items(), key=lambda item: item[1][0]):
    groups.setdefault(int(row[0] * 1000), []).append((key, tuple(row)))
assert len(groups) == 1000
PYTHON
cat >tables.sql <<'SQL'
create table t(a integer, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000)
insert into t select i, printf('%020d', i * 7919 % 300000), i * 0.5 from n;
create index ib on t(b);
select count(*), sum(x.c) from t x join t y on x.b = y.b where x.a % 3 = 0;
delete from t where a % 2 = 0;
SQL
for i in $(seq 1500); do
  echo "int f$i(int a) { int s = 0; for (int i = 0; i < a; i++) s += (s & $i) ? i : a ^ s; return s; }"
done >functions.c

cat >freed.c <<'C'
/* Fills 469 MiB with blocks of 30,000 bytes, frees all but every eighth, and works a little for 3
   seconds. Prints its resident memory before it exits, and by how much the machine's free memory is
   less than when it began, in MiB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The sum of the numbers behind a name in a file. */
static long sum(const char *file, const char *name) {
  char line[256], *at;
  long all = 0;
  FILE *lines = fopen(file, "r");
  while (lines && fgets(line, sizeof line, lines))
    if ((at = strstr(line, name))) all += atol(at + strlen(name));
  if (lines) fclose(lines);
  return all;
}

/* Free pages, and those that processors keep for themselves, which MemFree leaves out. */
static long free_pages(void) {
  return sum("/proc/zoneinfo", "pages free ") + sum("/proc/zoneinfo", " count:");
}

int main(void) {
  enum { BLOCKS = 16384, SIZE = 30000 };
  static char *blocks[BLOCKS];
  long before = free_pages();
  for (int at = 0; at < BLOCKS; at++) memset(blocks[at] = malloc(SIZE), 1, SIZE);
  for (int at = 0; at < BLOCKS; at++)
    if (at % 8) free(blocks[at]);
  for (int times = 0; times < 300; times++) {
    for (int at = 0; at < 100; at++) {
      char *volatile block = malloc(1000 + at * 1000);
      *block = 1;
      free(block);
    }
    usleep(10000);
  }
  long resident = sum("/proc/self/status", "VmRSS:") / 1024;
  printf("%ld %ld\n", resident, (before - free_pages()) * (sysconf(_SC_PAGESIZE) >> 10) / 1024);
  return 0;
}
C
if command -v cc >/dev/null; then cc -O1 -o freed freed.c; fi

# A server that is filled. The faults and the time of its client are counted, too.
redis() {
  redis-server --port 0 --unixsocket "$work/socket" --save '' --daemonize no >/dev/null &
  local server=$!
  until [ -S "$work/socket" ]; do sleep 0.01; done
  unset LD_PRELOAD
  redis-benchmark -s "$work/socket" -q -n 200000 -r 200000 -P 16 -d 180 -t set,lpush,hset >/dev/null
  redis-cli -s "$work/socket" shutdown nosave
  wait "$server"
}
export -f redis
export work repository

# The third number of each row of five, of every column on its own.
median() {
  awk '{ for (c = 1; c <= NF; c++) v[c, NR] = $c }
    END { for (c = 1; c <= NF; c++) { n = NR
      for (i = 1; i <= n; i++) { least = 0
        for (j = 1; j <= n; j++) least += v[c, j] < v[c, i] || (v[c, j] == v[c, i] && j < i)
        if (least == int(n / 2)) printf "%s ", v[c, i] } }
      print "" }'
}

freed() {
  for _ in 1 2 3 4 5; do
    FURLONG_MALLOC_HUGE_PAGES=$2 LD_PRELOAD=$1 ./freed
  done | median | {
    read -r resident missing
    printf '%-14s %-24s %8d MiB resident, %d MiB missing in the machine\n' freed \
      "$(basename "$1" .so) $2" "$resident" "$missing"
  }
}

row() {
  local name=$1 preload=$2 pages=$3
  shift 3
  for _ in 1 2 3 4 5; do
    FURLONG_MALLOC_HUGE_PAGES=$pages /usr/bin/time -qf '%R %M %U %S' -o "$work/used" \
      env LD_PRELOAD="$preload" "$@" >/dev/null 2>&1 || { echo "$name failed" >&2; exit 1; }
    cat "$work/used"
  done | median | {
    read -r faults peak user system
    printf '%-14s %-24s %8d faults %8.1f MiB %6.2f s\n' "$name" "$(basename "$preload" .so) $pages" \
      "$faults" "$(bc -l <<<"$peak / 1024")" "$(bc -l <<<"$user + $system")"
  }
}

program() {
  command -v "$2" >/dev/null || return 0
  local command=("${@:2}")
  [ "$2" != redis-server ] || command=(bash -c redis)
  for pages in off objects arenas; do row "$1" "$library" "$pages" "${command[@]}"; done
  for other in "${others[@]}"; do row "$1" "$other" - "${command[@]}"; done
}

program python3 "$(python3 -c 'import sys; print(sys.executable)')" tables.py
PYTHONMALLOC=malloc program python3-malloc "$(python3 -c 'import sys; print(sys.executable)')" tables.py
program gcc "$(gcc -print-prog-name=cc1)" -quiet -O1 functions.c -o functions.s
program git git -C "$repository" pack-objects --all --stdout --revs --threads=1 -q --no-reuse-delta
program sqlite3 sqlite3 :memory: '.read tables.sql'
program redis redis-server
if [ -x freed ]; then
  for pages in off objects arenas; do freed "$library" "$pages"; done
  for other in "${others[@]}"; do freed "$other" ""; done
fi
