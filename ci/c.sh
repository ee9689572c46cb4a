#!/usr/bin/env bash
# The C interface: builds its tests with the system's compiler against the static and the shared
# library, under AddressSanitizer, and against the library without Rust's standard library. Also
# compiles the header as C++, and checks the manual page.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh gcc g++ groff pkg-config cmake make

crate=$PWD/crates/furlong-c
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
c_flags=(-std=c11 -pedantic -Wall -Wextra -Werror -O1 -g "-I$work/prefix/include")

bash "$crate/install.sh" "$work/prefix"
installed=$work/prefix/lib
# The same with the checks of AddressSanitizer in the library itself, so that it sees what a handle
# is used for after its end. The flag is called unstable, hence RUSTC_BOOTSTRAP.
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address -Cforce-frame-pointers=yes" \
  CARGO_PROFILE_C_OPT_LEVEL=1 cargo build --profile c -p furlong-c --lib --target "$host" --target-dir target/c-asan
checked=("$PWD/target/c-asan/$host/c/libfurlong_c.a")

read -ra shared < <(PKG_CONFIG_PATH=$installed/pkgconfig pkg-config --cflags --libs furlong)
read -ra static < <(PKG_CONFIG_PATH=$installed/pkgconfig pkg-config --static --libs-only-l furlong)
static=("${static[@]/#-lfurlong_c/$installed/libfurlong_c.a}")
checked+=("${static[@]:1}")
# links NAME PROGRAM FLAGS..: builds a test as NAME.
links() {
  local name=$1 program=$2
  shift 2
  cc "${c_flags[@]}" -o "$work/$name" "$crate/tests/c/$program.c" "$@"
}

export ASAN_OPTIONS="detect_stack_use_after_return=1:strict_init_order=1:detect_leaks=1"
for program in example maple iova phys vmspace vmspace_table bounce side_by_side nonsense; do
  links static "$program" "${static[@]}"
  links shared "$program" "${shared[@]}" "-Wl,-rpath,$installed"
  links asan "$program" -fsanitize=address,undefined -fno-sanitize-recover=all "${checked[@]}"
  for kind in static shared asan; do
    "$work/$kind" >"$work/$kind.out" || { echo "$program failed: $kind" >&2; exit 1; }
  done
  cmp "$work/static.out" "$work/shared.out"
  cmp "$work/static.out" "$work/asan.out"
  cat "$work/static.out"
done
echo "static, shared and under AddressSanitizer: the same answers"

# Would they notice? planted PROGRAM WORDS: it must fail with these words.
planted() {
  local program=$1 words=$2
  links planted "planted_$program" -fsanitize=address "${checked[@]}"
  if "$work/planted" >"$work/out" 2>&1 || ! grep -q "$words" "$work/out"; then
    cat "$work/out" >&2
    echo "the planted $program was not seen" >&2
    exit 1
  fi
}
planted failure 'planted_failure.c:10: .* is -22, not 0'
planted use 'AddressSanitizer: heap-use-after-free'
planted leak 'LeakSanitizer: detected memory leaks'
echo "planted errors are seen"

# The header as C++, and alone.
printf '#include <furlong.h>\nint main() { return furlong_maple_check(NULL) == 0; }\n' >"$work/alone.cc"
g++ -std=c++11 -pedantic -Wall -Wextra -Werror "-I$crate/include" -o "$work/alone" "$work/alone.cc" \
  "${static[@]}"
"$work/alone"
echo "the header compiles as C++"

# What was linked with this interface asks for this one.
soname=$(objdump -p "$installed/libfurlong_c.so" | awk '$1 == "SONAME" { print $2 }')
needed=$(objdump -p "$work/shared" | awk '$1 == "NEEDED" && $2 ~ /furlong/ { print $2 }')
[[ "$soname" =~ ^libfurlong_c\.so\.[0-9]+\.[0-9]+$ && "$needed" == "$soname" ]] ||
  { echo "the library is called '$soname', and programs ask for '$needed'" >&2; exit 1; }

# For a package: the same files below DESTDIR, which they do not name. CMake finds them anywhere.
DESTDIR=$work/stage bash "$crate/install.sh" /opt/furlong
stage=$work/stage/opt/furlong
files() { (cd "$1" && find . -type f -o -type l | sort); }
diff <(files "$work/prefix") <(files "$stage")
if grep -rqI "$work" "$stage/lib"; then echo "what is installed names DESTDIR" >&2; exit 1; fi
if readelf -SW "$stage/lib/libfurlong_c.so" | grep -q '\.symtab\|\.debug'; then
  echo "the shared library is not stripped" >&2
  exit 1
fi
mkdir "$work/cmake"
cp "$crate/tests/c/example.c" "$work/cmake"
cat >"$work/cmake/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(example C)
find_package(furlong 0.1 CONFIG REQUIRED)
foreach(kind furlong static)
  add_executable(with_${kind} example.c)
  target_link_libraries(with_${kind} furlong::${kind})
endforeach()
find_package(furlong 0.2 CONFIG QUIET)
if(furlong_FOUND)
  message(FATAL_ERROR "version 0.2 is another interface")
endif()
CMAKE
if ! { cmake -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_PREFIX_PATH="$stage" &&
  cmake --build "$work/cmake/build"; } >"$work/out"; then
  cat "$work/out" >&2
  exit 1
fi
for kind in furlong static; do "$work/cmake/build/with_$kind" >"$work/$kind.out"; done
cmp "$work/furlong.out" "$work/static.out"
echo "a package and CMake have it, too"

# Nothing but the interface is exported.
foreign=$(nm -D --defined-only "$installed/libfurlong_c.so" | awk '{print $NF}' | grep -v '^furlong_' || true)
[ -z "$foreign" ] || { echo "libfurlong_c.so also exports: $foreign" >&2; exit 1; }

# Without Rust's standard library, over a heap of the program's.
cargo rustc --profile c -p furlong-c --lib --no-default-features --crate-type staticlib \
  --target-dir target/c-port -- -D warnings
for program in maple iova phys vmspace vmspace_table bounce no_heap failing_heap; do
  sources=("$crate/tests/c/$program.c")
  case $program in *_heap) ;; *) sources+=("$crate/tests/c/port.c") ;; esac
  cc "${c_flags[@]}" -o "$work/port" "${sources[@]}" target/c-port/c/libfurlong_c.a
  "$work/port"
done
echo "without Rust's standard library: the same answers"

# It wants nothing else of the kernel: linked with nothing, every function in, only these miss.
mapfile -t wanted < <(sed -n 's/^extern //; s/^.*\b\(furlong_[a-z_]*\)(.*/\1/p' "$crate/include/furlong.h" |
  grep -v '^furlong_port_' | sort -u)
cc -static -nostdlib -Wl,--gc-sections -Wl,-e,furlong_maple_create "${wanted[@]/#/-Wl,-u,}" \
  -Wl,--unresolved-symbols=ignore-all target/c-port/c/libfurlong_c.a -o "$work/alone.bin"
foreign=$(nm -u "$work/alone.bin" | awk '{print $NF}' |
  grep -vxE 'furlong_port_(allocate|free|panic)|mem(cpy|move|set|cmp)' || true)
[ -z "$foreign" ] || { echo "libfurlong_c.a also wants: $foreign" >&2; exit 1; }
echo "${#wanted[@]} functions want nothing of a kernel but a heap and memcpy"

# The manual page, without a warning, and its example.
{
  printf '#include <furlong.h>\nint main(void)\n{\n'
  sed -n '/^\.Bd/,/^\.Ed/{/^\./d;p}' "$crate/man/furlong.3"
  printf 'return 0;\n}\n'
} >"$work/manual.c"
cc "${c_flags[@]}" -o "$work/manual" "$work/manual.c" "${static[@]}"
"$work/manual"
groff -mandoc -Tutf8 -ww -z "$work/prefix/share/man/man3/furlong.3" 2>"$work/warnings"
[ ! -s "$work/warnings" ] || { cat "$work/warnings" >&2; exit 1; }
echo "the manual page has no warning"

# The allocator to preload: installed, run, linked with, and in a Debian package.
preload=crates/furlong-preload
bash "$preload/install.sh" "$work/malloc"
for kind in "" --plain --checked --secure; do
  FURLONG_MALLOC_STATISTICS=1 "$work/malloc/bin/furlong-malloc" $kind ls / >/dev/null 2>"$work/said"
  for said in '^process [0-9]+ ls$' '^used_bytes '; do
    grep -Eq "$said" "$work/said" ||
      { echo "furlong-malloc $kind ls: no statistics" >&2; exit 1; }
  done
done
if "$work/malloc/bin/furlong-malloc" 2>/dev/null; then echo "it ran nothing" >&2; exit 1; fi
# Its header declares what the library has, as C and as C++; a program is linked with it.
declared=$(grep -oE '\bfurlong_[a-z_]+\(' "$work/malloc/include/furlong_malloc.h" | tr -d '(' | sort -u)
diff <(nm -D --defined-only "$work/malloc/lib/libfurlong_malloc.so" | awk '$3 ~ /^furlong_/ { print $3 }' |
  sort) - <<<"$declared"
linked=("-I$work/malloc/include" "-L$work/malloc/lib" -lfurlong_malloc "-Wl,-rpath,$work/malloc/lib")
printf '#include <furlong_malloc.h>\nint main() { furlong_heap_destroy(furlong_heap_create()); }\n' \
  >"$work/heap.cc"
g++ -std=c++11 -pedantic -Wall -Wextra -Werror -o "$work/heap" "$work/heap.cc" "${linked[@]}"
"$work/heap"
cc "${c_flags[@]}" -o "$work/heaps" "$preload/tests/c_programs/heaps.c" -pthread "${linked[@]}"
"$work/heaps" blocks
DEB=$work/malloc.deb bash "$preload/install.sh" /usr
mkdir "$work/deb"
(cd "$work/deb" && ar x ../malloc.deb && tar xzf data.tar.gz && tar xzf control.tar.gz)
grep -q "^Version: [0-9]" "$work/deb/control"
diff <(cd "$work/malloc" && find . ! -type d | sort) <(cd "$work/deb/usr" && find . ! -type d | sort)
grep -q 'library=/usr/lib/libfurlong_malloc' "$work/deb/usr/bin/furlong-malloc"
if readelf -SW "$work"/deb/usr/lib/*.so | grep -q '\.symtab\|\.debug'; then
  echo "the libraries to preload are not stripped" >&2
  exit 1
fi
if command -v dpkg-deb >/dev/null; then dpkg-deb --info "$work/malloc.deb" >/dev/null; fi
LD_PRELOAD="$work/deb/usr/lib/libfurlong_malloc.so" ls / >/dev/null
echo "the allocator is installed, and packed for Debian"
