#!/usr/bin/env bash
# The demo: a private server with real texts in it, near-duplicates found; `demo.sh stop` ends that server.
. "$(dirname "$0")/lib.sh"
. scripts/cluster.sh
use_workdir

if [ "${1:-}" = stop ]; then
  data=$work/demo
  stop_cluster
  exit 0
fi

use_postgresql
scripts/build.sh
stage_server demo
start_cluster demo "shared_preload_libraries = 'pg_simhash'"
as_client() { PGOPTIONS='' "$bindir/psql" -X -q -h "$socket" -U postgres -v ON_ERROR_STOP=1 "$@"; }
as_client -d postgres -c 'CREATE DATABASE demo'
as_client -d demo -f demo/demo.sql
