#!/usr/bin/env bash
# Runs the parts that take too long for .ci/run, by hand on a quiet machine: ci/full.sh [PART]..
# Parts:
# tour (a newcomer's first minutes: the build into an empty folder, and README.md's own line);
# pull-request (the steps of examples/ci on a small package, in fresh clones);
# pairs (eleven pairs of commands: `furlong compare` and hyperfine);
# simulation (the verdict, 10,000 runs a cell);
# bisect-simulation (the search for a commit, 500 of each kind), bisect (twenty real searches);
# layouts (120 inert changes to programs whose time depends on the place of their functions);
# false-alarms (100 pull requests that change nothing, beside criterion and hyperfine);
# loom (the models, with three preemptions);
# prove (the functions on words, for all inputs);
# iova-oracle, phys-oracle, maple-oracle, vmspace-oracle (each system against its model, 10,000,000
# operations and every small case);
# vmspace-kernel (address spaces against the running kernel, 1,000,000 calls);
# phys-race, maple-race, vmspace-race (readers beside a writer, 100,000,000 answers);
# asan (all tests of library, specification and adapters under AddressSanitizer);
# aarch64 (the same tests on that processor, emulated);
# memcheck (the allocator's tests under valgrind);
# attacks (on the preloaded libraries and on other allocators; also the programs of mimalloc-bench in
# the folder ATTACK_PROGRAMS, if it is set);
# malloc-tests-glibc, -python, -redis, -postgresql (their own tests under the preloaded libraries);
# malloc-latency (the worst malloc beside other threads, with real-time priorities);
# malloc-lines (cache lines that move between 2 to 64 processors, counted);
# malloc-huge-pages (faults and memory of real programs, by the memory that has huge pages, and the
# memory that freeing gives back);
# malloc-heap-profile (instructions of real programs, by the heap profile);
# malloc-prescribe (forecasts of `furlong malloc prescribe` beside the peaks of real programs);
# malloc-small-heaps (the small heap beside four others: memory, and instructions);
# hostile (the hostile caller, with every state; the checks of a commit take a quarter);
# peers (the allocators' tests with the one peer in C++);
# mutants (200 small changes of each module, and the tests that notice);
# bounce-stress (four threads on a pool of bounce buffers, 50,000,000 maps);
# site (the history in a real browser);
# fleet (as root: runs shared by 10, 100 and 1,000 nodes of a Slurm that it starts);
# history (1,000,000 points on a PostgreSQL server: judging them, and pages beside their queries);
# fuzz (10,000,000 inputs a target, guided by coverage; fuzz-TARGET: that one);
# malloc-oracle (the allocator against its model, under four threads and in zones, 100,000,000
# operations);
# package (each crate is built from its package alone);
# imports (files that ten other tools write, read by `furlong import`);
# linux (Linux's own structures, built from the distribution's package);
# rangemap (its own tests on our maps of ranges, and those of two published crates with ours in its
# place);
# and each experiment's name (full profile).
# Runs all of them if none is named. Each appends its record: the figures that documents may quote.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ -n "$(git status --porcelain)" ]; then
  echo "commit first: a record names the commit that it measured" >&2
  exit 2
fi
commit=$(git rev-parse --short=12 HEAD)
day=$(date -u +%F)
records=docs/records
mkdir -p "$records"

# record NAME COMMAND..: runs it and appends what it printed to docs/records/NAME.md. A result that
# disappoints is a record like any other; the command's own failure comes after it.
record() {
  local file=$records/$1.md out begun=$SECONDS code=0
  out=$(mktemp)
  shift
  echo "+ $*"
  "$@" </dev/null | tee "$out" || code=$?
  [ -s "$out" ] || { echo "it printed nothing: no record" >&2; rm -f "$out"; exit 1; }
  [ -s "$file" ] || printf '# Records: %s\n' "$(basename "$file" .md)" >"$file"
  {
    printf '\n## %s, commit %s\n\n' "$day" "$commit"
    printf "\`%s\`: exit %d after %d s on %s, %s cores, %s\n\n" "$*" "$code" \
      $((SECONDS - begun)) "$(uname -srm)" "$(nproc)" "$(rustc --version)"
    # Without the paths of this machine.
    sed -E -e "s|$PWD/||g; s|${TMPDIR:-/tmp}/tmp\.[A-Za-z0-9]+|HOME|g" -e 's/^/    /' "$out"
  } >>"$file"
  rm -f "$out"
  echo "recorded in $file"
  [ "$code" -eq 0 ] || { echo "it failed with exit $code: the record says so" >&2; exit "$code"; }
}

simulation() {
  record verdict-simulation \
    cargo run --release -p furlong-lab --example verdict_simulation -- --runs 10000
}

bisect-simulation() {
  record bisect-simulation \
    cargo run --release -p furlong-lab --example verdict_simulation -- --searches 500
}

bisect() {
  record bisect bash ci/bisect.sh
}

layouts() {
  record layouts bash ci/layouts.sh
}

false-alarms() {
  record false-alarms bash ci/false_alarms.sh
}

loom() {
  record loom env LOOM_MAX_PREEMPTIONS=3 bash ci/loom.sh
}

prove() {
  record prove bash ci/prove.sh
}

asan() {
  record asan bash ci/asan.sh --all --quiet
}

aarch64() {
  record aarch64 bash ci/aarch64.sh --quiet
}

memcheck() {
  record memcheck bash ci/memcheck.sh
}

tour() {
  record tour bash ci/tour.sh
}

pairs() {
  record pairs bash ci/pairs.sh
}

malloc-small-heaps() {
  record malloc-small-heaps bash ci/small_heaps.sh
}

hostile() {
  record hostile env FURLONG_HOSTILE=full bash ci/hostile.sh
}

peers() {
  record peers bash ci/peers.sh
}

mutants() {
  record mutants bash ci/mutants.sh full
}

fleet() {
  record fleet bash ci/fleet.sh 10 100 1000
}

history() {
  record history bash ci/history.sh
}

site() {
  record browser-site bash ci/browser.sh site
}

# fuzz-TARGET: that target alone.
fuzz() {
  record fuzz bash ci/fuzz.sh --seconds 60 "$@"
  record fuzz bash ci/fuzz.sh --runs 10000000 --without-asan "$@"
}

package() {
  record package bash ci/package.sh --verify
}

imports() {
  record imports bash ci/imports.sh
}

linux() {
  record linux-peers bash ci/linux.sh
}

rangemap() {
  record rangemap bash ci/rangemap.sh
  record rangemap bash ci/rangemap.sh users
}

attacks() {
  cargo build --quiet -p furlong-preload --examples
  record malloc-attacks cargo test --quiet -p furlong-preload --test attack_corpus -- --nocapture
  # Others' programs, if somebody has built them.
  if [ -n "${ATTACK_PROGRAMS:-}" ]; then
    record malloc-attack-programs bash ci/attacks.sh "$ATTACK_PROGRAMS"
  fi
}

pull-request() {
  record pull-request bash ci/pull_request.sh
}

malloc-latency() {
  record malloc-latency bash ci/malloc_latency.sh
}

malloc-lines() {
  record malloc-lines bash ci/malloc_lines.sh
}

malloc-huge-pages() {
  record malloc-huge-pages bash ci/huge_pages.sh
}

malloc-heap-profile() {
  record malloc-heap-profile bash ci/heap_profile.sh
}

malloc-prescribe() {
  record malloc-prescribe bash ci/prescribe.sh
}

# proof NAME: the specification's example of that name.
proofs=(iova-oracle phys-oracle maple-oracle vmspace-oracle vmspace-kernel phys-race maple-race
  vmspace-race bounce-stress malloc-oracle)
proof() {
  record "$1" cargo run --release -p furlong-spec --example "${1//-/_}"
}

# experiment NAME: the full profile, into the experiment's own results.
experiment() {
  local results=experiments/$1/results
  [ -f "experiments/$1/plan.toml" ] || { echo "there is no part $1" >&2; exit 2; }
  mkdir -p "$results"
  cargo build --quiet --release
  # What was built before is other work, too: the load of the last minute falls first.
  for _ in {1..60}; do
    awk '$1 > 0.5 { exit 1 }' /proc/loadavg && break
    sleep 5
  done
  cargo run --release -- run "$1" --profile full --note "commit $commit" \
    --json "$results/$day-$commit.json"
}

parts=("$@")
if [ "${#parts[@]}" -eq 0 ]; then
  parts=(tour pull-request pairs simulation bisect-simulation bisect layouts false-alarms loom prove asan
    aarch64 memcheck attacks malloc-latency malloc-lines malloc-huge-pages malloc-tests-glibc
    malloc-tests-python malloc-tests-redis malloc-tests-postgresql malloc-heap-profile
    malloc-prescribe malloc-small-heaps hostile peers mutants site fleet history fuzz package imports rangemap
    "${proofs[@]}")
  for plan in experiments/*/plan.toml; do parts+=("$(basename "$(dirname "$plan")")"); done
  # Last, for it needs what not every distribution has.
  parts+=(linux)
fi
for part in "${parts[@]}"; do
  echo
  echo "== $part"
  if [[ "$part" == fuzz-* ]]; then
    fuzz "${part#fuzz-}"
  elif [[ "$part" == malloc-tests-* ]]; then
    record malloc-programs-tests bash ci/programs_tests.sh "${part#malloc-tests-}"
  elif [[ " ${proofs[*]} " == *" $part "* ]]; then
    proof "$part"
  elif declare -F "$part" >/dev/null; then
    "$part"
  else
    experiment "$part"
  fi
done
