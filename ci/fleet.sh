#!/usr/bin/env bash
# A fleet of many nodes on this machine, which root starts: munge, Slurm's controller and a slurmd for
# each node; and PostgreSQL. For each number of nodes, a run with as many blocks is submitted, 1 % of
# its tasks are cancelled, what there is is collected, and the lost tasks are submitted again.
# bash ci/fleet.sh [NODES].. Prints the seconds of each step, and the load of the database and of the
# controller. Fails if a block is lost.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ "$(id -u)" -eq 0 ] || { echo "only root can start nodes" >&2; exit 2; }
bash ci/need.sh git cc jq munged slurmctld slurmd sbatch initdb psql
. ci/home.sh
cargo build --quiet --release -p furlong-cli --no-default-features --features team
. ci/postgres.sh
daemons=()
end() {
  [ ${#daemons[@]} -eq 0 ] || kill -9 "${daemons[@]}" 2>/dev/null || true
  end_postgres
  rm -rf "$home"
}
trap end EXIT
export SLURM_CONF

# daemon LOG COMMAND..: it ends with this script.
daemon() {
  local log=$1
  shift
  setpriv --pdeathsig KILL "$@" >"$log" 2>&1 </dev/null &
  daemons+=($!)
}

# until_so WHAT SECONDS COMMAND..: waits for the command to succeed.
until_so() {
  local what=$1 end=$((SECONDS + $2))
  shift 2
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || { echo "there is no $what" >&2; exit 1; }
    sleep 0.2
  done
}

# cluster NODES: starts a controller and the nodes, in a folder of their own.
cluster() {
  local nodes=$1 place=$home/slurm-$1 host number
  host=$(hostname -s)
  SLURM_CONF=$place/slurm.conf
  mkdir -p "$place/state"
  # Beside so many others on two processors, everything takes longer.
  sed -e "s|PLACE|$place|g" -e "s|HOST|$host|" -e "s|PORT|16817|" -e "s|n1,n2,n3|n[1-$nodes]|" \
    -e "s|cred_expire=5|cred_expire=120|" -e "s|^SlurmdTimeout=.*|SlurmdTimeout=300|" \
    crates/furlong-cli/tests/cli/fleet/slurm.conf >"$SLURM_CONF"
  echo "MessageTimeout=100" >>"$SLURM_CONF"
  echo "NodeName=n[1-$nodes] NodeHostname=$host NodeAddr=127.0.0.1 Port=[20001-$((20000 + nodes))]" \
    "CPUs=1 Boards=1 SocketsPerBoard=1 CoresPerSocket=1 ThreadsPerCore=1 RealMemory=10" >>"$SLURM_CONF"
  head -c 128 /dev/urandom >"$place/key"
  chmod 400 "$place/key"
  daemon "$place/munged" munged --foreground --force --key-file="$place/key" \
    --socket="$place/munge.socket" --pid-file="$place/munge.pid" --seed-file="$place/munge.seed"
  until_so munge 20 test -S "$place/munge.socket"
  daemon "$place/slurmctld" slurmctld -D -f "$SLURM_CONF"
  controller=$!
  for ((number = 1; number <= nodes; number++)); do
    daemon "$place/slurmd-$number" slurmd -D -f "$SLURM_CONF" -N "n$number"
  done
  until_so "idle fleet" 600 are_idle "$nodes"
}

are_idle() { [ "$(sinfo -h -t idle -o %D | awk '{ all += $1 } END { print all + 0 }')" = "$1" ]; }

# seconds COMMAND..: runs it and sets `took`.
seconds() {
  local began=$EPOCHREALTIME
  "$@"
  took=$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
}

# Transactions and inserted rows so far, and the controller's seconds.
load() {
  sleep 1.5
  sql "SELECT xact_commit || ' ' || tup_inserted FROM pg_stat_database WHERE datname = 'postgres'"
}
busy_s() { awk -v tick="$(getconf CLK_TCK)" '{ printf "%.1f", ($14 + $15) / tick }' "/proc/$controller/stat"; }

# call CODE WORD..: furlong, which must end with this code.
call() {
  local wanted=$1 code=0
  shift
  "$furlong" "$@" --quiet --html none >"$home/out" 2>"$home/err" || code=$?
  [ "$code" -eq "$wanted" ] || { echo "exit $code: furlong $*" >&2; tail -5 "$home/err" >&2; exit 1; }
}

no_task() { [ -z "$(squeue -h -o %i)" ]; }

printf '%s\n' "nodes  submitted in  all tasks in  collected in  lost  made good in  transactions  rows inserted  controller's CPU"
for nodes in "${@:-10}"; do
  cluster "$nodes"
  lost=$(((nodes + 99) / 100))
  read -r commits rows < <(load)
  before=$(busy_s)
  dir=$home/parts-$nodes
  seconds call 0 compare true true --blocks "$nodes" --name "fleet of $nodes" --on slurm --detach \
    --dir "$dir" --db "$database"
  submitted=$took
  job=$(squeue -h -o %F | sort -u)
  scancel "${job}_[$((nodes - lost + 1))-$nodes]"
  seconds until_so "end of the tasks" 1800 no_task
  all=$took
  seconds call 1 collect "$dir"
  collected=$took
  grep -q "$lost of $nodes blocks are missing" "$home/err"
  seconds call 0 collect "$dir" --resubmit --json "$home/found.json"
  good=$took
  jq -e --argjson nodes "$nodes" '.experiments[0].workloads[0] | (.blocks | length) == $nodes and
    ([.arms[].samples.wall_s[]] | length) == 2 * $nodes and all(.arms[].samples.wall_s[]; . > 0)' \
    "$home/found.json" >/dev/null
  cpu=$(awk -v a="$before" -v b="$(busy_s)" 'BEGIN { printf "%.1f", b - a }')
  read -r commits_then rows_then < <(load)
  printf '%5d  %10s s  %10s s  %10s s  %4d  %10s s  %12d  %13d  %14s s\n' "$nodes" "$submitted" "$all" \
    "$collected" "$lost" "$good" $((commits_then - commits)) $((rows_then - rows)) "$cpu"
  kill -9 "${daemons[@]}" 2>/dev/null || true
  wait "${daemons[@]}" 2>/dev/null || true
  daemons=()
done
