#!/usr/bin/env bash
# Boots the kernel in QEMU, emulated, and shows its serial line: boot.sh KERNEL [DISK-IMAGE]
# Without an image a fresh one is made. Exit: 0 after PASS, 1 after FAIL, 2 for anything else.
set -euo pipefail

command -v qemu-system-x86_64 >/dev/null || {
  echo "please install qemu-system-x86_64 (on Debian: apt-get install qemu-system-x86)" >&2
  exit 2
}

image=${2:-}
if [ -z "$image" ]; then
  image=$(mktemp)
  trap 'rm -f "$image"' EXIT
  bash "$(dirname "${BASH_SOURCE[0]}")/image.sh" "$image"
fi

# 4 GiB of memory, of which the emulator only has what is touched; some of it lies above 4 GiB.
machine=(-machine "microvm,accel=tcg" -cpu max -m 4G -kernel "$1")
quiet=(-nodefaults -no-user-config -no-reboot -display none -serial stdio)
devices=(-global "virtio-mmio.force-legacy=false" -device "virtio-blk-device,drive=disk"
  -drive "id=disk,if=none,format=raw,file=$image" -device "isa-debug-exit,iobase=0xf4,iosize=1")
code=0
timeout 120 qemu-system-x86_64 "${machine[@]}" "${quiet[@]}" "${devices[@]}" </dev/null || code=$?
case $code in
  33) exit 0 ;;
  35) exit 1 ;;
  124) echo "it has not come to an end within two minutes" >&2; exit 2 ;;
  *) echo "qemu-system-x86_64 ended with $code" >&2; exit 2 ;;
esac
