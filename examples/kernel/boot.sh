#!/usr/bin/env bash
# Boots the kernel in QEMU, emulated, and shows its serial line: boot.sh KERNEL [DISK-IMAGE]
# Without an image a fresh one is made. Exit: 0 after PASS, 1 after FAIL, 2 for anything else.
set -euo pipefail

qemu=qemu-system-x86_64
command -v "$qemu" >/dev/null || { echo "please install $qemu (on Debian: qemu-system-x86)" >&2; exit 2; }

image=${2:-}
if [ -z "$image" ]; then
  image=$(mktemp)
  trap 'rm -f "$image"' EXIT
  bash "$(dirname "${BASH_SOURCE[0]}")/image.sh" "$image"
fi

# 4 GiB of memory, of which the emulator only has what is touched; some of it lies above 4 GiB.
machine=(-machine "microvm,accel=tcg" -cpu max -m 4G -kernel "$1")
quiet=(-nodefaults -no-user-config -no-reboot -display none -serial stdio)
disk=(-global virtio-mmio.force-legacy=false -device virtio-blk-device,drive=disk
  -drive "id=disk,if=none,format=raw,file=$image")
code=0
timeout 120 "$qemu" "${machine[@]}" "${quiet[@]}" "${disk[@]}" \
  -device isa-debug-exit,iobase=0xf4,iosize=1 </dev/null || code=$?
case $code in
  33) exit 0 ;;
  35) exit 1 ;;
  124) echo "it has not come to an end within two minutes" >&2; exit 2 ;;
  *) echo "$qemu ended with $code" >&2; exit 2 ;;
esac
