#!/usr/bin/env bash
# Mutation tests: makes small changes, one at a time, and checks that a test notices each.
#   ci/mutants.sh                  at most 20 mutants of the files that the last commits changed, in
#                                  the module with the most of them: two take too long to build
#   ci/mutants.sh full [MODULE]..  200 of each module: rbtree iova phys maple vmspace rcu bounce
#                                  malloc, and the lab's stats; hours, for a quiet machine
# Further options go to the driver (ci/mutants/): --seed N, --count N, --jobs N, --without-loom,
# --seconds N for the tests of a module, --longest N for one test without a mutant. The seed, which
# is printed, determines the mutants; with --only FILE they are those named at the ends of a file's
# lines, such as the survivors in a report.
# A mutant that no test could notice is listed in ci/mutants/equivalent.txt, with the reason.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${CARGO_TARGET_DIR:-target}
tool=(--quiet --locked --manifest-path ci/mutants/Cargo.toml --target-dir "$target/mutants/tool")
if [ "${1:-}" = full ]; then
  shift
  # Would it notice? On a small repository with planted mistakes it must.
  cargo test "${tool[@]}"
  # Hostile callers attack every state.
  export FURLONG_HOSTILE=full
  exec cargo run "${tool[@]}" -- "$@"
fi

# Loom's models take too long for every commit; seconds are those of the tests, once they are built.
exec cargo run "${tool[@]}" -- --changed --count 20 --seconds 40 --longest 5 --without-loom "$@"
