#!/bin/sh
# Opens reports in a real browser: ci/browser.sh [REPORT.html] [FOLDER-FOR-SCREENSHOTS]
# Without a report, invented ones from usual to hostile are made and opened.
set -eu
cd "$(dirname "$0")/.."
report=${1:-}
pictures=${2:-target/browser}
browser=crates/furlong-lab/tests/browser

: "${CHROMIUM:=$(command -v chromium || command -v chromium-browser || true)}"
if [ -z "$CHROMIUM" ]; then
    if [ "$(id -u)" -ne 0 ]; then
        echo "browser: no Chromium: apt-get install chromium, or name one in CHROMIUM" >&2
        exit 1
    fi
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends chromium >/dev/null
    CHROMIUM=$(command -v chromium)
fi
export CHROMIUM
if ! command -v npm >/dev/null; then
    echo "browser: no npm: apt-get install nodejs npm" >&2
    exit 1
fi
if [ ! -d "$browser/node_modules/playwright-core" ]; then
    npm ci --prefix "$browser" --no-audit --no-fund --silent
fi

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
if [ -n "$report" ]; then
    set -- "$report"
else
    cargo run --quiet --package furlong-lab --example report -- \
        "$made" rich compare hostile many-arms all-null empty
    set -- "$made"/*.html
fi
for page in "$@"; do
    node "$browser/look.mjs" "$page" "$pictures/$(basename "$page" .html)"
done
