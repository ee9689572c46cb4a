#!/usr/bin/env bash
# Opens reports in a real browser: ci/browser.sh [REPORT.html [FOLDER-FOR-SCREENSHOTS]]
# Without a report, a real one and invented ones from usual to hostile are made and opened.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh chromium node npm
CHROMIUM=$(command -v chromium)
export CHROMIUM

browser=crates/furlong-lab/tests/browser
if [ ! "$browser/node_modules/.package-lock.json" -nt "$browser/package-lock.json" ]; then
  npm ci --prefix "$browser" --no-audit --no-fund --silent
fi

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
pages=("${1:-}")
if [ "$#" -eq 0 ]; then
  cargo run --quiet --package furlong-lab --example report -- \
    "$made" rich compare hostile many-arms all-null empty
  cargo run --quiet --package furlong-lab -- \
    run iova-gap tree-order malloc-gate --profile smoke --db none --quiet --html "$made/real.html" >"$made/real.txt"
  pages=("$made"/*.html)
fi
for page in "${pages[@]}"; do
  node "$browser/look.mjs" "$page" "${2:-target/browser}/$(basename "$page" .html)"
done
