#!/usr/bin/env bash
# The command as a newcomer meets it: runs README.md's own line under the smallest profile, with
# every report, then shows the same run from the store, and checks that bad input is refused.
# Nothing here is a measurement.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash ci/need.sh node
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME="$work/data" NO_COLOR=1
db=$work/runs.db

fail() { echo "smoke: $*" >&2; exit 1; }
# The build of the tests: what runs here is the command, and nobody looks at its figures. Any other
# selection of packages has other features and would compile everything again.
cargo test --quiet --workspace --test cli --no-run
furlong() { target/debug/furlong "$@"; }
# has FILE TEXT: the file holds the text, as it is.
has() { grep -qF -- "$2" "$1" || { cat "$1" >&2; fail "$1 does not hold: $2"; }; }
# refuses CODE ARGUMENT..: the command ends with that code and says why, without a panic.
refuses() {
  local code=0
  furlong "${@:2}" >"$work/out" 2>"$work/err" </dev/null || code=$?
  [ "$code" -eq "$1" ] || { cat "$work/err" >&2; fail "furlong ${*:2}: exit $code, not $1"; }
  [ -s "$work/err" ] || fail "furlong ${*:2}: refused without a word"
  if grep -qE 'panicked|RUST_BACKTRACE' "$work/err"; then fail "furlong ${*:2}: panicked"; fi
}

experiments=()
for plan in experiments/*/plan.toml; do experiments+=("$(basename "$(dirname "$plan")")"); done
[ "${#experiments[@]}" -gt 0 ] || fail "there is no experiment"

# The first workload of each kind: a hundred others are the same code with other numbers. Programs
# that others wrote are workloads only for a user who has fetched them.
workloads=$(awk '
  /^\[\[/ { inside = $0 == "[[workloads]]"; name = kind = "" }
  inside && /^name = / { name = $3 }
  inside && /^kind = / { kind = $0 }
  inside && /^about = / && kind !~ /public/ && !seen[FILENAME, kind]++ { gsub(/"/, "", name); print name }
' experiments/*/plan.toml | paste -sd ,)

run=$(grep -E '^cargo run' README.md)
[ "$(wc -l <<<"$run")" -eq 1 ] || fail "README.md must have one line that begins with cargo run"
[[ "$run" == "cargo run --release -- "* ]] || fail "README.md has not: cargo run --release -- .."
run="target/debug/furlong ${run#cargo run --release -- } --profile smoke --workloads $workloads --db $db"
run+=" --json $work/r.json --html $work/r.html --md $work/r.md --csv $work/r.csv"
echo "+ $run"
bash -euc "$run" >"$work/terminal"
furlong list --db "$db" >"$work/list"
furlong show --db "$db" >"$work/show"
for name in "${experiments[@]}"; do
  for file in terminal list show r.json r.html r.md r.csv; do has "$work/$file" "$name"; done
done

node - "$work/r.json" "${experiments[@]}" <<'JS'
const [file, ...names] = process.argv.slice(2);
const result = JSON.parse(require("fs").readFileSync(file, "utf8"));
const must = (fact, what) => { if (!fact) throw new Error(`${file}: ${what}`); };
must(result.schema === "furlong.result/1", "schema");
must(result.run.profile === "smoke", "profile");
const found = result.experiments.map((e) => e.name).sort().join();
must(found === [...names].sort().join(), `experiments: ${found}`);
for (const { name, workloads } of result.experiments) {
  must(workloads.length > 0, `${name} has no workload`);
  for (const w of workloads) {
    must(w.arms.length > 1 && w.comparisons.length > 0, `${name} ${w.name} compares nothing`);
    const sampled = w.comparisons.filter((c) => c.n !== undefined && c.paired);
    must(sampled.every((c) => !["keep", "revert"].includes(c.verdict)), "a verdict on 3 blocks");
  }
}
JS

# One file that needs nothing else: a browser must not be asked to fetch anything.
has "$work/r.html" "</html>"
has "$work/r.html" "<svg"
if grep -qiE '<(link|iframe|img|script)[^>]*(src|href)=|@import|url\((.?)(https?:|//)' "$work/r.html"; then
  fail "the HTML report would fetch something"
fi

seq 100 120 >"$work/a"
seq 200 220 >"$work/b"
furlong stat --ministat "$work/a" "$work/b" >"$work/ministat"
has "$work/ministat" "Difference at 95.0% confidence"
furlong stat "$work/a" "$work/b" >"$work/stat"
has "$work/stat" "$work/b"

refuses 2 run no-such-experiment --db none
refuses 2 run --profile smoke --db none --html "$work/no/such/folder/r.html"
refuses 2 stat "$work/no-such-file"
refuses 2 no-such-verb
echo "smoke: ${#experiments[@]} experiments ran, were stored and reported"
