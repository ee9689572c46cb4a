#!/usr/bin/env bash
# Runs the tests of library, specification and adapters as aarch64 programs under qemu. It emulates
# the processor but not its weak memory ordering, for which there are the loom models. Also builds
# the preloaded library and puts it in front of programs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh qemu-aarch64 aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ \
  /usr/aarch64-linux-gnu/lib/libc.so.6
target=aarch64-unknown-linux-gnu
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
  rustup target add "$target" || { echo "please add Rust's target $target" >&2; exit 1; }
fi
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/program.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	enum { BLOCKS = 10000 };
	static char *blocks[BLOCKS];
	for (size_t i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(i + 1);
		if (!blocks[i])
			return 1;
		memset(blocks[i], (int)(i % 251), i + 1);
	}
	for (size_t i = 0; i < BLOCKS; i++) {
		for (size_t byte = 0; byte <= i; byte++)
			if (blocks[i][byte] != (char)(i % 251))
				return 2;
		free(blocks[i]);
	}
	return 0;
}
C
aarch64-linux-gnu-gcc -O1 -o "$work/program" "$work/program.c"
cargo build --quiet --target "$target" -p furlong-preload --profile preload --examples
library=${CARGO_TARGET_DIR:-$PWD/target}/$target/preload/examples/libfurlong_malloc.so
emulated() { qemu-aarch64 -L /usr/aarch64-linux-gnu "$@"; }
# preloaded OPTION..: runs the program with them; what it says is in $work/said.
preloaded() { emulated "$@" "$work/program" 2>"$work/said"; }
# Would it notice that the library is not in front? Without it nothing is said.
preloaded -E FURLONG_MALLOC_STATISTICS=1
[ ! -s "$work/said" ] || { cat "$work/said" >&2; exit 1; }
preloaded -E FURLONG_MALLOC_STATISTICS=1 -E LD_PRELOAD="$library"
[ -s "$work/said" ] || { echo "the preloaded library was not in front of the program" >&2; exit 1; }
echo "a program for $(aarch64-linux-gnu-gcc -dumpmachine) ran with the preloaded library:"
cat "$work/said"

aarch64-linux-gnu-g++ -std=c++17 -O1 -o "$work/handlers" \
  crates/furlong-preload/tests/c_programs/handlers.cpp
# Without its own operators the library would pass: the C++ library's call malloc.
aarch64-linux-gnu-nm -D "$library" | grep -q ' T _Znwm$'
emulated "$work/handlers" >"$work/own"
emulated -E LD_PRELOAD="$library" "$work/handlers" >"$work/with"
cmp "$work/own" "$work/with"
echo "every form of C++'s new does with it what the C++ library's does: $(wc -l <"$work/own") cases"

# Left out: a test that starts itself anew, which would not be emulated.
cargo test -p furlong -p furlong-spec -p furlong-adapters --lib --tests --features furlong/std \
  --target "$target" "$@" -- --skip who_writes_is_stopped
