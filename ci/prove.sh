#!/usr/bin/env bash
# Proves the functions on words (size classes, runs of bits, alignments, boundaries, ends of the
# address space) for all inputs with z3, and refutes a mutant of each: ci/prove.sh [PROPERTY]..
# The properties are in crates/furlong/src/**/proofs.rs; ci/prove/prove.py describes the method.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh python3
work=${CARGO_TARGET_DIR:-target}/prove
python=$work/venv/bin/python
if ! "$python" -c 'import z3' 2>/dev/null; then
  python3 -m venv "$work/venv" 2>/dev/null || {
    bash ci/need.sh python3-venv
    python3 -m venv "$work/venv"
  }
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check z3-solver
fi
exec "$python" ci/prove/prove.py "$work" "$@"
