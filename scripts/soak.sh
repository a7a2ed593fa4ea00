#!/usr/bin/env bash
# Runs the simulation and the cluster tests at full length, then all tests with a server, and tools
# from elsewhere, on a server with assertions. Ends with "N passed, N failed, N skipped".
# SQLSMITH_QUERIES and SIMHASH_SEED may be set. Steps that passed on a commit are not run again on
# it: an interrupted soak continues, and a failed one runs the rest. Steps without a server run in
# parallel, at a lower priority.
. "$(dirname "$0")/lib.sh"
. scripts/cluster.sh
use_postgresql
use_workdir
# The result of each step: its passed, failed and skipped tests.
results=$work/soak/results
rm -rf "$results"
mkdir -p "$results"

# done_here: the directory that records the steps that passed on the commit that is checked out.
# With uncommitted changes, and outside a checkout, nothing is recorded.
done_here=$work/soak/uncommitted
rm -rf "$done_here"
if commit=$(git rev-parse --verify HEAD 2>/dev/null) && [ -z "$(git status --porcelain)" ]; then
  done_here=$work/soak/$commit
fi

# step NAME COMMAND...: runs it, unless it passed on this commit before, and records the counts in
# its last line. Single cluster tests are recorded too.
step() {
  local name=$1 log=$top/target/logs/soak-$1.log kept=$done_here/$1 status=0 line numbers
  shift
  mkdir -p target/logs "$kept.tests"
  chown "$server_user" "$kept.tests"
  if [ -f "$kept" ]; then
    say "passed before: $name, $(cat "$kept")"
    cp "$kept" "$log"
  else
    DONE_TESTS=$kept.tests "$@" 2>&1 | tee "$log" |
      { grep --line-buffered -vE '^[0-9]+ passed, [0-9]+ failed' || true; } || status=$?
  fi
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1 || true)
  if [ "$status" -eq 0 ]; then say "$line" >"$kept"; fi
  read -r -a numbers <<<"$(tr -c '0-9\n' ' ' <<<"$line")"
  # A step that fails without naming a failure counts as one failure.
  if [ "$status" -ne 0 ] && [ "${numbers[1]:-0}" -eq 0 ]; then numbers[1]=1; fi
  say "${numbers[0]:-0} ${numbers[1]:-0} ${numbers[2]:-0}" >"$results/$name"
}

# sum COLUMN: over all steps.
sum() { cat "$results"/* | awk -v column="$1" '{n += $column} END {print n + 0}'; }

without_server() {
  local part
  say "Words beside jieba's, and the core on arm64"
  step jieba scripts/test.sh jieba
  step arm64 scripts/test.sh arm64
  say "Bytes that libFuzzer finds"
  step fuzz scripts/fuzz.sh
  # In parts, so that an interrupted soak repeats little of it.
  for part in 1 2 3 4 5; do
    say "Schedules of the index's protocol, part $part of 5"
    step "simulation-$part" env PG_TEST_EXTRA="${PG_TEST_EXTRA:-} soak" scripts/test.sh simulation
  done
}

with_server() {
  local status=0 server suite
  say "Cluster tests at full length"
  step cluster env PG_TEST_EXTRA="${PG_TEST_EXTRA:-} soak" scripts/test.sh tap
  server=$(scripts/assert_server.sh) || status=$?
  if [ "$status" -eq 0 ]; then
    say "The tests, sqlsmith and PostgreSQL's own tests on a server with assertions"
    for suite in regress least isolation tap sqlsmith postgres; do
      step "assertions-$suite" env PG_CONFIG="$server" scripts/test.sh "$suite"
    done
  elif [ "$status" -eq 3 ]; then
    say "assertions skipped: PostgreSQL's source is not available here"
    say 0 0 1 >"$results/assertions"
    step sqlsmith scripts/test.sh sqlsmith
  else
    say "assertions: the server could not be built"
    say 0 1 0 >"$results/assertions"
  fi
}

(renice -n 15 "$BASHPID" >/dev/null && without_server) &
beside=$!
with_server
wait "$beside" || say 0 1 0 >"$results/without-server"
passed=$(sum 1) failed=$(sum 2) skipped=$(sum 3)
say "$passed passed, $failed failed$(if [ "$skipped" -gt 0 ]; then say ", $skipped skipped"; fi)"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
