#!/usr/bin/env bash
# The forecasts of `furlong malloc prescribe` beside the peaks of real programs, and the cost of
# recording these: ci/prescribe.sh [OPTION]..
#
# Fails if a forecast is more than 10 % off. Options go to the command: --peers adds other people's
# allocators. Programs that are not installed are left out, and named.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash ci/need.sh jq
cargo build --quiet -p furlong-cli
cargo build --quiet -p furlong-preload --profile preload --examples
furlong=$(realpath "${CARGO_TARGET_DIR:-target}/debug/furlong")
repository=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >tables.py <<'PYTHON'
import json, random
random.seed(1)
rows = {str(i): [random.random() for _ in range(5)] for i in range(30_000)}
rows = json.loads(json.dumps(rows))
groups = {}
for key, row in sorted(rows.items(), key=lambda item: item[1][0]):
    groups.setdefault(int(row[0] * 1000), []).append((key, tuple(row)))
assert len(groups) == 1000
PYTHON
cat >tables.sql <<'SQL'
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)
insert into t select i, 'text' || i * 7 from n;
create index ib on t(b);
select count(*), max(b) from t where b like '%7%';
SQL
for i in $(seq 1500); do
  echo "int f$i(int a) { int s = 0; for (int i = 0; i < a; i++) s += (s & $i) ? i : a ^ s; return s; }"
done >functions.c
cat >server.sh <<'SHELL'
redis-server --port 0 --unixsocket "$1/socket" --save '' --dir "$1" >/dev/null &
until redis-cli -s "$1/socket" ping >/dev/null 2>&1; do sleep 0.01; done
redis-benchmark -s "$1/socket" -q -n 15000 -r 100000 -P 16 -d 180 -t set,lpush,hset >/dev/null
redis-cli -s "$1/socket" shutdown nosave >/dev/null
wait
SHELL

# spent COMMAND..: its processor time in milliseconds, of all its processes, the median of five.
spent() {
  for _ in 1 2 3 4 5; do
    "$@" bash -c "${line[*]@Q} >/dev/null 2>&1; times >spent" >/dev/null 2>&1
    tr 'ms' '  ' <spent | awk 'NR == 2 { printf "%.0f\n", ($1 * 60 + $2 + $3 * 60 + $4) * 1000 }'
  done | sort -n | sed -n 3p
}

failed=0
program() {
  local name=$1 plain recorded
  line=("${@:2}")
  if ! command -v "${needs:-${line[0]}}" >/dev/null; then
    echo "$name: left out, not installed"
    return
  fi
  "$furlong" malloc prescribe -q --check --json result.json "${options[@]}" -- "${line[@]}" >page
  echo "$name: $(jq -r .described result.json)"
  jq -r '.candidates[] | select(.live_peak_kib) |
    [.name, .peak_kib, .live_peak_kib, (.peak_kib / .live_peak_kib - 1) * 100] | @tsv' result.json |
    awk -F '\t' '{ printf "  %-60s %8d KiB, live %8d KiB %+6.1f %%\n", $1, $2, $3, $4 }'
  jq -r '.candidates[] | select(.na or .live_na) | "  \(.name): \(.na // .live_na)"' result.json
  echo "  $(jq -r .choice.sentence result.json)"
  plain=$(spent env)
  recorded=$(spent "$furlong" record malloc -q -o trace --)
  awk -v plain="$plain" -v recorded="$recorded" 'BEGIN {
    printf "  recording: %d ms of processor time instead of %d, %+.0f %%\n",
      recorded, plain, (recorded / plain - 1) * 100 }'
  jq -e '[.candidates[] | select(.live_peak_kib) | (.peak_kib / .live_peak_kib - 1) |
    select(. > 0.1 or . < -0.1)] == []' result.json >/dev/null || failed=1
}

options=("$@")
# The program itself, and no script that selects a version.
python=$(python3 -c 'import sys; print(sys.executable)' || echo python3)
program python3 "$python" tables.py
PYTHONMALLOC=malloc program python3-malloc "$python" tables.py
program gcc gcc -O1 -S -o out.s functions.c
program git git -C "$repository" log -p --stat -200 --no-color
needs=redis-server program redis sh server.sh "$work"
program sqlite3 sqlite3 :memory: '.read tables.sql'
if [ "$failed" -ne 0 ]; then
  echo "a forecast is more than 10 % off"
  exit 1
fi
