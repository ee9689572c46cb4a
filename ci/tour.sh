#!/usr/bin/env bash
# A newcomer's first minutes: builds the command into an empty folder and takes the tour by
# README.md's own line. Prints the time of each part, and holds none of them to a limit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CARGO_TARGET_DIR=$work/target XDG_DATA_HOME=$work/data NO_COLOR=1 COLUMNS=80
unset CARGO_INCREMENTAL CARGO_PROFILE_DEV_DEBUG

line=$(grep -E '^cargo run' README.md)
[ "$(wc -l <<<"$line")" -eq 1 ] || { echo "README.md must have one line that begins with cargo run" >&2; exit 1; }

begun=$SECONDS
cargo build --release --quiet
built=$SECONDS
bash -euc "$line" >"$work/out" 2>"$work/err" </dev/null
toured=$SECONDS

cat "$work/err" "$work/out"
lines=$(cat "$work/err" "$work/out" | wc -l)
echo "build $((built - begun)) s, tour $((toured - built)) s, $lines lines"
[ "$lines" -le 40 ] || { echo "more than 40 lines" >&2; exit 1; }
questions=$(grep -l '^\[tour\]' experiments/*/plan.toml | wc -l)
answers=$(tr -s '\n ' '  ' <"$work/out" | grep -o 'README: ' | wc -l)
[ "$answers" -ge "$questions" ] || { echo "$answers of $questions questions have an answer" >&2; exit 1; }
