#!/usr/bin/env bash
# Pairs of commands that people compare: the time, the lines and the answer of `furlong compare`, and
# beside them the time and the answer of hyperfine on the same machine. Fails if an answer is longer
# than twelve lines, or if its lines are wider than the terminal.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh hyperfine zstd gzip gawk python3 git cc
cargo build --release --quiet
furlong=$PWD/target/release/furlong
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME=$work/data NO_COLOR=1

# What they work on: numbers that do not compress away, and two repositories.
seq 1 3000000 | awk '{ print ($1 * 7919) % 1000003 }' >"$work/numbers"
for files in 200 2000; do
  mkdir "$work/$files"
  for ((file = 0; file < files; file++)); do echo "$file" >"$work/$files/$file"; done
  git -C "$work/$files" init -q
  git -C "$work/$files" add .
  git -C "$work/$files" -c user.name=a -c user.email=a@example.org commit -qm all
done
cat >"$work/program.c" <<'C'
#include <stdio.h>
int main(void) { for (int line = 0; line < 9; line++) printf("%d\n", line); }
C

cd "$work"
loop() { echo "awk 'BEGIN { for (i = 0; i < $1; i++) sum += i }'"; }
pairs=(
  'sleep 0.1' 'sleep 0.103'
  'sleep 0.01' 'sleep 0.02'
  'true' 'echo'
  'gzip -c numbers' 'zstd -c numbers'
  'sort --parallel=1 numbers' 'sort --parallel=2 numbers'
  'grep -c 99 numbers' "awk '/99/ { n++ } END { print n }' numbers"
  'python3 -c pass' 'python3 -S -c pass'
  "$(loop 3000000)" "$(loop 3090000)"
  "$(loop 1000000)" "$(loop 1000000)"
  'git -C 200 status' 'git -C 2000 status'
  'cc -O0 -c program.c' 'cc -O2 -c program.c'
)

seconds() { awk -v ns="$(($(date +%s%N) - $1))" 'BEGIN { printf "%.1f s", ns / 1e9 }'; }
failed=
for ((at = 0; at < ${#pairs[@]}; at += 2)); do
  a=${pairs[at]} b=${pairs[at + 1]}
  echo "== $a / $b"
  for columns in 60 80; do
    begun=$(date +%s%N)
    COLUMNS=$columns "$furlong" compare "$a" "$b" >out 2>err </dev/null || failed=yes
    lines=$(wc -l <out) widest=$(LC_ALL=C.UTF-8 wc -L <out)
    echo "furlong, $columns columns: $(seconds "$begun"), $lines lines, at most $widest wide"
    if [ "$lines" -gt 12 ] || [ "$widest" -gt "$columns" ]; then failed=yes; fi
  done
  sed 's/^/  /' out
  begun=$(date +%s%N)
  COLUMNS=80 hyperfine --style basic "$a" "$b" >out 2>err </dev/null || failed=yes
  echo "hyperfine: $(seconds "$begun"), $(wc -l <out) lines"
  sed -n '/^Summary/,$p' out | sed '1d;/^$/d'
done
[ -z "$failed" ] || { echo "an answer is too long or too wide, or a command failed" >&2; exit 1; }
