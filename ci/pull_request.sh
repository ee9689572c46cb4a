#!/usr/bin/env bash
# Pull requests on a small package, judged by the steps of examples/ci in a fresh clone: no change,
# 3 % more work in one benchmark, a benchmark on one side only, and a build that fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. ci/home.sh
export PATH=${furlong%/*}:$PATH

origin=$home/origin
mkdir -p "$origin/src" "$origin/benches"
cd "$origin"
git init --quiet --initial-branch main
cat >Cargo.toml <<END
[package]
name = "small"
version = "0.1.0"
edition = "2024"

[dev-dependencies]
furlong-bench = { path = "$here/crates/furlong-bench" }

[[bench]]
name = "work"
harness = false

[workspace]
END
cat >src/lib.rs <<'END'
pub fn mix(n: u64) -> u64 {
    (0..1000).fold(n, |h, _| (h ^ (h >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

pub fn median(all: &mut [u64]) -> u64 {
    all.sort_unstable();
    all[all.len() / 2]
}
END
cat >benches/work.rs <<'END'
use furlong_bench::{Bench, Random};

fn numbers(random: &mut Random) -> Vec<u64> {
    (0..300).map(|_| random.bits()).collect()
}

fn main() -> std::process::ExitCode {
    let mut bench = Bench::new();
    bench.group("mix").bench("1000", |b| b.iter_with(Random::bits, |n| small::mix(*n)));
    bench.group("median").bench("300", |b| b.iter_with(numbers, |all| small::median(all)));
    bench.main()
}
END
echo /target >.gitignore
# The packages of this workspace's own lock, so that nothing is fetched.
cp "$here/Cargo.lock" .
cargo generate-lockfile --quiet --offline 2>/dev/null || true
git add .
git commit --quiet --message base

# pull NAME CODE FILE SED: a branch with one change, judged by the step of FILE; must end with CODE.
pull() {
  local name=$1 code=$2 file=$here/examples/ci/$3 change=$4 found=0
  git checkout --quiet -B "$name" main
  # The lock changes even if nothing else does.
  echo "# $name" >>Cargo.toml
  [ -z "$change" ] || sed -i "$change" src/lib.rs benches/work.rs
  git commit --quiet --all --message "$name"
  git clone --quiet "$origin" "$home/$name"
  cd "$home/$name"
  local step
  step=$(sed -n 's/^ *-\{0,1\} *\(furlong ci .*\)/\1/p' "$file")
  [ -n "$step" ] || { echo "$file has no step of furlong" >&2; exit 1; }
  echo "== $name: $step"
  case $3 in
    github.yml) export GITHUB_BASE_REF=main ;;
    *) export CI_MERGE_REQUEST_DIFF_BASE_SHA && CI_MERGE_REQUEST_DIFF_BASE_SHA=$(git rev-parse origin/main) ;;
  esac
  sh -ec "$step" || found=$?
  unset GITHUB_BASE_REF CI_MERGE_REQUEST_DIFF_BASE_SHA
  [ "$found" -eq "$code" ] || { echo "$name ended with $found instead of $code" >&2; exit 1; }
  cd "$origin"
}

# says NAME TEXT: the comment has it.
says() {
  grep -qF -- "$2" "$home/$1/comment.md" || {
    cat "$home/$1/comment.md" >&2
    echo "the comment of $1 does not say: $2" >&2
    exit 1
  }
}

pull same 0 github.yml ''
says same '# No regression'
pull slower 3 gitlab.yml 's/0\.\.1000/0..1030/'
says slower '# 1 regression'
says slower 'work/mix/1000'
pull renamed 0 github.yml 's/"300"/"three hundred"/'
says renamed 'work/median/three hundred'
pull broken 1 github.yml 's/pub fn mix/pub fn mixed/'
echo "all pull requests were judged as they should"
