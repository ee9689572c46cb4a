#!/usr/bin/env bash
# Sourced in the repository: builds the command furlong without its systems, and makes a home for it
# and for git that is removed at the end.
set -euo pipefail
cargo build --quiet --release -p furlong-cli --no-default-features
# shellcheck disable=SC2034 # for the script that sources this
furlong=$(realpath "${CARGO_TARGET_DIR:-target}/release/furlong") here=$PWD

home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export XDG_DATA_HOME=$home/data XDG_CACHE_HOME=$home/cache
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
