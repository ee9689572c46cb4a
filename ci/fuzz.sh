#!/usr/bin/env bash
# Runs each target of fuzz/ for a bounded time: ci/fuzz.sh [OPTION].. [TARGET]..
#   --runs N, --seconds N   executions, or time, for each target; 10 seconds by default
#   --without-asan          many times as fast, without AddressSanitizer and without tracing the
#                           operands of comparisons: for long runs, after a short one with both
#   --jobs N                targets side by side; the number of processors by default
#   --keep                  then keeps the found inputs in fuzz/corpus, minimised
# All targets if none is named. Exits with 1 if one has failed, and says how to run it again. It
# needs neither nightly nor cargo-fuzz: the flags are those that cargo-fuzz passes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  echo "targets: ${all[*]}" >&2
  exit 2
}

all=()
for file in fuzz/fuzz_targets/*.rs; do all+=("$(basename "$file" .rs)"); done
bound=-max_total_time=10 kind=asan keep=no jobs=$(nproc) targets=()
while [ "$#" -gt 0 ]; do
  case "$1" in
    --runs | --seconds | --jobs)
      [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] || usage
      case "$1" in
        --runs) bound=-runs=$2 ;;
        --seconds) bound=-max_total_time=$2 ;;
        *) jobs=$2 ;;
      esac
      shift
      ;;
    --without-asan) kind=plain ;;
    --keep) keep=yes ;;
    *)
      [[ " ${all[*]} " == *" $1 "* ]] || usage
      targets+=("$1")
      ;;
  esac
  shift
done
[ "${#targets[@]}" -gt 0 ] || targets=("${all[@]}")

bash ci/need.sh g++

# Operations that reach far are short, and those on memory that is really touched take long; texts
# need more room.
declare -A max_len=([malloc]=128 [maps]=2048 [vmtrace]=4096)

flags="--cfg fuzzing -Cpasses=sancov-module -Cdebug-assertions -Ccodegen-units=1"
coverage=(level=4 inline-8bit-counters pc-table)
# Numbers of whom few bytes choose are met soon without: in the same time more is reached.
[ "$kind" = plain ] || coverage+=(trace-compares)
for flag in "${coverage[@]}"; do flags+=" -Cllvm-args=-sanitizer-coverage-$flag"; done
flags+=" -Cllvm-args=-simplifycfg-branch-fold-threshold=0"
if [ "$kind" = asan ]; then
  # The sanitizer comes with the stable toolchain; only its flag is called unstable.
  flags+=" -Zsanitizer=address"
  export RUSTC_BOOTSTRAP=1
fi
host=$(rustc -vV | sed -n 's/^host: //p')
built=${CARGO_TARGET_DIR:-target}/fuzz-$kind
bins=()
for target in "${targets[@]}"; do bins+=(--bin "$target"); done
# With an explicit target the flags stay away from build scripts.
RUSTFLAGS=$flags cargo build --quiet --release --manifest-path fuzz/Cargo.toml --target "$host" \
  --target-dir "$built" "${bins[@]}"

# said LOG NAME: the last figure of that name.
said() {
  grep -oE "$2:? +[0-9]+" "$1" | tail -n 1 | grep -oE '[0-9]+$' || echo 0
}

# Inputs that were found gather beside the build; those that are kept are read, not changed.
found=${CARGO_TARGET_DIR:-target}/fuzz-found
row='%-8s %12s %10s %9s %9s %7s\n'

# fuzz TARGET: runs it, prints its row, and leaves a file beside its log if it passed.
fuzz() {
  local target=$1 bin=$built/$host/release/$1 log=$found/$1.log code=0 arguments words input least
  mkdir -p "$found/$target" "fuzz/corpus/$target" "fuzz/artifacts/$target"
  rm -f "$found/$target.passed"
  arguments=("$bound" -print_final_stats=1 -timeout=60 "-max_len=${max_len[$target]:-512}"
    "-artifact_prefix=fuzz/artifacts/$target/")
  words=fuzz/dictionaries/$target.dict
  [ ! -f "$words" ] || arguments+=("-dict=$words")
  # Its book of how rare everything is that was reached takes a third of the time, and more later.
  [ "$kind" = asan ] || arguments+=(-entropic=0)
  "$bin" "${arguments[@]}" "$found/$target" "fuzz/corpus/$target" >"$log" 2>&1 </dev/null || code=$?
  # shellcheck disable=SC2059
  printf "$row" "$target" "$(said "$log" stat::number_of_executed_units)" \
    "$(said "$log" stat::average_exec_per_sec)" "$(said "$log" ' cov')" "$(said "$log" ' ft')" \
    "$(said "$log" ' corp')"
  if [ "$code" -ne 0 ]; then
    input=$(grep -oE 'Test unit written to .*' "$log" | tail -n 1 | cut -d ' ' -f 5 || true)
    {
      grep -m 1 -A 3 -E 'panicked at|ERROR: ' "$log" || tail -n 20 "$log"
      echo "$target: all of it is in $log"
      echo "$target: the input is ${input:-unknown}; again: $bin $input"
      echo "$target: or, with nightly and cargo-fuzz: cargo +nightly fuzz run $target $input"
    } >&2
    return
  fi
  if [ "$keep" = yes ]; then
    least=$(mktemp -d)
    "$bin" -set_cover_merge=1 -use_counters=0 "${arguments[@]:3}" "$least" "$found/$target" \
      "fuzz/corpus/$target" >>"$log" 2>&1 </dev/null
    [ -n "$(ls -A "$least")" ] || { echo "$target: nothing is left of its corpus" >&2; return; }
    find "fuzz/corpus/$target" -type f -delete
    cp "$least"/* "fuzz/corpus/$target/"
    rm -rf "$least"
    echo "$target: $(find "fuzz/corpus/$target" -type f | wc -l) inputs are kept"
  fi
  : >"$found/$target.passed"
}

# shellcheck disable=SC2059
printf "$row" target executions per-second coverage features corpus
running=0
for target in "${targets[@]}"; do
  if [ "$running" -ge "$jobs" ]; then
    wait -n || true
    running=$((running - 1))
  fi
  fuzz "$target" &
  running=$((running + 1))
done
wait

failed=()
for target in "${targets[@]}"; do
  [ -e "$found/$target.passed" ] || failed+=("$target")
done
if [ "${#failed[@]}" -gt 0 ]; then
  # Where a record sees it.
  echo "not passed: ${failed[*]}"
  exit 1
fi
