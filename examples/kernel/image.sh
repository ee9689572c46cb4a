#!/usr/bin/env bash
# Makes the disk that the kernel expects: image.sh FILE
# 512 sectors with a line of text each, and 512 empty ones for the kernel to write.
set -euo pipefail

for ((sector = 0; sector < 512; sector++)); do
  printf '%-511s\n' "furlong sector $sector"
done >"$1"
truncate -s $((1024 * 512)) "$1"
