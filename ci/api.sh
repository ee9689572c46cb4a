#!/usr/bin/env bash
# The public names of the published libraries, with all features, against the listings in docs/api.
# A difference fails and is shown: `ci/api.sh --accept` writes the listings anew, and the commit
# then shows what it changes for users.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh python3
# A folder of its own: some build scripts ask for RUSTC_BOOTSTRAP, and where it comes and goes, all
# that depends on them is compiled again.
target=${CARGO_TARGET_DIR:-target}/unstable
failed=0
for crate in furlong furlong-stats furlong-bench; do
  # rustdoc's JSON is called unstable, hence RUSTC_BOOTSTRAP.
  RUSTC_BOOTSTRAP=1 cargo rustdoc --quiet --lib -p "$crate" --all-features --target-dir "$target" -- \
    -Zunstable-options --output-format json
  made=$target/$crate.api
  python3 ci/api/list.py "$target/doc/${crate//-/_}.json" >"$made"
  [ "$(wc -l <"$made")" -gt 20 ] || { echo "api: $crate has hardly a name" >&2; exit 1; }
  listing=docs/api/$crate.txt
  if [ "${1:-}" = --accept ]; then
    mkdir -p docs/api
    cp "$made" "$listing"
  elif ! diff -u "$listing" "$made"; then
    failed=1
  fi
  printf '%-16s %5d names\n' "$crate" "$(wc -l <"$made")"
done
if [ "$failed" -ne 0 ]; then
  echo "api: the public names have changed: bash ci/api.sh --accept, and a line in CHANGELOG.md" >&2
  exit 1
fi
