#!/usr/bin/env bash
# Speed: the core by criterion, then every bench/*.sql in a private server. Named files run alone.
. "$(dirname "$0")/lib.sh"
. scripts/cluster.sh
use_postgresql
scripts/build.sh
use_workdir
trap stop_cluster EXIT
trap 'exit 130' INT TERM

if [ $# -eq 0 ]; then
  cargo bench --locked -p simhash-core
  cargo build --locked --quiet --release -p simhash-core --examples
  set -- bench/*.sql
fi
stage_server bench
start_cluster bench-cluster "shared_preload_libraries = 'pg_simhash'" "shared_buffers = 4GB" "max_wal_size = 8GB" "jit = off"
for file in "$@"; do
  [ -f "$file" ] || continue
  say "== $file"
  "$bindir/psql" -X -q -h "$socket" -U postgres -d postgres -v ON_ERROR_STOP=1 -f "$file"
done
