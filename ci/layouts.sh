#!/usr/bin/env bash
# Inert changes to the programs of ci/layouts, whose time depends on the place of their functions:
# each commit adds a function that nothing calls, and which moves the others. Counts how often
# neighbours are called different: by hyperfine (Welch's test of its times), by `furlong compare`,
# and by `furlong ab --layouts`. Then a true 2 % with those layouts, and with as many as it names.
# bash ci/layouts.sh [CHANGES] [LAYOUTS] [PROGRAM]..: some of them, as one whose spread wants hundreds
# of layouts takes an hour. Fails if layouts err more than 5 % explains, or if a true
# 2 % is found in less than 80 % with the layouts that furlong names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
changes=${1:-40} layouts=${2:-8} time_s=5
programs=("${@:3}")
[ ${#programs[@]} -gt 0 ] || programs=(recursion interpreter loops)
bash ci/need.sh git cc jq hyperfine
. ci/home.sh
unset CARGO_TARGET_DIR RUSTFLAGS

# commit NUMBER ROUNDS TAG: the program with the inert function of that number.
commit() {
  local number=$1 line lines=$((1 + $1 * 7 % 13))
  {
    sed "s/^const ROUNDS: u32 = .*/const ROUNDS: u32 = $2;/" "$here/ci/layouts/$program.rs"
    printf '\n#[used]\nstatic UNUSED_%d: fn(u64) -> u64 = u%d;\n' "$number" "$number"
    printf 'fn u%d(mut h: u64) -> u64 {\n' "$number"
    for ((line = 0; line < lines; line++)); do
      printf '    h = (h ^ (h >> %d)).wrapping_mul(%d);\n' $((line + 3)) $((number * 100 + 2 * line + 1))
    done
    printf '    h\n}\n'
  } >src/main.rs
  git commit --quiet --all --message "$3"
  git tag "$3"
}

# ab BASE HEAD LAYOUTS: the direction that it found, or none, and the layouts that it names. Each
# layout has the same time.
ab() {
  "$furlong" ab "$1" "$2" --layouts "$3" --max-time $((time_s * $3 / layouts)) --quiet --db none --html none \
    --json found.json -- ./target/release/program >answer 2>&1 || { cat answer >&2; exit 1; }
  jq -r '.experiments[0].workloads[0].comparisons[] | select(.metric == "wall_s") |
    [.direction // "none", .by_layout.needed, (.by_layout.share_pct // 0 | round)] | @tsv' found.json
}

total=0 failed=
printf '%s\n' "program      changes  hyperfine  compare  layouts  a true 2 %"
for program in "${programs[@]}"; do
  mkdir -p "$home/$program/src"
  cd "$home/$program"
  git init --quiet --initial-branch main
  printf '[package]\nname = "program"\nversion = "0.1.0"\nedition = "2024"\n' >Cargo.toml
  printf 'target\nCargo.lock\n' >.gitignore
  touch src/main.rs
  git add .
  by_hyperfine=0 by_compare=0 by_layouts=0 shares=()
  for ((change = 0; change <= changes; change++)); do
    commit "$change" 100 "same-$change"
    cargo build --quiet --release
    cp target/release/program "now-$((change % 2))"
    [ "$change" -gt 0 ] || continue
    pair=("./now-$(((change + 1) % 2))" "./now-$((change % 2))")
    hyperfine --shell=none --warmup 3 --runs 200 --export-json theirs.json "${pair[@]}" \
      >answer 2>&1 || { cat answer >&2; exit 1; }
    jq -e "$(cat "$here/ci/welch.jq") | fabs < 1.96" theirs.json >answer ||
      by_hyperfine=$((by_hyperfine + 1))
    "$furlong" compare --quiet --db none --html none --max-time "$time_s" --json found.json "${pair[@]}" \
      >answer 2>&1 || { cat answer >&2; exit 1; }
    found=$(jq -r '.experiments[0].workloads[0].comparisons[] | select(.metric == "wall_s") |
      .direction // "none"' found.json)
    [ "$found" = none ] || [ "$found" = null ] || by_compare=$((by_compare + 1))
    read -r found _ share < <(ab "same-$((change - 1))" "same-$change" "$layouts")
    [ "$found" = none ] || by_layouts=$((by_layouts + 1))
    shares+=("$share")
  done
  total=$((total + by_layouts))

  # A true 2 %, with further functions, until so many layouts are enough.
  told="" wanted=$layouts tries=10
  for ((again = 0; again < 3; again++)); do
    right=0 named=()
    for ((try = 0; try < tries; try++)); do
      number=$((changes + 1 + 2 * try + 100 * again))
      commit "$number" 100 "base-$number"
      commit "$((number + 1))" 102 "more-$number"
      read -r found needed _ < <(ab "base-$number" "more-$number" "$wanted")
      [ "$found" != worse ] || right=$((right + 1))
      named+=("$needed")
    done
    told+="$wanted layouts: $right of $tries; "
    next=$(printf '%s\n' "${named[@]}" | sort -n | sed -n $((tries / 2 + 1))p)
    if [ $((10 * right)) -ge $((8 * tries)) ] || [ "$next" -le "$wanted" ]; then break; fi
    wanted=$next
  done
  [ $((10 * right)) -ge $((8 * tries)) ] || failed=yes
  printf '%-11s  %7d  %9d  %7d  %7d  %s\n' "$program" "$changes" "$by_hyperfine" "$by_compare" \
    "$by_layouts" "${told%; }"
  printf '%s\n' "${shares[@]}" | sort -n | awk '{ all[NR] = $1 }
    END { printf "             share of the variance that layouts explain: median %d %%\n", all[int((NR + 1) / 2)] }'
done

all=$((${#programs[@]} * changes))
allowed=$(bash "$here/ci/allowed.sh" "$all")
echo "$total of $all inert changes are called different with layouts; at most $allowed may"
[ "$total" -le "$allowed" ] && [ -z "$failed" ]
