#!/usr/bin/env bash
# The example kernel: builds it without an operating system, boots it in QEMU, emulated, and checks
# its output and the contents of its disk. A disk with a wrong byte must make it fail.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh qemu-system-x86_64
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "kernel: $*" >&2; exit 1; }

# Flags of the environment would replace those of the package, and linking would fail.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS
export CARGO_TARGET_DIR=$PWD/target/kernel
cd examples/kernel
cargo clippy --quiet --locked --release -- -D warnings
cargo build --quiet --locked --release
kernel=$CARGO_TARGET_DIR/x86_64-unknown-linux-gnu/release/furlong-kernel

# boot IMAGE CODE: it ends with this code, and has said what is in $work/serial.
boot() {
  local code=0
  bash boot.sh "$kernel" "$1" >"$work/serial" || code=$?
  [ "$code" -eq "$2" ] || { cat "$work/serial" >&2; fail "boot.sh ended with $code, not with $2"; }
}
# says COUNT NAME: so many lines begin with that name.
says() {
  local count
  count=$(grep -c "^$2 " "$work/serial") || true
  [ "$count" -eq "$1" ] || { cat "$work/serial" >&2; fail "$count lines of $2, not $1"; }
}

bash image.sh "$work/image"
cp "$work/image" "$work/before"
boot "$work/image" 0
for name in small phys malloc iova vmspace bounce disk PASS; do says 1 "$name"; done
says 0 FAIL
# The heap of 64 KiB was full: more than half of it in blocks of all sizes, and all of it free again.
grep -qE '^small +a heap of 65536 bytes, [3-6][0-9]{4} of them in use at most; [1-9][0-9]* requests refused' \
  "$work/serial" || { cat "$work/serial" >&2; fail "the heap of 64 KiB was not full"; }
{
  head -c $((512 * 512)) "$work/before"
  for ((sector = 512; sector < 1024; sector++)); do
    printf '%-511s\n' "written by the kernel to sector $sector"
  done
} >"$work/expected"
cmp "$work/image" "$work/expected" || fail "the disk does not hold what the kernel has written"
cat "$work/serial"

# Would it notice? One letter of sector 300 is another one.
cp "$work/before" "$work/image"
printf F | dd of="$work/image" bs=1 seek=$((300 * 512)) conv=notrunc status=none
cp "$work/image" "$work/before"
boot "$work/image" 1
says 1 FAIL
says 0 PASS
grep -q '^FAIL .*sector 300 of the disk' "$work/serial" || fail "it failed for another reason"
cmp "$work/image" "$work/before" || fail "it has written to a disk that is not its own"
echo "with a wrong byte on its disk: $(grep '^FAIL ' "$work/serial")"
