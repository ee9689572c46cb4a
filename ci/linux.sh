#!/usr/bin/env bash
# Builds Linux's own structures from the distribution's package, as `furlong peers linux` does for a
# user, and checks them against the specification and the library's arms. As root it installs a
# missing package: 140 MB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

archive=/usr/src/linux-source-6.1.tar.xz
bash ci/need.sh tar
if [ ! -f "$archive" ]; then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "please install: linux-source-6.1 (on Debian 12: apt-get install linux-source)" >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update >/dev/null
  apt-get install -y --no-install-recommends linux-source-6.1 >/dev/null
fi

# A cache of its own: what the user has built stays as it is.
XDG_CACHE_HOME=$(mktemp -d)
export XDG_CACHE_HOME
trap 'rm -rf "$XDG_CACHE_HOME"' EXIT
cargo build --quiet --release -p furlong-peers
furlong=target/release/furlong-peers
"$furlong" peers linux

FURLONG_NEEDS_LINUX=1 cargo test --quiet -p furlong-peers --test linux_agreement --test vmspace \
  --test iova
"$furlong" run vmspace-index iova-gap iova-magazine tree-order --peers --profile smoke \
  --db none --html none
