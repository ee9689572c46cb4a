#!/usr/bin/env bash
# A history of 1,000,000 points on a PostgreSQL server: the runs of 100 comparisons of ten commands,
# each a thousand times. Prints how long `furlong history` judges the 1,000 series, and for the pages
# of `furlong serve` the time of each and of its queries. bash ci/history.sh [RUNS]
# Fails if judging takes more than a minute, if a page of 50 ms or more takes more than three times its
# queries, or if a query reads a whole table of the samples.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
runs=${1:-1000} comparisons=100
bash ci/need.sh git cc jq curl initdb psql
. ci/home.sh
cargo build --quiet --release -p furlong-cli --no-default-features --features team
. ci/postgres.sh
server=
end() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  end_postgres
  rm -rf "$home"
}
trap end EXIT

commands=()
for ((arm = 1; arm <= 10; arm++)); do
  commands+=("true $arm")
done
"$furlong" compare "${commands[@]}" --name 'c 0' --blocks 3 --db "$database" --quiet --html none >/dev/null

# Copies of that run: at another time, under another name, with times that vary by 1 %. Those of every
# tenth comparison are 5 % longer from its middle on.
began=$SECONDS
sql "
SET session_replication_role = replica;
SELECT setseed(0.5);
CREATE TEMP TABLE copies AS SELECT c, n, 1000000 + c * 10000 + n AS id,
    'copy' || c || 'x' || n AS run, 1700000000000 + n * 3600000::bigint + c AS began
  FROM generate_series(1, $comparisons) AS c, generate_series(1, $runs) AS n;
INSERT INTO runs OVERRIDING USER VALUE SELECT (jsonb_populate_record(runs, jsonb_build_object('id', copies.run,
    'began', copies.began, 'started', to_char(to_timestamp(copies.began / 1000), 'YYYY-MM-DD\"T\"HH24:MI:SS+00:00')))).*
  FROM runs, copies;
INSERT INTO experiments OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(experiments,
    jsonb_build_object('id', copies.id, 'run', copies.run, 'began', copies.began,
    'comparison', 'c ' || c, 'name', 'compare c ' || c))).* FROM experiments, copies;
INSERT INTO workloads OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(workloads,
    jsonb_build_object('id', copies.id, 'experiment', copies.id))).* FROM workloads, copies;
INSERT INTO arms SELECT copies.id, position, name, na FROM arms, copies;
INSERT INTO blocks SELECT copies.id, number, seed, finished FROM blocks, copies;
INSERT INTO samples SELECT copies.id, block, position, runner, elapsed_s, operations, digest, failure
  FROM samples, copies;
INSERT INTO sample_values SELECT copies.id, block, position, metric,
    value * (1 + 0.01 * (random() + random() + random() - 1.5)) *
      CASE WHEN c % 10 = 0 AND 2 * n > $runs THEN 1.05 ELSE 1 END
  FROM sample_values, copies WHERE metric IN ('wall_s', 'user_s');
ANALYZE;" >/dev/null
echo "$((comparisons * runs)) runs with $(sql 'SELECT count(*) FROM sample_values') values, made in $((SECONDS - began)) s:" \
  "$(sql "SELECT pg_size_pretty(pg_database_size('postgres'))")"

# What a session has read is counted a moment after its end.
sleep 2
sql "SELECT pg_stat_reset()" >/dev/null
began=$EPOCHREALTIME
"$furlong" history --db "$database" --last "$runs" --json "$home/found.json" >"$home/out"
judged=$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
echo "furlong history: $judged s, $(jq '[.. | .points? // empty | length] | "\(length) series, \(add) points"' -r "$home/found.json")"

"$furlong" serve --db "$database" --listen 127.0.0.1:0 --quiet >"$home/address" &
server=$!
for ((n = 0; n < 200; n++)); do
  [ ! -s "$home/address" ] || break
  sleep 0.1
done
address=$(head -1 "$home/address")
address=${address%/}
sql "ALTER SYSTEM SET log_min_duration_statement = 0" && sql "SELECT pg_reload_conf()" >/dev/null
sleep 0.5

failed=
# page NAME PATH: fetches it, and compares its time with that of its queries.
page() {
  local lines took queries
  lines=$(wc -l <"$pg_log")
  took=$(curl --silent --show-error --fail --output "$home/page" --write-out '%{time_total}' "$address$2")
  sleep 0.3
  queries=$(tail -n "+$((lines + 1))" "$pg_log" | grep -o 'duration: [0-9.]*' |
    awk '{ ms += $2; n++ } END { printf "%.1f %d", ms, n }')
  awk -v name="$1" -v took="$took" -v q="$queries" -v bytes="$(wc -c <"$home/page")" 'BEGIN {
    split(q, of, " ")
    printf "%-34s %8.1f ms, its queries %8.1f ms (%.1f times), %d bytes\n", name, 1000 * took, of[1], 1000 * took / of[1], bytes
    exit 1000 * took > 50 && 1000 * took > 3 * of[1]
  }' || failed=yes
}
of="experiment=compare%20c%2010&workload=commands&arm=true%202"
page "every comparison" "/"
page "every comparison, again" "/"
page "runs of a comparison" "/experiments/compare%20c%2010"
page "a run" "/runs/copy10x$runs"
page "a run, again" "/runs/copy10x$runs"
page "another run" "/runs/copy11x$runs"
page "two runs" "/compare?base=copy10x1&with=copy10x$runs"
page "a series" "/metric?$of"
page "a series of $runs runs" "/metric?$of&last=$((runs < 1000 ? runs : 1000))"
grep -q 'wall_s' "$home/page"

echo "tables read from end to end, by the pages and furlong history:"
# shellcheck disable=SC2016 # for the database
read_whole=$(sql "SELECT relname || ' ' || seq_scan FROM pg_stat_user_tables
  WHERE seq_scan > 0 AND relname IN ('samples', 'sample_values', 'blocks', 'arms', 'workloads')")
echo "${read_whole:-none}"
awk -v judged="$judged" 'BEGIN { exit judged > 60 }' || { echo "judging takes more than a minute" >&2; failed=yes; }
[ -z "$read_whole" ] || failed=yes
[ -z "$failed" ]
