#!/usr/bin/env bash
# Makes sure that each named command is installed: ci/need.sh valgrind npm
# As root installs a missing one with apt-get; otherwise says what to install.
set -euo pipefail

declare -A package=([node]=nodejs [initdb]=postgresql [munged]=munge [sbatch]=slurm-client
  [redis-benchmark]=redis-tools [/usr/bin/time]=time [qemu-system-x86_64]=qemu-system-x86
  [qemu-aarch64]=qemu-user [aarch64-linux-gnu-gcc]=gcc-aarch64-linux-gnu
  [aarch64-linux-gnu-g++]=g++-aarch64-linux-gnu
  [/usr/aarch64-linux-gnu/lib/libc.so.6]=libc6-dev-arm64-cross)

# is_there COMMAND: also where Debian keeps the programs of a database server.
is_there() {
  command -v "$1" >/dev/null || compgen -G "/usr/lib/postgresql/*/bin/$1" >/dev/null
}

missing=()
for command in "$@"; do
  is_there "$command" || missing+=("${package[$command]:-$command}")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "please install: ${missing[*]} (on Debian: apt-get install ${missing[*]})" >&2
  exit 1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# One at a time: steps of .ci/run go side by side.
apt_get() { flock -o "${TMPDIR:-/tmp}/furlong-need.lock" apt-get "$@"; }
if ! { apt_get update && apt_get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "apt-get could not install: ${missing[*]}" >&2
  exit 1
fi
echo "installed: ${missing[*]}"
for command in "$@"; do
  is_there "$command" || { echo "installed, yet there is no $command" >&2; exit 1; }
done
