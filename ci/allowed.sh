#!/usr/bin/env bash
# Of TRIALS that may err at 5 % each, prints how many may err: the chance of more is below 2 %.
set -euo pipefail

awk -v n="${1:?give a number of trials}" 'BEGIN {
  for (k = 0; k <= n; k++) {
    term = k == 0 ? .95 ^ n : term * (n - k + 1) / k * .05 / .95
    sum += term
    if (1 - sum < .02) { print k; exit }
  }
}'
