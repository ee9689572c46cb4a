#!/usr/bin/env bash
# Builds the libraries for C and installs them, stripped, with the header, the manual page and the
# files for pkg-config and CMake, below a folder: bash crates/furlong-c/install.sh /usr/local
# DESTDIR=ROOT puts them below ROOT/usr/local, for a package; what they say of themselves is then
# still true where the package is unpacked.
set -euo pipefail
prefix=${1:?"which folder? bash crates/furlong-c/install.sh /usr/local"}
prefix=$(realpath -m "$prefix")
to=${DESTDIR:+$(realpath -m "$DESTDIR")}$prefix
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=$(cargo pkgid -p furlong-c | sed 's/.*[#@]//')
# Before 1.0 each minor version is an interface of its own: a program starts only with the version
# that it was linked with.
soname=libfurlong_c.so.${version%.*}

cargo rustc --profile c -p furlong-c --lib -- -Clink-arg=-Wl,-soname,"$soname"
built=${CARGO_TARGET_DIR:-target}/c

install -Dm644 -t "$to/include" crates/furlong-c/include/furlong.h
install -d "$to/lib/pkgconfig" "$to/lib/cmake/furlong"
strip --strip-debug -o "$to/lib/libfurlong_c.a" "$built/libfurlong_c.a"
strip --strip-unneeded -o "$to/lib/libfurlong_c.so.$version" "$built/libfurlong_c.so"
chmod 644 "$to/lib/libfurlong_c.a"
chmod 755 "$to/lib/libfurlong_c.so.$version"
ln -sf "libfurlong_c.so.$version" "$to/lib/$soname"
ln -sf "$soname" "$to/lib/libfurlong_c.so"
install -Dm644 -t "$to/share/man/man3" crates/furlong-c/man/furlong.3
# filled FILE: with what is known here.
filled() { sed "s|@PREFIX@|$prefix|; s|@VERSION@|$version|; s|@INTERFACE@|${version%.*}|" "crates/furlong-c/$1"; }
filled furlong.pc.in >"$to/lib/pkgconfig/furlong.pc"
filled furlong-config.cmake.in >"$to/lib/cmake/furlong/furlong-config.cmake"
filled furlong-config-version.cmake.in >"$to/lib/cmake/furlong/furlong-config-version.cmake"
