#!/usr/bin/env bash
# The simulation and the cluster tests at full length, then all tests with a server and other
# people's tools on a server with assertions. Ends with "N passed, N failed, N skipped".
# SQLSMITH_QUERIES and SIMHASH_SEED may be set.
. "$(dirname "$0")/lib.sh"
use_postgresql
passed=0 failed=0 skipped=0

# step NAME COMMAND...: runs it and adds what its last line says.
step() {
  local log=$top/target/logs/soak-$1.log status=0 line
  shift
  mkdir -p target/logs
  "$@" 2>&1 | tee "$log" | { grep -vE '^[0-9]+ passed, [0-9]+ failed' || true; } || status=$?
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1 || true)
  read -r -a numbers <<<"$(tr -c '0-9\n' ' ' <<<"$line")"
  passed=$((passed + ${numbers[0]:-0})) skipped=$((skipped + ${numbers[2]:-0}))
  # A step that ends badly and names no failure counts as one.
  if [ "$status" -ne 0 ] && [ "${numbers[1]:-0}" -eq 0 ]; then numbers[1]=1; fi
  failed=$((failed + ${numbers[1]:-0}))
}

say "Schedules of the index's protocol"
step simulation env PG_TEST_EXTRA="${PG_TEST_EXTRA:-} soak" scripts/test.sh simulation
say "Cluster tests at full length"
step cluster env PG_TEST_EXTRA="${PG_TEST_EXTRA:-} soak" scripts/test.sh tap
status=0
server=$(scripts/assert_server.sh) || status=$?
if [ "$status" -eq 0 ]; then
  say "The tests, sqlsmith and PostgreSQL's own tests on a server with assertions"
  step assertions env PG_CONFIG="$server" \
    scripts/test.sh regress least isolation tap sqlsmith postgres
elif [ "$status" -eq 3 ]; then
  say "assertions skipped: PostgreSQL's source is not available here"
  skipped=$((skipped + 1))
  step sqlsmith scripts/test.sh sqlsmith
else
  say "assertions: the server could not be built"
  failed=$((failed + 1))
fi
say "$passed passed, $failed failed$(if [ "$skipped" -gt 0 ]; then say ", $skipped skipped"; fi)"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
