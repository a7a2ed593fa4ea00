#!/usr/bin/env bash
# The demo: a private server with real texts, whose near-duplicates are found step by step. The
# server keeps running for further experiments with psql. `demo.sh stop` stops it. A second run
# starts from the beginning.
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
say "Starting a server of the demo's own (PostgreSQL $pg_major)"
start_cluster demo "shared_preload_libraries = 'pg_simhash'"
trap 'stop_cluster; exit 130' INT TERM

demo_psql() { PGCLIENTENCODING=UTF8 "$bindir/psql" -X -q -h "$socket" -U postgres "$@"; }
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then export DEMO_COLOUR=yes; fi
demo_psql -d postgres -c 'CREATE DATABASE demo' || { stop_cluster; exit 1; }
demo_psql -d demo -f demo/demo.sql || { stop_cluster; exit 1; }

psql=psql
command -v psql >/dev/null 2>&1 || psql=$bindir/psql
cat <<TEXT

== 8. Try more. The server goes on running until scripts/run demo-stop:

  $psql -h $socket -U postgres demo

-- Is this text there already? A verse quoted from memory:
SELECT title, body FROM doc
WHERE near_duplicate(body, 'And they said every one to his fellow, Come, let us cast lots, that we
  may know for whose cause this evil is upon us. So they cast lots, and the lot fell upon Jonah',
  0.5);

-- What a fingerprint is made of: the heaviest features of a text.
SELECT f.* FROM doc, simhash_features(body) f
WHERE title = '国家科学技术奖励条例(2024-05-26)' ORDER BY weight DESC LIMIT 10;

-- Two-word shingles see the order of words, single words do not.
SELECT hamming(simhash128('能力比学历重要性高'), simhash128('学历比能力重要性高')) AS words,
       hamming(simhash128('能力比学历重要性高', '{"shingle": 2}'),
               simhash128('学历比能力重要性高', '{"shingle": 2}')) AS shingles;
TEXT
