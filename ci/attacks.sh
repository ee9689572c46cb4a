#!/usr/bin/env bash
# Counts how many attack programs each preloaded library stops: ci/attacks.sh FOLDER [LIBRARY.so]..
# FOLDER has the programs of mimalloc-bench, built from its folder bench/security with cmake. With
# other libraries, these have columns too.
#
# As in that project, a program that never prints NOT_CAUGHT within a second was stopped. Three
# sizes of a program are one class.
set -euo pipefail
shopt -s extglob
[ -d "${1:-}" ] || { echo "usage: ci/attacks.sh FOLDER [LIBRARY.so]..: no such folder" >&2; exit 2; }
folder=$(realpath "$1")
shift
more=()
for library; do more+=("$(realpath "$library")"); done
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
libraries=()
for name in furlong_malloc{_plain,,_checked,_secure}; do
  cargo build --quiet -p furlong-preload --profile preload --example "$name"
  libraries+=("$target/preload/examples/lib$name.so")
done
libraries+=("${more[@]}")

programs=()
for program in "$folder"/*; do
  [ -f "$program" ] && [ -x "$program" ] && programs+=("$program")
done
[ "${#programs[@]}" -gt 0 ] || { echo "no program is in $folder" >&2; exit 2; }

# Whatever ends a program early is no matter; only its output is.
stops() {
  ! { LD_PRELOAD=$1 timeout 1 "$2" 2>/dev/null || true; } | grep --text --quiet NOT_CAUGHT
}

for library in "${libraries[@]}"; do
  column=$(basename "$library" .so)
  for program in "${programs[@]}"; do
    class=$(basename "$program")
    stopped=0
    if stops "$library" "$program"; then stopped=1; fi
    echo "${class%_@(small|medium|large)} ${column#lib} $stopped"
  done
done 2>/dev/null | awk '
  { if (!($1 in seen)) { seen[$1] = ++rows; row[rows] = $1 }
    if (!($2 in have)) { have[$2] = ++columns; column[columns] = $2 }
    all[$1, $2]++; stopped[$1, $2] += $3; programs[$2]++; total[$2] += $3 }
  END {
    printf "%-32s", "class"
    for (c = 1; c <= columns; c++) printf " %22s", column[c]
    print ""
    for (r = 1; r <= rows; r++) {
      printf "%-32s", row[r]
      for (c = 1; c <= columns; c++)
        printf " %22s", stopped[row[r], column[c]] " of " all[row[r], column[c]]
      print ""
    }
    printf "%-32s", "all"
    for (c = 1; c <= columns; c++) printf " %22s", total[column[c]] " of " programs[column[c]]
    print ""
  }'
