#!/usr/bin/env bash
# Builds the allocator to preload and installs it, stripped, with the header furlong_malloc.h and the
# command furlong-malloc, which runs another command with it, below a folder: bash crates/furlong-preload/install.sh /usr/local
# DESTDIR=ROOT puts them below ROOT/usr/local, for a package. With DEB=FILE that package is a
# Debian one: DEB=furlong-malloc.deb bash crates/furlong-preload/install.sh /usr
set -euo pipefail
prefix=${1:?"which folder? bash crates/furlong-preload/install.sh /usr/local"}
prefix=$(realpath -m "$prefix")
deb=${DEB:+$(realpath -m "$DEB")}
work=
if [ -n "$deb" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  DESTDIR=$work/data
fi
to=${DESTDIR:+$(realpath -m "$DESTDIR")}$prefix
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=$(cargo pkgid -p furlong-preload | sed 's/.*[#@]//')
# As in furlong-c: before 1.0 each minor version is an interface of its own.
for name in furlong_malloc furlong_malloc_{plain,checked,secure}; do
  soname=lib$name.so.${version%.*}
  cargo rustc --profile preload -p furlong-preload --example "$name" -- \
    -Clink-arg=-Wl,-soname,"$soname"
  install -d "$to/lib"
  built=${CARGO_TARGET_DIR:-target}/preload/examples/lib$name.so
  strip --strip-unneeded -o "$to/lib/lib$name.so.$version" "$built"
  chmod 755 "$to/lib/lib$name.so.$version"
  ln -sf "lib$name.so.$version" "$to/lib/$soname"
  ln -sf "$soname" "$to/lib/lib$name.so"
done
install -d "$to/include" "$to/bin"
install -m 644 crates/furlong-preload/include/furlong_malloc.h "$to/include"
sed "s|@PREFIX@|$prefix|; s|@INTERFACE@|${version%.*}|" crates/furlong-preload/furlong-malloc.in \
  >"$to/bin/furlong-malloc"
chmod 755 "$to/bin/furlong-malloc"
[ -n "$deb" ] || exit 0

# A package is an archive of three files. Its control file says what the libraries need: the C
# library alone.
case $(uname -m) in
  x86_64) machine=amd64 ;;
  aarch64) machine=arm64 ;;
  *) machine=$(uname -m) ;;
esac
# The C library's interface has versions, and the highest that they use says which one they need.
libc=$(objdump -T "$work/data$prefix"/lib/*.so | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
install -d "$work/control"
cat >"$work/control/control" <<CONTROL
Package: furlong-malloc
Version: $version
Architecture: $machine
Maintainer: $(git log -1 --format='%an <%ae>' 2>/dev/null || echo 'nobody <nobody@localhost>')
Installed-Size: $(du -sk "$work/data" | cut -f1)
Depends: libc6 (>= ${libc#GLIBC_})
Section: libs
Priority: optional
Description: general-purpose memory allocator to preload
 furlong-malloc COMMAND runs a command with it.
CONTROL
echo 2.0 >"$work/debian-binary"
plain=(--owner=0 --group=0 --numeric-owner --sort=name --mtime=@0 -cz)
tar -C "$work/control" "${plain[@]}" -f "$work/control.tar.gz" ./control
tar -C "$work/data" "${plain[@]}" -f "$work/data.tar.gz" .
rm -f "$deb"
(cd "$work" && ar rcD "$deb" debian-binary control.tar.gz data.tar.gz)
echo "$deb"
