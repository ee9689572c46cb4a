#!/usr/bin/env bash
# Other people's own tests under the preloaded allocator, in each of its grades, beside the same
# tests without it: ci/programs_tests.sh [glibc|python|redis|postgresql]..
#
# The tests are those of Debian's packages, which are downloaded into a temporary folder; the
# programs are the installed ones. Fails if a result differs that is not explained below.
# The functions of a part are called by its name; `|| true` is for the command in front of it.
# shellcheck disable=SC2317,SC2015
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash ci/need.sh cc python3 tclsh redis-server redis-benchmark initdb
for name in furlong_malloc furlong_malloc_checked furlong_malloc_secure; do
  cargo build --quiet -p furlong-preload --profile preload --example "$name"
done
libraries=$(realpath "${CARGO_TARGET_DIR:-target}")/preload/examples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A server of the database runs as a user without rights.
chmod 755 "$work"
cd "$work"

# Part, grade, test, and the reason why its result differs.
explained() {
  cat <<'LIST'
glibc any tst-malloc-backtrace writes in front of a freed block: a fault, or nothing in secure
glibc any tst-malloc-stats-cancellation reads glibc's own text of malloc_stats
glibc any tst-safe-linking wants damaged links in freed blocks to be found: there are no links
glibc any tst-dynarray-fail leaves 2 MiB of address space, less than an arena
glibc secure tst-free-errno maps memory over the end of a block: that is found as a write past it
glibc secure tst-malloc-usable passes: usable sizes are to the byte
glibc secure tst-malloc-usable-tunables passes: usable sizes are to the byte
LIST
}

# The deb-src lines that belong to the system's deb lines.
apt_of_sources() {
  mkdir -p parts lists/partial
  local file
  for file in /etc/apt/sources.list.d/*.sources; do
    sed 's/^Types:.*/Types: deb-src/' "$file" >"parts/$(basename "$file")"
  done
  local options=(-qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/parts"
    -o "Dir::State::lists=$work/lists" -o APT::Sandbox::User=root)
  [ -e lists/lock ] || apt-get "${options[@]}" update
  apt-get "${options[@]}" "$@" >/dev/null
}

# source_of BINARY FOLDER: unpacks the source of an installed package into a folder.
source_of() {
  local source version archive
  read -r source version < <(dpkg-query -W -f '${source:Package} ${source:Version}\n' "$1")
  apt_of_sources source --download-only "$source=$version"
  archive=$(ls "${source}"_*.orig.tar.*)
  mkdir "$2"
  tar xf "$archive" -C "$2" --strip-components=1
}

# package FOLDER NAME BESIDE: unpacks a package that need not be installed, if possible of the
# version of an installed one.
package() {
  local version
  version=$(dpkg-query -W -f '${Version}' "$3")
  apt-get -qq -o APT::Sandbox::User=root download "$2=$version" >/dev/null 2>&1 ||
    apt-get -qq -o APT::Sandbox::User=root download "$2" >/dev/null
  dpkg -x "$2"_*.deb "$1"
}

# Each part has a function that prepares it, and one that runs its tests with a library or without
# and prints a line for each: its name, and `ok` or not.

glibc_prepare() {
  source_of libc6 glibc
  cd glibc
  touch config.h libc-config.h
  # Headers of the library that is built come last: those of the system are meant.
  flags=(-std=gnu11 -O1 -w -fno-builtin -pthread -D_GNU_SOURCE -Isupport
    -idirafter . -idirafter include -idirafter sysdeps/generic -include stdbool.h -include limits.h
    -include sys/time.h '-Dlibc_hidden_proto(x)=' '-Dlibc_hidden_def(x)=' -Dattribute_hidden=
    -DTIMEOUTFACTOR=4 -D{SRC,OBJ,INST,LIB,BIN,SBIN,SLIB,ROOTSBIN,COMPLOCALE}DIR_PATH='"/"'
    -D{OBJ,INST}DIR_ELF_LDSO_PATH='"/"' '-D__set_errno(e)=(errno=(e))')
  mkdir objects programs
  local file name more
  for file in support/*.c malloc/{dynarray,alloc_buffer,scratch_buffer}_*.c; do
    cc "${flags[@]}" -c "$file" -o "objects/$(basename "$file" .c).o" 2>/dev/null || true
  done
  ar crs objects.a objects/*.o
  for file in malloc/tst-*.c; do
    name=$(basename "$file" .c) more=()
    case $name in
      # Parts of others, and programs that no library can be preloaded into.
      tst-interpose-aux* | tst-interpose-skeleton | tst-interpose-static-*) continue ;;
      tst-interpose-*) more=("malloc/${name/interpose/interpose-aux}.c") ;;
    esac
    cc "${flags[@]}" "$file" "${more[@]}" objects.a -o "programs/$name" 2>/dev/null || echo "$name"
  done >unbuilt
  echo "glibc: $(wc -l <unbuilt) of its tests need its own build: $(tr '\n' ' ' <unbuilt)"
  cd ..
}

glibc_run() {
  local program code
  for program in "$work"/glibc/programs/*; do
    code=0
    env ${1:+LD_PRELOAD="$1"} timeout 400 "$program" >/dev/null 2>&1 </dev/null || code=$?
    if [ "$code" -eq 0 ]; then echo "$(basename "$program") ok"; else
      echo "$(basename "$program") exit $code"; fi
  done
}

python=/usr/bin/python3
python_modules=(test_gc test_dict test_list test_set test_unicode test_bytes test_array test_mmap
  test_memoryview test_buffer test_weakref test_capi test_deque test_bigmem test_itertools test_io
  test_zlib test_bz2 test_lzma test_json test_pickle test_re test_decimal test_struct test_ctypes
  test_xml_etree_c test_ast test_compile test_thread test_fork1 test_subprocess test_queue
  test_multiprocessing_main_handling test_faulthandler test_signal test_posix test_tracemalloc
  test_atexit)

python_prepare() {
  local version
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  package python "libpython$version-testsuite" "python$version"
  # The installed part of the package `test` goes with it.
  mkdir python/path
  cp -r "/usr/lib/python$version/test" python/path/
  cp -r "python/usr/lib/python$version/test" python/path/
}

python_run() {
  mkdir -p python/run
  (cd python/run && env ${1:+LD_PRELOAD="$1"} PYTHONMALLOC=malloc PYTHONPATH="$work/python/path" \
    "$python" -m test -j2 --timeout 600 --junit-xml "$work/python/results" \
    "${python_modules[@]}" >"$work/python/log" 2>&1 </dev/null || true)
  # A module that crashes has no tests in the results, which therefore differ.
  "$python" - python/results <<'PYTHON'
import sys, xml.etree.ElementTree as tree
for case in tree.parse(sys.argv[1]).iter("testcase"):
    failed = any(child.tag in ("failure", "error") for child in case)
    print(str(case.get("name")).replace(" ", "_"), "failed" if failed else "ok")
PYTHON
}

redis_units=(unit/type/string unit/type/hash unit/type/set unit/type/incr unit/type/stream unit/scan
  unit/sort unit/hyperloglog unit/multi unit/pubsub unit/scripting unit/functions unit/lazyfree
  unit/querybuf unit/other)

redis_prepare() {
  source_of redis-server redis
  local program
  for program in server cli benchmark check-aof check-rdb; do
    ln -sf "$(command -v "redis-$program")" "redis/src/redis-$program"
  done
}

redis_run() {
  local units=()
  for unit in "${redis_units[@]}"; do units+=(--single "$unit"); done
  (cd redis && env ${1:+LD_PRELOAD="$1"} ./runtest --clients 2 --baseport 31111 \
    --dont-clean "${units[@]}" </dev/null || true) >redis/log 2>&1
  sed 's/\x1b\[[0-9;]*m//g' redis/log |
    sed -n 's/^\[\(ok\|err\|exception\|timeout\)\]: \(.*\)/\2|\1/p' |
    sed 's/ ([0-9]* ms)//; s/ in tests.*|/|/; s/ /_/g; s/|/ /'
}

postgresql_prepare() {
  local version
  version=$(find /usr/lib/postgresql -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | tail -n 1)
  server=/usr/lib/postgresql/$version
  source_of "postgresql-$version" postgresql
  package postgresql/dev "postgresql-server-dev-$version" "postgresql-$version"
  cc -shared -fPIC -O1 -w -I "postgresql/dev/usr/include/postgresql/$version/server" \
    postgresql/src/test/regress/regress.c -o postgresql/regress.so
  chown -R postgres postgresql
}

# as_server COMMAND..: as the database's user.
as_server() {
  (cd postgresql && setpriv --reuid=postgres --regid=postgres --init-groups "$@")
}

postgresql_run() {
  local with=(env ${1:+LD_PRELOAD="$1"}) socket=$work/postgresql/socket
  as_server rm -rf data out socket
  as_server mkdir out socket
  as_server "${with[@]}" "$server/bin/initdb" -D data -A trust --locale=C.UTF-8 --no-sync >/dev/null
  as_server "${with[@]}" "$server/bin/pg_ctl" -D data -w -l log -o "-k $socket -h '' -F" start \
    >/dev/null
  as_server "$server/lib/pgxs/src/test/regress/pg_regress" --bindir="$server/bin" \
    --dlpath="$work/postgresql" --inputdir=src/test/regress --outputdir=out --host="$socket" \
    --schedule=src/test/regress/parallel_schedule --max-connections=4 >postgresql/ran 2>&1 || true
  as_server "$server/bin/pg_ctl" -D data -m fast stop >/dev/null
  sed -n 's/^test \([a-z_0-9]*\) .*\.\.\. \(ok\|FAILED\).*/\1 \2/p;
    s/^ *\([a-z_0-9]*\) *\.\.\. \(ok\|FAILED\).*/\1 \2/p' postgresql/ran
}

# differing PART GRADE: the tests of whose results one is without, and the other with this grade.
differing() {
  comm -3 "$1.without" "$1.$2" | awk '{ print $1 }' | sort -u
}

failed=0
compare() {
  local part=$1 grade library unknown again
  "${part}_prepare"
  "${part}_run" "" | sort -u >"$part.without"
  [ -s "$part.without" ] || { echo "$part: no test ran" >&2; exit 1; }
  printf '%-11s %-8s %6d tests, %6d passed\n' "$part" without "$(wc -l <"$part.without")" \
    "$(grep -c ' ok$' "$part.without")"
  for grade in default checked secure; do
    library=$libraries/libfurlong_malloc_$grade.so
    [ "$grade" != default ] || library=$libraries/libfurlong_malloc.so
    "${part}_run" "$library" | sort -u >"$part.$grade"
    differing "$part" "$grade" >differ
    explained | awk -v p="$part" -v g="$grade" '$1 == p && ($2 == g || $2 == "any") { print $3 }' |
      sort -u >known
    unknown=$(comm -23 differ known)
    again=
    if [ -n "$unknown" ]; then
      # A test that depends on the time may fail once, with any allocator.
      mv differ first
      "${part}_run" "$library" | sort -u >"$part.$grade"
      differing "$part" "$grade" | comm -12 - first >differ
      unknown=$(comm -23 differ known)
      again=", $(comm -23 first differ | wc -l) only once"
    fi
    printf '%-11s %-8s %6d tests, %6d passed, %3d differ from without, %d unexplained%s\n' "$part" \
      "$grade" "$(wc -l <"$part.$grade")" "$(grep -c ' ok$' "$part.$grade")" "$(wc -l <differ)" \
      "$(grep -c . <<<"$unknown" || true)" "$again"
    [ -z "$unknown" ] || { printf '  unexplained: %s\n' "${unknown//$'\n'/ }"; failed=1; }
  done
  explained | awk -v p="$part" '$1 == p { $1 = " "; print }'
}

parts=("$@")
[ "${#parts[@]}" -gt 0 ] || parts=(glibc python redis postgresql)
for part in "${parts[@]}"; do compare "$part"; done
exit "$failed"
