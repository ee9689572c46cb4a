#!/usr/bin/env bash
# Builds the libraries for C and installs them, the header, the manual page and the file for
# pkg-config below a folder: bash crates/furlong-c/install.sh /usr/local
set -euo pipefail
prefix=${1:?"which folder? bash crates/furlong-c/install.sh /usr/local"}
prefix=$(realpath -m "$prefix")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=$(cargo pkgid -p furlong-c | sed 's/.*[#@]//')
# Before 1.0 each minor version is an interface of its own: a program starts only with the version
# that it was linked with.
soname=libfurlong_c.so.${version%.*}

cargo rustc --profile c -p furlong-c --lib -- -Clink-arg=-Wl,-soname,"$soname"
built=${CARGO_TARGET_DIR:-target}/c

install -Dm644 -t "$prefix/include" crates/furlong-c/include/furlong.h
install -Dm644 -t "$prefix/lib" "$built/libfurlong_c.a"
install -Dm755 "$built/libfurlong_c.so" "$prefix/lib/libfurlong_c.so.$version"
ln -sf "libfurlong_c.so.$version" "$prefix/lib/$soname"
ln -sf "$soname" "$prefix/lib/libfurlong_c.so"
install -Dm644 -t "$prefix/share/man/man3" crates/furlong-c/man/furlong.3
install -d "$prefix/lib/pkgconfig"
sed "s|@PREFIX@|$prefix|; s|@VERSION@|$version|" crates/furlong-c/furlong.pc.in \
  >"$prefix/lib/pkgconfig/furlong.pc"
