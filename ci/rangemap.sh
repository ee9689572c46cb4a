#!/usr/bin/env bash
# Runs rangemap's own published tests on the types of `furlong_adapters::range_map`. Its source is
# where cargo has put it for the adapters' tests; nothing of it is kept here.
# `ci/rangemap.sh users` runs the tests of crates that depend on it, with our types in its place.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "rangemap: $*" >&2; exit 1; }
bash ci/need.sh python3
work=$(realpath -m "${CARGO_TARGET_DIR:-target}")/rangemap
mkdir -p "$work"

# package_of MANIFEST NAME: the folder of a package that the manifest's depend on.
package_of() {
  cargo metadata --format-version 1 --manifest-path "$1" | python3 -c '
import json, os, sys
named = [p for p in json.load(sys.stdin)["packages"] if p["name"] == sys.argv[1] and p["source"]]
print(os.path.dirname(named[0]["manifest_path"]))' "$2"
}

# passed LOG: the number of tests that passed.
passed() { awk '/^test result: / { sum += $4 } END { print sum + 0 }' "$1"; }

published_tests() {
  local source package=$work/tests counted left_out kept
  source=$(package_of Cargo.toml rangemap)
  rm -rf "$package"
  mkdir -p "$package"
  counted=$(python3 ci/rangemap/extract.py "$source" crates/furlong-adapters/src/range_map "$package")
  read -r left_out kept <<<"$(tail -n 1 <<<"$counted")"
  sed '$d' <<<"$counted"
  [ "$kept" -ge 172 ] || fail "$kept tests found, where 1.8.0 has 172 that apply"
  cp "$source/Cargo.lock" "$package/Cargo.lock"
  cat >"$package/Cargo.toml" <<END
[package]
name = "rangemap-tests"
version = "0.0.0"
edition = "2024"
[features]
serde = []
const_fn = []
serde1 = []
[dependencies]
furlong = { path = "$PWD/crates/furlong", features = ["serde"] }
slab = { version = "0.4.12", default-features = false }
serde = "1"
[dev-dependencies]
permutator = "0.4"
proptest = "1.4"
serde_json = "1"
test-strategy = "0.4"
[workspace]
END
  run_tests || { cat "$work/log" >&2; fail "a test of rangemap fails on our types"; }
  [ "$(passed "$work/log")" -eq "$kept" ] || fail "$(passed "$work/log") tests passed, not $kept"
  echo "rangemap $(sed -n 's/^version = "\(.*\)"/\1/p' "$source/Cargo.toml" | head -n 1):" \
    "$kept of its own tests pass, $left_out cannot apply"

  # Would they notice? A map that merges no neighbours.
  sed -i 's/checked_sub(1).unwrap_or(at.start())/checked_sub(0).unwrap_or(at.start())/' \
    "$package/src/range_map/span_map.rs"
  if run_tests || [ "$(grep -c '^test .* FAILED' "$work/log")" -lt 5 ]; then
    fail "they do not notice a map that merges no neighbours"
  fi
  echo "a map that merges no neighbours fails $(grep -c '^test .* FAILED' "$work/log") of them"
}

run_tests() {
  cargo test --quiet --manifest-path "$work/tests/Cargo.toml" --target-dir "$work/target" \
    --features serde,serde1,const_fn --lib -- --format pretty >"$work/log" 2>&1
}

# Published crates with integer keys, their features, a part of the names of their tests, and the
# fewest such tests. The package of lopdf lacks the documents that its other tests read.
users=(
  "vm-memory 0.18.0 backend-mmap,backend-atomic,backend-bitmap,iommu :: 100"
  "lopdf 0.47.0 default cmap 30"
)

user_tests() {
  local shim=$work/shim user name version features tests least source log whose patch
  mkdir -p "$shim/src"
  cat >"$shim/Cargo.toml" <<END
[package]
name = "rangemap"
version = "1.8.0"
edition = "2024"
[features]
serde1 = ["furlong-adapters/serde"]
const_fn = []
[dependencies.furlong-adapters]
path = "$PWD/crates/furlong-adapters"
default-features = false
features = ["range-map"]
[workspace]
END
  echo 'pub use furlong_adapters::range_map::*;' >"$shim/src/lib.rs"
  for user in "${users[@]}"; do
    read -r name version features tests least <<<"$user"
    # A package that depends on it, only to get its source.
    mkdir -p "$work/get-$name/src"
    printf '[package]\nname = "get"\nversion = "0.0.0"\n[dependencies]\n%s = "=%s"\n[workspace]\n' \
      "$name" "$version" >"$work/get-$name/Cargo.toml"
    : >"$work/get-$name/src/lib.rs"
    source=$(package_of "$work/get-$name/Cargo.toml" "$name")
    rm -rf "${work:?}/$name"
    cp -r "$source" "$work/$name"
    printf '\n[workspace]\n' >>"$work/$name/Cargo.toml"
    mkdir -p "$work/$name/assets"
    touch "$work/$name/assets/example.pdf"
    for whose in its-own ours; do
      patch=()
      [ "$whose" = its-own ] || patch=(--config "patch.crates-io.rangemap.path='$shim'")
      log=$work/$name-$whose.log
      # Their lockfile may name an older one, which would not be replaced.
      cargo update --quiet --manifest-path "$work/$name/Cargo.toml" "${patch[@]}" rangemap
      cargo test --quiet --manifest-path "$work/$name/Cargo.toml" --target-dir "$work/target" \
        --features "$features" --lib "${patch[@]}" -- "$tests" >"$log" 2>&1 ||
        { cat "$log" >&2; fail "$name $version fails with $whose rangemap"; }
      cargo tree --quiet --manifest-path "$work/$name/Cargo.toml" --features "$features" \
        "${patch[@]}" --invert rangemap >"$log.tree"
    done
    grep -q "$shim" "$work/$name-ours.log.tree" || fail "$name did not get our types"
    ! grep -q "$shim" "$work/$name-its-own.log.tree" || fail "$name did not get its own rangemap"
    [ "$(passed "$work/$name-ours.log")" -ge "$least" ] || fail "$name has hardly a test"
    [ "$(passed "$work/$name-ours.log")" -eq "$(passed "$work/$name-its-own.log")" ] ||
      fail "$name passes other tests with ours"
    echo "$name $version: $(passed "$work/$name-ours.log") tests pass, as with rangemap itself"
  done
}

case "${1:-}" in
  '') published_tests ;;
  users) user_tests ;;
  *) fail "users is all that can be said, not $1" ;;
esac
