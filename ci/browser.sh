#!/usr/bin/env bash
# Opens reports in a real browser: ci/browser.sh [REPORT.html [FOLDER-FOR-SCREENSHOTS]]
# Without a report, makes and opens a real one and invented ones, from usual to hostile.
# ci/browser.sh site walks through the site over a store with real and hostile runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh chromium node npm
CHROMIUM=$(command -v chromium)
export CHROMIUM

browser=crates/furlong-cli/tests/browser
if [ ! "$browser/node_modules/.package-lock.json" -nt "$browser/package-lock.json" ]; then
  npm ci --prefix "$browser" --no-audit --no-fund --silent
fi

made=$(mktemp -d)
server=
# The server is ended by its number: nothing else is touched.
end() {
  [ -z "$server" ] || { kill "$server" && wait "$server"; } || true
  rm -rf "$made"
}
trap end EXIT

# The build of the tests, whose features any other selection of packages would change.
built() {
  cargo test --quiet --workspace --test cli --example report --example serve_fixture --no-run
}

# A store with real runs, a history with a step and runs whose every name is hostile, as a site.
site() {
  local furlong=target/debug/furlong store=$made/runs.db n
  built
  target/debug/examples/serve_fixture "$store" many hostile experiments/*/results/*.json
  for n in 1 2; do
    "$furlong" run tree-order --profile smoke --db "$store" --tag "smoke-$n" --note "Smoke run $n" \
      --quiet --html none >"$made/run.txt"
  done
  "$furlong" serve --db "$store" --listen 127.0.0.1:0 --quiet >"$made/address" &
  server=$!
  for ((n = 0; n < 200; n++)); do
    [ ! -s "$made/address" ] || break
    sleep 0.1
  done
  node "$browser/serve.mjs" "$(<"$made/address")" target/browser/site
}

if [ "${1:-}" = site ]; then
  site
  exit
fi
pages=("${1:-}")
if [ "$#" -eq 0 ]; then
  built
  target/debug/examples/report "$made" rich functions everything hostile many-arms all-null empty
  target/debug/furlong \
    run iova-gap tree-order malloc-gate --profile smoke --db none --quiet --html "$made/real.html" >"$made/real.txt"
  pages=("$made"/*.html)
fi
for page in "${pages[@]}"; do
  name=$(basename "$page" .html)
  # As much as a quick run of all experiments has.
  asked=("$page" "${2:-target/browser}/$name")
  [ "$name" != everything ] || asked+=(all)
  node "$browser/look.mjs" "${asked[@]}"
done
