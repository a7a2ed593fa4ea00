# The suites of test.sh with tools from elsewhere: sqlsmith, and PostgreSQL's own tests with the
# library preloaded. Sourced by test.sh.
# Set by test.sh and what it sources: work, run, bindir, socket, data, logs, pgxs_test, skipped.
# shellcheck shell=bash disable=SC2154,SC2034

# skip SUITE REASON: reports that the suite neither passed nor failed.
skip() {
  printf '%-10s skipped: %s\n' "$1" "$2"
  skipped=$((skipped + 1))
}

# Runs SQLSMITH_QUERIES random statements of sqlsmith over tables, indexes, models, partitions and a
# trigger of the extension. A fault is a server crash, an internal error (XX) that is not
# PostgreSQL's own, or the words of a panic.
suite_sqlsmith() {
  local log=$logs/sqlsmith.log faults=$logs/sqlsmith.faults ran bad=0
  local queries=${SQLSMITH_QUERIES:-15000} seed=${SIMHASH_SEED:-$(date +%s)}
  if ! command -v sqlsmith >/dev/null 2>&1; then
    skip sqlsmith "this system has no package of it"
    return
  fi
  start_cluster strangers "log_error_verbosity = verbose" "log_min_messages = error" \
    "max_connections = 20" "shared_buffers = 64MB"
  # As an ordinary user who owns the tables: a superuser's queries would read files and stop the
  # server.
  as_server psql -Xq -v ON_ERROR_STOP=1 -h "$socket" -U postgres -d postgres >"$log" 2>&1 <<SQL
CREATE ROLE smith LOGIN;
ALTER ROLE smith SET statement_timeout = '1s';
CREATE DATABASE smith OWNER smith;
\\c smith
CREATE EXTENSION pg_simhash;
SET client_min_messages = warning;
$(cd "$run/tests" && cat tap/compare.sql tap/arguments.sql strangers/sqlsmith.sql)
SQL
  printf 'sqlsmith --seed=%s --max-queries=%s\n' "$seed" "$queries" >>"$log"
  as_server sqlsmith --verbose --exclude-catalog --seed="$seed" --max-queries="$queries" \
    --target="host=$socket user=smith dbname=smith" >>"$log" 2>&1 || true
  ran=$(grep -aoE '^queries: [0-9]+' "$log" | tail -n 1 | tr -cd '0-9' || true)
  grep -aE 'TRAP:|PANIC|terminated by signal|panicked|unwrap\(\)|(ERROR|FATAL): +XX' \
    "$data/server.log" |
    grep -avE -f "$run/tests/strangers/tolerated.txt" >"$faults" || true
  if ! as_server psql -Xqh "$socket" -U postgres -d smith -c 'SELECT 1' >>"$log" 2>&1; then
    say "the server is down" >>"$faults"
  fi
  if [ "${ran:-0}" -lt "$queries" ]; then
    say "${ran:-0} of $queries queries were run: $(tail -n 1 "$log")" >>"$faults"
  fi
  if [ -s "$faults" ]; then
    bad=1
    say "sqlsmith, seed $seed, $ran queries; the statements are in $data/server.log"
    cut -c1-300 "$faults" | sort | uniq -c | sort -rn | head -n 20
  fi
  report sqlsmith $((1 - bad)) $bad
}

# PostgreSQL's regression and isolation tests with the library preloaded and the extension in the
# database. Two kinds of failure do not count: a test that fails without the library too, and a test
# that lists the catalogue and differs only by lines that match catalogue.txt.
suite_postgres() {
  local tests=$work/$pg_build/source/src/test
  if [ ! -x "$tests/isolation/pg_isolation_regress" ]; then
    skip postgres "no source of this server: PG_CONFIG must be what scripts/assert_server.sh prints"
    return
  fi
  own_tests regress regress/pg_regress \
    --schedule="$tests/regress/parallel_schedule" --max-connections=10
  own_tests isolation isolation/pg_isolation_regress \
    --schedule="$tests/isolation/isolation_schedule"
}

# own_tests KIND PROGRAM ARGUMENT...: runs them with the library and, if any fails, without it too.
own_tests() {
  local kind=$1 with=$logs/postgres-$1.log without=$logs/postgres-$1-without.log
  local diffs=target/logs/postgres-$1.diffs failures count bad
  started=$SECONDS
  own_run "$with" pg_simhash "$@" --load-extension=pg_simhash
  failures=$(failed_tests "$with")
  if [ -n "$failures" ]; then
    mv "$run/own/regression.diffs" "$diffs" 2>/dev/null || true
    own_run "$without" '' "$@"
    failures=$(comm -23 <(say "$failures") <(failed_tests "$without") | not_only_listed "$diffs")
  fi
  if [ -n "$failures" ]; then
    say "PostgreSQL's own $kind tests fail with the library only:" \
      "$(say "$failures" | paste -sd' ') ($diffs)"
  fi
  count=$(sum 'All [0-9]+ tests passed|of [0-9]+ tests failed' "$with")
  bad=$(say "$failures" | grep -c . || true)
  report "pg-$kind" $((count - bad)) "$(if [ "$count" -eq 0 ]; then say 1; else say "$bad"; fi)"
}

# not_only_listed DIFFS: reads names of tests and prints those whose output has lines that
# catalogue.txt does not match. The lines are written to standard error.
not_only_listed() {
  local test added
  while read -r test; do
    added=$(sed -n "/^+++ .*\/$test.out/,/^--- /p" "$1" | grep -a '^[+]' | grep -av '^+++ ' |
      grep -avE -f tests/strangers/catalogue.txt || true)
    if [ -n "$added" ] || ! grep -aq "^+++ .*/$test.out" "$1"; then
      printf '%s: %s\n' "$test" "$added" >&2
      say "$test"
    fi
  done
}

# own_run LOG LIBRARY KIND PROGRAM ARGUMENT...
own_run() {
  local log=$1 library=$2 kind=$3 program=$4 tests=$work/$pg_build/source/src/test
  shift 4
  start_cluster strangers "shared_preload_libraries = '$library'" "max_prepared_transactions = 5" \
    "shared_buffers = 64MB"
  rm -rf "$run/own"
  mkdir -p "$run/own"
  chown "$server_user" "$run/own"
  as_server "$pgxs_test/$program" --inputdir="$tests/$kind" --outputdir="$run/own" \
    --dlpath="$tests/regress" --bindir="$bindir" --host="$socket" --user=postgres "$@" \
    >"$log" 2>&1 || true
  if grep -aqE 'TRAP:|PANIC|terminated by signal' "$data/server.log"; then
    say "crash ... FAILED" >>"$log"
  fi
}

# failed_tests LOG: the names of the failed tests, sorted. Versions of pg_regress print them in
# different forms.
failed_tests() {
  sed -nE -e 's/^(test|\+)? *(\.\.\. )?([a-zA-Z0-9_-]+) +\.\.\. FAILED.*/\3/p' \
    -e 's/^not ok [0-9]+ +[-+] ([a-zA-Z0-9_-]+).*/\1/p' "$1" | sort -u
}
