#!/usr/bin/env bash
# Pull requests that change nothing, on a package with four short benchmarks: every second one a
# comment, the others a function that nothing calls, which moves the others. Counts how often each is
# called slower: by `furlong ci` (with layouts for the functions), by criterion's own comparison, and
# by hyperfine (Welch's test, the old program's runs before the new one's).
# bash ci/false_alarms.sh [RUNS] [LAYOUTS]: shares the runs between two processors, which takes 35
# minutes for a hundred. Fails if furlong errs more than 5 % explains.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
runs=${1:-100} layouts=${2:-8}
bash ci/need.sh git cc jq hyperfine valgrind
. ci/home.sh
unset CARGO_TARGET_DIR RUSTFLAGS

# Without FIRST, the number of its first change, this is the whole: each half is a call of its own.
if [ $# -lt 3 ]; then
  half=$((runs / 2))
  taskset -c 0 bash ci/false_alarms.sh "$half" "$layouts" 0 >"$home/0" &
  beside=$!
  taskset -c 1 bash ci/false_alarms.sh $((runs - half)) "$layouts" "$half" >"$home/1" ||
    { kill "$beside"; exit 1; }
  wait "$beside"
  cat "$home/0" "$home/1"
  by_furlong=$(cat "$home/0" "$home/1" | awk '/^by furlong ci/ { sum += $4 } END { print sum }')
  allowed=$(bash ci/allowed.sh "$runs")
  echo "of $runs in all, furlong ci calls $by_furlong slower; at most $allowed may be"
  [ "$by_furlong" -le "$allowed" ]
  exit
fi
first=$3

mkdir -p "$home/package/src" "$home/package/benches"
cd "$home/package"
git init --quiet --initial-branch main
cat >Cargo.toml <<END
[package]
name = "small"
version = "0.1.0"
edition = "2024"

[dev-dependencies]
furlong-bench = { path = "$here/crates/furlong-bench" }

[[bench]]
name = "ours"
harness = false

[workspace]
END
echo target >.gitignore
mkdir -p "$home/theirs/benches" "$home/theirs/src"
touch "$home/theirs/src/lib.rs"
cat >"$home/theirs/Cargo.toml" <<'END'
[package]
name = "theirs"
version = "0.1.0"
edition = "2024"

[dev-dependencies]
criterion = { version = "0.5", default-features = false }
small = { path = "../package" }

[[bench]]
name = "theirs"
harness = false

[workspace]
END
cat >benches/ours.rs <<'END'
use furlong_bench::{Bench, Random};

fn main() -> std::process::ExitCode {
    let mut bench = Bench::new();
    let group = bench.group("small");
    group.bench("mix", |b| b.iter_with(Random::bits, |n| small::mix(*n)));
    group.bench("walk", |b| b.iter_with(|random| random.bits() >> 40, |n| small::walk(*n)));
    let text = |random: &mut Random| (0..300).map(|_| random.bits() as u8).collect();
    group.bench("words", move |b| b.iter_with(text, |text: &mut Vec<u8>| small::words(text)));
    let numbers = |random: &mut Random| (0..100).map(|_| random.bits()).collect();
    group.bench("sort", move |b| b.iter_with(numbers, |all: &mut Vec<u64>| small::sort(all)));
    bench.main()
}
END
cat >"$home/theirs/benches/theirs.rs" <<'END'
use criterion::{Criterion, black_box, criterion_group, criterion_main};

fn all(c: &mut Criterion) {
    c.bench_function("mix", |b| b.iter(|| small::mix(black_box(7))));
    c.bench_function("walk", |b| b.iter(|| small::walk(black_box(871))));
    let text: Vec<u8> = (0..300u32).map(|n| (n * n >> 3) as u8).collect();
    c.bench_function("words", |b| b.iter(|| small::words(black_box(&text))));
    let numbers: Vec<u64> = (0..100).map(small::mix).collect();
    c.bench_function("sort", |b| b.iter(|| small::sort(&mut numbers.clone())));
}

criterion_group!(benches, all);
criterion_main!(benches);
END
cat >src/main.rs <<'END'
fn main() {
    let text: Vec<u8> = (0..300u32).map(|n| (n * n >> 3) as u8).collect();
    let numbers: Vec<u64> = (0..100).map(small::mix).collect();
    let mut sum = 0;
    for n in 1..1000 {
        sum ^= small::mix(n) + small::walk(n) + small::words(&text);
        sum += small::sort(&mut numbers.clone());
    }
    println!("{sum}");
}
END

# commit NUMBER: one more inert change.
commit() {
  local number=$1
  {
    cat "$here/ci/false_alarms/small.rs"
    if [ $((number % 2)) -eq 0 ]; then
      echo "// Note $number."
    fi
    local at line
    for ((at = 1; at <= number; at += 2)); do
      printf '\n#[used]\nstatic UNUSED_%d: fn(u64) -> u64 = u%d;\n' "$at" "$at"
      printf 'fn u%d(mut h: u64) -> u64 {\n' "$at"
      for ((line = 0; line <= at * 7 % 13; line++)); do
        printf '    h = (h ^ (h >> %d)).wrapping_mul(%d);\n' $((line + 3)) $((at * 100 + 2 * line + 1))
      done
      printf '    h\n}\n'
    done
  } >src/lib.rs
  git add .
  git commit --quiet --message "change $number"
  git tag "change-$number"
}

# Every checkout begins with what cargo built for another one: only the package itself is new.
build="cp -rp '$home/built'\${CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER:+-in-layouts} target
cargo bench --no-run"

# judge BASE HEAD OPTION..: what furlong ci finds.
judge() {
  "$furlong" ci "$1" "$2" --budget 16s --quiet --db none --html none "${@:3}"
}

by_furlong=0 by_criterion=0 by_hyperfine=0
for ((run = 0; run <= runs; run++)); do
  commit $((first + run))
  now=$((run % 2))
  (
    cd "$home/theirs"
    cargo bench --quiet --no-run --message-format=json |
      jq -r 'select(.target.kind == ["bench"]) | .executable // empty' |
      xargs -I % cp % "$home/theirs-$now"
  )
  cargo build --quiet --release
  cp target/release/small "$home/small-$now"
  if [ "$run" -eq 0 ]; then
    mkdir "$home/built" "$home/built-in-layouts"
    for further in "" "--layouts $layouts"; do
      # shellcheck disable=SC2086
      judge "change-$first" "change-$first" --bench mix $further >answer 2>&1 || { cat answer >&2; exit 1; }
      to=$home/built${further:+-in-layouts}
      # The folders of layouts have links into their checkout, which does not stay.
      newest=$(find "$home/cache" -path '*/target/layouts' -prune -o -path '*/target/release' \
        -printf '%T@ %h\n' | sort -n | tail -1)
      cp -rp "${newest#* }/." "$to"
      rm -rf "$to/layouts"
    done
    continue
  fi
  old=$(((run + 1) % 2))

  further=() code=0
  [ $((run % 2)) -eq 0 ] || further=(--layouts "$layouts")
  judge "change-$((first + run - 1))" "change-$((first + run))" --build "$build" "${further[@]}" >answer 2>&1 || code=$?
  case $code in
    0) ;;
    3) by_furlong=$((by_furlong + 1)) && cat answer ;;
    *) cat answer >&2 && exit 1 ;;
  esac

  export CRITERION_HOME=$home/criterion
  rm -rf "$CRITERION_HOME"
  few=(--bench --warm-up-time 0.5 --measurement-time 1)
  "$home/theirs-$old" "${few[@]}" --save-baseline old >answer 2>&1 || { cat answer >&2; exit 1; }
  "$home/theirs-$now" "${few[@]}" --baseline old >answer 2>&1 || { cat answer >&2; exit 1; }
  ! grep -q "Performance has regressed" answer || by_criterion=$((by_criterion + 1))

  hyperfine --shell=none --warmup 3 --runs 200 --export-json theirs.json "$home/small-$old" \
    "$home/small-$now" >answer 2>&1
  jq -e "$(cat "$here/ci/welch.jq") < 1.96" theirs.json >answer ||
    by_hyperfine=$((by_hyperfine + 1))
done
echo "$runs pull requests without effect are called slower:"
echo "by furlong ci $by_furlong, by criterion $by_criterion, by hyperfine $by_hyperfine"
