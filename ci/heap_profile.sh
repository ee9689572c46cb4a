#!/usr/bin/env bash
# Instructions of real programs with the preloaded allocator, by its heap profile: off, at the
# default interval, and so rare that there are no samples, which leaves the cost of two stacks.
# ci/heap_profile.sh [LIBRARY.so]: another library, to compare one without the profile.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash ci/need.sh valgrind
cargo build --quiet -p furlong-preload --profile preload --example furlong_malloc
library=${1:-${CARGO_TARGET_DIR:-target}/preload/examples/libfurlong_malloc.so}
library=$(realpath "$library")
repository=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >tables.py <<'PYTHON'
import json
rows = [{"a": row, "b": str(row) * 3, "c": [row] * 5} for row in range(12_000)]
for _ in range(5):
    assert json.loads(json.dumps(rows)) == rows
PYTHON
cat >tables.sql <<'SQL'
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 150000)
insert into t select i, 'text' || i * 7 from n;
create index ib on t(b);
select count(*), max(b) from t where b like '%7%';
SQL

# counted VARIABLE..: the instructions of the command, in millions.
counted() {
  env LD_PRELOAD="$library" "$@" valgrind --tool=callgrind --callgrind-out-file=counts \
    "${command[@]}" >/dev/null 2>said || { cat said >&2; exit 1; }
  awk '/^totals:/ { printf "%.1f\n", $2 / 1e6 }' counts
}

program() {
  command -v "$2" >/dev/null || return 0
  command=("${@:2}")
  local name=FURLONG_MALLOC_HEAP_PROFILE off on rare
  off=$(counted A=1)
  on=$(counted "$name=$work/heap")
  rare=$(counted "$name=$work/rare" "${name}_BYTES=999999999")
  awk -v of="$1" -v off="$off" -v on="$on" -v rare="$rare" 'BEGIN {
    printf "%-15s off %7.1f M  on %7.1f M %+.2f %%  no samples %7.1f M %+.2f %%\n",
      of, off, on, (on / off - 1) * 100, rare, (rare / off - 1) * 100 }'
}

python=$(python3 -c 'import sys; print(sys.executable)' || echo python3)
program python3 "$python" tables.py
PYTHONMALLOC=malloc program python3-malloc "$python" tables.py
program git git -C "$repository" log --stat -400
program sqlite3 sqlite3 :memory: '.read tables.sql'
