//! Real programs behave under a preloaded library as without it, in a short form. A missing program
//! is reported (Debian: python3 libpython3-testsuite sqlite3 perl git make gcc g++ nodejs
//! redis-server).
#![forbid(unsafe_code)]

mod library;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, thread};

use library::library;

const LIBRARIES: [&str; 2] = ["furlong_malloc", "furlong_malloc_secure"];

/// A program, a command that succeeds if it is installed, and a shell script that makes it work and
/// print its results.
const PROGRAMS: &[(&str, &str, &str)] = &[
    (
        "python3",
        "command -v python3",
        "PYTHONMALLOC=malloc python3 -c '
import collections, json, re, sqlite3, subprocess, threading, multiprocessing
data = {str(i): [i] * (i % 50) for i in range(5000)}
assert json.loads(json.dumps(data)) == data
words = collections.Counter(re.findall(r\"\\d+\", json.dumps(data)))
out = []
def work(n): out.append(sum(len(str(i) * 3) for i in range(n)))
threads = [threading.Thread(target=work, args=(20000,)) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
db = sqlite3.connect(\":memory:\")
db.execute(\"create table t(a, b)\")
db.executemany(\"insert into t values(?, ?)\", ((i, str(i)) for i in range(20000)))
print(words[\"7\"], out, db.execute(\"select sum(a), max(b) from t\").fetchone())
print(subprocess.run([\"echo\", \"child\"], capture_output=True).stdout)
if __name__ == \"__main__\":
    with multiprocessing.get_context(\"fork\").Pool(2) as pool:
        print(sum(pool.map(abs, range(-500, 0))))
'",
    ),
    (
        "python3 by its own tests",
        "python3 -c 'import test.test_json'",
        "export PYTHONMALLOC=malloc
passes() { python3 -m test -q \"$@\" >log 2>&1 || { tail -n 30 log; exit 1; }; echo \"$1\"; }
passes test_json && passes test_re && passes test_collections && passes test_sqlite3
passes test_threading -m LockTests -m ConditionTests -m MiscTestCase
passes test_subprocess -m 'test_communicate*'
echo 'import unittest, test._test_multiprocessing as t
t.install_tests_in_module_dict(globals(), \"fork\")
if __name__ == \"__main__\": unittest.main()' >m.py
for part in Queue Array Heap Connection; do
python3 m.py -q WithProcessesTest$part >log 2>&1 || { tail -n 30 log; exit 1; }; echo $part; done",
    ),
    (
        "sqlite3",
        "command -v sqlite3",
        "echo 'create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000)
insert into t select i, hex(i * 7919) from n;
delete from t where a % 3 = 0; create index x on t(b) where a % 7 = 0;
select count(*), sum(a), max(b) from t; vacuum;' | sqlite3 :memory:",
    ),
    (
        "perl",
        "command -v perl",
        "perl -e 'my %h; for (1..50000) { push @{$h{$_ % 997}}, \"x\" x ($_ % 90) }
print join(\",\", map { @{$h{$_}} . length(join(\"\", @{$h{$_}})) } sort keys %h), \"\\n\"'",
    ),
    (
        "git",
        "command -v git",
        "git init -q . && for i in 1 2 3 4 5; do seq $i 3000 > f$i; git add . &&
git -c user.name=a -c user.email=b commit -qm $i; done; git gc -q; git fsck && git log --format=%s",
    ),
    (
        "make",
        "command -v make && command -v cc",
        "for i in 1 2 3 4; do echo \"int f$i(int x) { return x * $i; }\" > $i.c; done
printf 'all: 1.o 2.o 3.o 4.o\\n\\tar cr l.a $^\\n\\tnm l.a | grep -c T\\n' > Makefile; make -s -j2",
    ),
    (
        "g++",
        "command -v g++",
        "echo '#include <thread>
#include <vector>
#include <string>
#include <map>
#include <iostream>
struct Last { std::string* s = new std::string(3000, 97); ~Last() { std::cout << s->size();
delete s; } } last; thread_local Last each;
int main() { std::vector<std::thread> v; std::map<std::string, int> m[4];
for (int t = 0; t < 4; t++) v.emplace_back([&, t] { for (int i = 0; i < 20000; i++)
m[t][std::string(i % 70, char(65 + t)) + std::to_string(i)] = i; each.s->size(); });
for (auto& t : v) t.join(); size_t n = 0; for (auto& x : m) n += x.size(); std::cout << n;
try { std::vector<int> huge(size_t(1) << 60); }
catch (std::exception& e) { std::cout << e.what(); } }
' > a.cc; g++ -O1 -pthread a.cc -o a && ./a",
    ),
    (
        "rustc",
        "rustc --version",
        "echo 'use std::{collections::BTreeMap, sync::mpsc, thread};
fn main() { let (tx, rx) = mpsc::channel::<(u64, String)>();
let all: Vec<_> = (0..4u64).map(|t| { let tx = tx.clone(); thread::spawn(move || {
for i in 0..20000 { tx.send((i * 4 + t, i.to_string().repeat(i as usize % 20))).unwrap(); } })
}).collect(); drop(tx); let map: BTreeMap<_, _> = rx.into_iter().collect();
all.into_iter().for_each(|t| t.join().unwrap());
println!(\"{} {}\", map.len(), map.values().map(String::len).sum::<usize>()); }
' > a.rs; rustc -O a.rs && ./a",
    ),
    (
        "node",
        "command -v node",
        "node -e 'const m = new Map();
for (let i = 0; i < 1e5; i++) m.set(\"k\" + i, Buffer.alloc(i % 99));
let n = 0; for (const [k, v] of m) n += k.length + v.length; console.log(n)'",
    ),
    (
        "redis-server",
        "command -v redis-server && command -v redis-benchmark",
        "redis-server --port 0 --unixsocket ./s --dir . --daemonize no --save '' >log 2>&1 &
for i in $(seq 100); do [ -S s ] && break; sleep 0.1; done
redis-benchmark -s ./s -q -n 5000 -P 16 -d 100 -t set,get,lpush >/dev/null
redis-cli -s ./s debug populate 20000 k 100; redis-cli -s ./s bgsave >/dev/null
for i in $(seq 100); do [ -f dump.rdb ] && break; sleep 0.1; done
redis-cli -s ./s dbsize; redis-cli -s ./s shutdown nosave; wait; [ -f dump.rdb ] && echo saved",
    ),
];

fn succeeds(command: &str) -> bool {
    let output = Command::new("/bin/sh").args(["-c", command]).output();
    output.is_ok_and(|output| output.status.success())
}

/// A program's exit code, and its output.
type End = (Option<i32>, String);

/// Runs a script in a folder of its own.
fn run(script: &str, folder: &Path, library: Option<PathBuf>) -> End {
    // An earlier run may have been interrupted.
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).expect("there is room for a folder");
    let output = Command::new("/bin/sh")
        .args(["-c", script])
        .current_dir(folder)
        .envs(library.map(|path| ("LD_PRELOAD", path)))
        .output()
        .expect("there is a shell");
    fs::remove_dir_all(folder).expect("it is this test's");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    }
    (output.status.code(), said)
}

/// Runs a script without a library and with each, all at the same time: most of them wait.
fn runs(number: usize, script: &str) -> Vec<End> {
    let libraries = LIBRARIES.map(|name| Some(library(name)));
    let all = [None].into_iter().chain(libraries).enumerate();
    let (own, folder) = (std::process::id(), env::temp_dir());
    thread::scope(|scope| {
        let runs = all.map(|(run_number, library)| {
            let folder = folder.join(format!("furlong-real-{own}-{number}-{run_number}"));
            scope.spawn(move || run(script, &folder, library))
        });
        let runs: Vec<_> = runs.collect();
        let end = |run: thread::ScopedJoinHandle<'_, End>| run.join().expect("there is a shell");
        runs.into_iter().map(end).collect()
    })
}

#[test]
fn real_programs_end_as_without() {
    let mut found = 0;
    for (number, (program, needed, script)) in PROGRAMS.iter().enumerate() {
        if !succeeds(needed) {
            eprintln!("{program} is not installed: nothing is known about it");
            continue;
        }
        let ends = runs(number, script);
        assert_eq!(ends[0].0, Some(0), "{program} by itself: {}", ends[0].1);
        for (name, end) in LIBRARIES.iter().zip(&ends[1..]) {
            assert_eq!(*end, ends[0], "{program} with {name}");
        }
        found += 1;
    }
    assert!(found > 0, "none of the programs is installed");
}
