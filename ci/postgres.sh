#!/usr/bin/env bash
# Sourced after ci/home.sh: starts a PostgreSQL server that ends with the script. `database` is its
# URL for --db, `sql TEXT` asks it, and `pg_log` is its log.
set -euo pipefail
pg_home=$(mktemp -d)
# shellcheck disable=SC2034 # for the script that sources this
pg_log=$pg_home/log
pg_programs=$(dirname "$(command -v initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' | tail -1)")
as_postgres=()
# The server refuses to run as root.
if [ "$(id -u)" -eq 0 ]; then
  chown postgres "$pg_home"
  as_postgres=(setpriv --reuid postgres --regid postgres --clear-groups)
fi
(
  cd "$pg_home"
  "${as_postgres[@]}" "$pg_programs/initdb" --auth=trust --username=lab --encoding=UTF8 --locale=C \
    --pgdata=data >/dev/null
  "${as_postgres[@]}" "$pg_programs/pg_ctl" --pgdata=data --log=log --wait start >/dev/null \
    --options="-c listen_addresses= -k $pg_home -c shared_buffers=512MB -c max_wal_size=8GB"
)
end_postgres() {
  (cd "$pg_home" && "${as_postgres[@]}" "$pg_programs/pg_ctl" --pgdata=data --mode=immediate stop >/dev/null)
  rm -rf "$pg_home"
}
# shellcheck disable=SC2034 # for the script that sources this
database="postgres:///postgres?host=$pg_home&user=lab"
sql() { PGOPTIONS='-c search_path=furlong' psql --quiet --no-psqlrc --tuples-only --no-align --host="$pg_home" --username=lab postgres --command="$1"; }
