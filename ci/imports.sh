#!/usr/bin/env bash
# Lets ten tools measure something short, and imports the files that they wrote: ci/imports.sh.
# They come from the package registries: Debian (hyperfine, perf), PyPI (pytest-benchmark, Google
# Benchmark), Maven Central (JMH), the Go module proxy (benchstat) and crates.io (criterion, divan).
# A tool that cannot be installed is left out, and said. BenchmarkDotNet needs NuGet, which is none
# of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cargo build --quiet --release -p furlong-cli
furlong=$PWD/target/release/furlong
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

# imported TOOL WORKLOAD FILE..: imports the files and looks for a workload in the record.
imported() {
  local tool=$1 workload=$2
  shift 2
  "$furlong" import --db r.db --here --quiet "$@"
  "$furlong" export latest --db r.db >r.json
  jq -e --arg workload "$workload" \
    '.experiments[0].workloads | any(.name == $workload and (.arms[0].samples | length) > 0)' \
    r.json >jq.out || { echo "$tool: no workload $workload in" >&2; cat r.json >&2; exit 1; }
  echo "$tool: $(jq -r '.run.version' r.json), $(jq '.experiments[0].workloads | length' r.json) workloads"
  rm -f r.db*
}

# has PROGRAM: true if it is installed; says so if not.
has() { command -v "$1" >where || { echo "$1 is not installed: left out"; return 1; }; }

if has hyperfine; then
  hyperfine -N -r 5 --export-json hyperfine.json true 'sleep 0.001' >log 2>&1
  imported hyperfine 'sleep 0.001' hyperfine.json
fi
if has perf && perf stat -r 3 -o perf.txt true 2>log; then
  perf stat -x, -o perf.csv true
  perf stat -j -o perf.json true
  for file in perf.txt perf.csv perf.json; do
    event=$(grep -o 'page-faults[:u]*' "$file" | head -1)
    imported "perf stat ($file)" "$event" "$file"
  done
fi

cat >test_sum.py <<'PY'
def test_sum(benchmark):
    benchmark(sum, range(1000))
PY
cat >google.py <<'PY'
import google_benchmark
@google_benchmark.register
def sums(state):
    while state:
        sum(range(1000))
google_benchmark.main()
PY
if has python3 && python3 -m venv v && v/bin/pip --quiet install pytest pytest-benchmark >log 2>&1; then
  v/bin/pytest -q --benchmark-json=pytest.json --benchmark-max-time=0.05 test_sum.py >log 2>&1
  imported pytest-benchmark test_sum.py::test_sum pytest.json
  if v/bin/pip --quiet install google-benchmark >log 2>&1; then
    v/bin/python google.py --benchmark_repetitions=4 --benchmark_min_time=0.02s \
      --benchmark_out=google.json --benchmark_out_format=json >log 2>&1
    imported 'Google Benchmark' sums google.json
  fi
fi

mkdir -p go jmh/src/main/java/b rust/benches rust/src
if has go; then
  printf 'module x\ngo 1.21\n' >go/go.mod
  cat >go/x_test.go <<'GO'
package x

import "testing"

func BenchmarkSum(b *testing.B) {
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		s := make([]int, 100)
		for j := range s {
			s[j] += j * i
		}
	}
}
GO
  for side in old new; do
    (cd go && GOMAXPROCS=1 go test -bench . -count 6 -benchtime 20ms) >$side.txt
  done
  imported "Go's benchmarks" Sum old.txt
  if GOBIN=$place go install golang.org/x/perf/cmd/benchstat@latest >log 2>&1; then
    ./benchstat old.txt new.txt >benchstat.txt
    imported benchstat 'Sum new.txt' benchstat.txt
  fi
fi

cat >jmh/pom.xml <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>b</groupId><artifactId>b</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>
  </properties>
  <dependencies>
    <dependency><groupId>org.openjdk.jmh</groupId><artifactId>jmh-core</artifactId>
      <version>1.37</version></dependency>
    <dependency><groupId>org.openjdk.jmh</groupId><artifactId>jmh-generator-annprocess</artifactId>
      <version>1.37</version><scope>provided</scope></dependency>
  </dependencies>
</project>
XML
cat >jmh/src/main/java/b/B.java <<'JAVA'
package b;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.*;

@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 1, time = 50, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 3, time = 50, timeUnit = TimeUnit.MILLISECONDS)
public class B {
  @Param("10") int n;

  @Benchmark
  @BenchmarkMode(Mode.AverageTime)
  @OutputTimeUnit(TimeUnit.NANOSECONDS)
  public int sum() {
    int s = 0;
    for (int i = 0; i < n; i++) s += i ^ n;
    return s;
  }
}
JAVA
if has mvn && (cd jmh && mvn -q -B package dependency:build-classpath -Dmdep.outputFile=cp) >log 2>&1
then
  (cd jmh && java -cp "target/classes:$(cat cp)" org.openjdk.jmh.Main -rf json -rff ../jmh.json) \
    >log 2>&1
  imported JMH 'b.B.sum n=10' jmh.json
fi

cat >rust/Cargo.toml <<'TOML'
[package]
name = "rust"
version = "0.1.0"
edition = "2021"
[dev-dependencies]
divan = "0.1"
criterion = { version = "0.5", default-features = false }
[[bench]]
name = "divans"
harness = false
[[bench]]
name = "criteria"
harness = false
[workspace]
TOML
: >rust/src/lib.rs
cat >rust/benches/divans.rs <<'RS'
fn main() {
    divan::main();
}

#[divan::bench(args = [10, 1000])]
fn sum(n: u64) -> u64 {
    (0..divan::black_box(n)).map(|x| x ^ (x >> 3)).sum()
}
RS
cat >rust/benches/criteria.rs <<'RS'
use criterion::{BenchmarkId, Criterion, black_box, criterion_group, criterion_main};

fn sums(c: &mut Criterion) {
    let mut group = c.benchmark_group("group");
    let id = BenchmarkId::new("sum", 10);
    group.bench_with_input(id, &10_u64, |b, n| b.iter(|| (0..black_box(*n)).sum::<u64>()));
}

criterion_group!(all, sums);
criterion_main!(all);
RS
cd rust
export CARGO_TARGET_DIR=$place/rust/target
cargo bench --quiet --bench divans >../divan.txt 2>../log
cargo bench --quiet --bench criteria -- --warm-up-time 0.2 --measurement-time 0.4 >../log 2>&1
cd ..
imported divan divans/sum/10 divan.txt
imported criterion group/sum/10 rust/target/criterion/group/sum/10/new/sample.json
