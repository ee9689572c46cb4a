#!/usr/bin/env bash
# Real searches: each in a new repository of a C program in which one commit adds 5 % of work, and
# the others add a function that nothing calls. Every commit that is measured is built.
# bash ci/bisect.sh [SEARCHES] [COMMITS]. Fails if so many 95 % sets lack the right commit that this
# has a chance of less than 2 %.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
searches=${1:-20} commits=${2:-128}
bash ci/need.sh git cc jq
. ci/home.sh

# program ROUNDS: about 20 ms at 1,000.
program() {
  cat <<C
#include <stdint.h>
#include <stdio.h>
static uint64_t table[4096];
int main(void) {
  uint64_t h = 1;
  for (int round = 0; round < $1; round++)
    for (int at = 0; at < 4096; at++) {
      h = (h ^ (h >> 31) ^ table[at]) * 0x9e3779b97f4a7c15;
      table[at] += h & 255;
    }
  printf("%llx\n", (unsigned long long)h);
}
C
}

# A repository whose commits are made by git's own import, which is fast.
repository() {
  local right=$1 number
  git init --quiet --initial-branch main .
  for ((number = 0; number <= commits; number++)); do
    local work=1000 what="an unused function"
    [ "$number" -lt "$right" ] || work=1050
    [ "$number" -ne "$right" ] || what="more work"
    local text dead
    text=$(program "$work")
    dead="int unused_$number(int n) { for (int i = $number; i > 0; i--) n = n * 31 + i; return n; }"
    printf 'commit refs/heads/main\ncommitter a <a@b> %d +0000\n' $((1700000000 + number))
    printf 'data %d\n%s\n' "${#what}" "$what"
    printf 'M 100644 inline work.c\ndata %d\n%s\n' "${#text}" "$text"
    printf 'M 100644 inline unused_%d.c\ndata %d\n%s\n' "$number" "${#dead}" "$dead"
  done | git fast-import --quiet
}

missed=0
printf '%s\n' "search  right  likeliest  probability  in set  samples  builds  seconds"
for ((search = 1; search <= searches; search++)); do
  export XDG_CACHE_HOME=$home/cache-$search
  mkdir "$home/$search"
  cd "$home/$search"
  right=$((1 + RANDOM % commits))
  repository "$right"
  "$furlong" bisect "main~$commits" main --build 'cc -O2 -o work unused_*.c work.c' --max-time 120 \
    --quiet --json found.json -- ./work >answer 2>&1 || { cat answer >&2; exit 1; }
  read -r held likeliest probability size samples builds seconds < <(jq -r '
    .commits as $all | .candidates as $set |
    [($set | map(select(.subject == "more work")) | length),
     ($set[0].commit as $one | $all | index($one) + 1), $set[0].probability, ($set | length),
     .samples, .builds, .seconds] | @tsv' found.json)
  [ "$held" -eq 1 ] || missed=$((missed + 1))
  printf '%6d  %5d  %9d  %11.3f  %6d  %7d  %6d  %7.0f%s\n' "$search" "$right" "$likeliest" \
    "$probability" "$size" "$samples" "$builds" "$seconds" \
    "$([ "$held" -eq 1 ] || echo '  the set lacks it')"
  cd "$home"
  rm -rf "${home:?}/$search" "$XDG_CACHE_HOME"
done

allowed=$(bash "$here/ci/allowed.sh" "$searches")
echo "$missed of $searches sets lack the right commit; at most $allowed may"
[ "$missed" -le "$allowed" ]
