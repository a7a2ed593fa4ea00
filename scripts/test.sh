#!/usr/bin/env bash
# Runs the test suites of `make test`, or those named on the command line (tests/README.md lists
# them), and ends with "N passed, N failed". ONLY=NAME runs one test of a suite with a server. Logs
# stay in target/logs. Files of the server tests stay in target/ or in the working directory that
# target/workdir names.
. "$(dirname "$0")/lib.sh"
. scripts/cluster.sh
. scripts/strangers.sh
. scripts/clients.sh
# Everyday tests use a library that also checks the order of its locks. The soak uses the shipped
# library.
case ${PG_TEST_EXTRA:-} in *soak*) ;; *) export build_features=lock-order ;; esac
use_postgresql
suites=${*:-core golden simulation build least regress isolation clients tap}
logs=$top/target/logs
tests_target=${CARGO_TARGET_DIR:-target}
mkdir -p "$logs"
run='' beside='' passed=0 failed=0 skipped=0

# report SUITE PASSED FAILED: prints one line and adds to the sums.
report() {
  printf '%-10s %5d passed, %d failed  (%d s)\n' "$1" "$2" "$3" $((SECONDS - started))
  passed=$((passed + $2)) failed=$((failed + $3))
}

# sum PATTERN FILE: the sum of the numbers in PATTERN's matches.
sum() { { grep -oE "$1" "$2" || true; } | tr -cd '0-9\n' | awk '{n += $1} END {print n + 0}'; }

# at_least_one_if STATUS COUNT: a suite that fails without naming a failed test counts as one
# failure.
at_least_one_if() { if [ "$1" -ne 0 ] && [ "$2" -eq 0 ]; then say 1; else say "$2"; fi; }

# report_lines SUITE STATUS LOG: reports a log with a line "N passed, N failed".
report_lines() {
  local failures
  failures=$(at_least_one_if "$2" "$(sum ', [0-9]+ failed$' "$3")")
  report "$1" "$(sum '^[0-9]+ passed' "$3")" "$failures"
}

suite_core() {
  local log=$logs/core.log status=0 failures
  cargo_for_tests test --no-fail-fast --tests >"$log" 2>&1 || status=$?
  cargo_for_tests test --no-fail-fast --doc >>"$log" 2>&1 || status=$?
  failures=$(at_least_one_if $status "$(sum '[0-9]+ failed;' "$log")")
  if [ $status -ne 0 ]; then
    grep -E '^(error|test .*FAILED|failures:|    [a-z_:]+$)|panicked at' "$log" | head -n 40 ||
      tail -n 20 "$log"
  fi
  report core "$(sum '[0-9]+ passed;' "$log")" "$failures"
}

# use_python MODULE REQUIREMENT LOG: sets python to one that has the module, if necessary from a
# virtual environment below target/. Fails if it cannot be installed.
use_python() {
  python=python3
  "$python" -c "import $1" 2>/dev/null && return
  python=target/venv/bin/python
  "$python" -c "import $1" 2>/dev/null && return
  { python3 -m venv target/venv && "$python" -m pip install --quiet "$2"; } >"$3" 2>&1
}

# The golden vectors against a second implementation, in Python with the package xxhash.
suite_golden() {
  local log=$logs/golden.log status=0 python
  if ! use_python xxhash 'xxhash>=3,<5' "$log"; then
    tail -n 3 "$log"
    say "golden: the Python package xxhash could not be installed," \
      "so the golden vectors are not cross-checked"
    report golden 0 1
    return
  fi
  "$python" crates/simhash-core/tests/golden.py >"$log" 2>&1 || status=$?
  if [ $status -ne 0 ]; then tail -n 20 "$log"; fi
  report_lines golden $status "$log"
}

# Segmentation of Chinese texts against jieba itself.
suite_jieba() {
  local log=$logs/jieba.log status=0 python
  if ! use_python jieba 'jieba==0.42.1' "$log"; then
    skip jieba "its Python package could not be installed"
    return
  fi
  cargo_for_tests build --quiet --example tokens &&
    "$python" crates/simhash-core/tests/jieba_words.py "$tests_target/quick/examples/tokens" \
      evaluate/corpora/zh_laws.jsonl.xz evaluate/corpora/zh_verses.jsonl.xz >"$log" 2>&1 ||
    status=$?
  if [ $status -ne 0 ]; then tail -n 20 "$log"; fi
  report_lines jieba $status "$log"
}

# The core's tests on arm64, emulated by qemu.
suite_arm64() {
  local log=$logs/arm64.log status=0 target=aarch64-unknown-linux-gnu
  if ! command -v qemu-aarch64-static >/dev/null || ! command -v aarch64-linux-gnu-gcc >/dev/null ||
    ! rustup target add "$target" >"$log" 2>&1; then
    skip arm64 "needs qemu-user-static, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and rustup"
    return
  fi
  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64-static -L /usr/aarch64-linux-gnu" \
    cargo test --locked --no-fail-fast --target "$target" -p simhash-core >"$log" 2>&1 || status=$?
  if [ $status -ne 0 ]; then grep -E '^(error|test .*FAILED)|panicked at' "$log" | head -n 40; fi
  report arm64 "$(sum '[0-9]+ passed;' "$log")" \
    "$(at_least_one_if $status "$(sum '[0-9]+ failed;' "$log")")"
}

# Schedules of the index's protocol, and every deliberate fault. A soak starts at a new seed each
# time, far from the seeds of any other.
suite_simulation() {
  local log=$logs/simulation.log status=0 schedules=40000 seed=1
  case ${PG_TEST_EXTRA:-} in *soak*) schedules=200000 seed=$(date +%s%N) ;; esac
  {
    cargo_for_tests build --quiet --bin simhash-simulate --test bloom &&
      "$tests_target/quick/simhash-simulate" test "${SCHEDULES:-$schedules}" \
        "${SIMHASH_SEED:-$seed}"
  } 2>"$log.stderr" |
    tee "$log" | { grep --line-buffered -E '^[0-9]+ (of [0-9]+ )?schedules' || true; } || status=$?
  if [ $status -ne 0 ]; then
    grep -vE '^(ok|[0-9]+ )' "$log" | tail -n 100
    grep -E '^error' -A 9 "$log.stderr" || true
  fi
  report_lines simulation $status "$log"
}

# `make` and `make install`, including without Rust or without room on the disk.
suite_build() {
  local log=$logs/build.log status=0
  env -u build_features bash tests/build.sh >"$log" 2>&1 || status=$?
  if [ $status -ne 0 ]; then grep -vE '^ok ' "$log" | tail -n 40; fi
  report_lines build $status "$log"
}

# regression SUITE DIRECTORY PROGRAM INPUT-PATTERN ARGUMENT...: runs pg_regress or its sibling over
# tests/DIRECTORY.
regression() {
  local suite=$1 directory=$run/tests/$2 program=$3 pattern=$4 log=$logs/$1.log out=$run/$1
  local status=0 names total bad
  shift 4
  [ -d "$directory" ] || return 0
  names=${ONLY:-$(find "$directory" -path "*/$pattern" | sort | sed -E 's|.*/||; s|\.[a-z]+$||')}
  [ -n "$names" ] || return 0
  # shellcheck disable=SC2086 # one word for each test
  as_server "$pgxs_test/$program" --inputdir="$directory" --outputdir="$out" --bindir="$bindir" \
    --host="$socket" --encoding=UTF8 "$@" $names >"$log" 2>&1 || status=$?
  total=$(sum 'All [0-9]+ tests' "$log")
  bad=$({ grep -oE '[0-9]+ of [0-9]+ tests failed' "$log" || true; } | cut -d' ' -f1)
  if [ -n "$bad" ]; then total=$(sum 'of [0-9]+ tests failed' "$log"); fi
  if [ $status -ne 0 ]; then
    grep -E 'FAILED|^not ok' "$log" || tail -n 10 "$log"
    if [ -f "$out/regression.diffs" ]; then
      head -n 60 "$out/regression.diffs"
      say "(the whole difference: $out/regression.diffs)"
    fi
  fi
  report "$suite" $((total - ${bad:-0})) "$(at_least_one_if $status "${bad:-0}")"
}

as_superuser=(--user=postgres --load-extension=pg_simhash)
suite_regress() { regression regress regress regress/pg_regress 'sql/*.sql' "${as_superuser[@]}"; }

# The regression tests again, as a role that owns nothing of the extension, which is in its own
# schema. Tests with a line `-- superuser only: why` are left out.
suite_least() {
  cp -R "$run/tests/regress" "$run/tests/least"
  { grep -lZ '^-- superuser only: ' "$run"/tests/least/sql/*.sql || true; } | xargs -0r rm
  if ! as_server psql -X -q -v ON_ERROR_STOP=1 -h "$socket" -U postgres -d postgres \
    -f "$run/tests/least.sql" >"$logs/least.log" 2>&1; then
    tail -n 20 "$logs/least.log"
    report least 0 1
    return
  fi
  regression least least regress/pg_regress 'sql/*.sql' --user=regress_simhash_least \
    --use-existing --dbname=least
}

suite_isolation() {
  regression isolation isolation isolation/pg_isolation_regress 'specs/*.spec' \
    "${as_superuser[@]}"
}

suite_tap() {
  local log=$logs/tap.log status=0
  local tests=("$run"/tests/tap/*.pl)
  if [ -n "${ONLY:-}" ]; then tests=("$run/tests/tap/$ONLY.pl"); fi
  as_server env PG_REGRESS="$pgxs_test/regress/pg_regress" PG_TEST_EXTRA="${PG_TEST_EXTRA:-}" \
    DONE_TESTS="${DONE_TESTS:-}" TESTDIR="$run" TESTDATADIR="$run/tmp_check" TESTLOGDIR="$run/log" \
    PERL_TEST_HARNESS_DUMP_TAP="$run/tap" \
    perl "$run/tests/run_tap.pl" "$pgxs_test/perl" "${tests[@]}" >"$log" 2>&1 || status=$?
  if [ $status -ne 0 ]; then grep -vE '\.\. ok *$|^ok|^# ?$' "$log" | tail -n 60; fi
  report_lines tap $status "$log"
}

# prepare_server: builds the extension, and a copy of the server to test it in, once. Two runs in
# one checkout would interfere from here on.
prepare_server() {
  [ -z "$run" ] || return 0
  trap stop_everything EXIT
  trap 'exit 130' INT TERM
  pgxs_test=$(dirname "$("$PG_CONFIG" --pgxs)")/../test
  [ -x "$pgxs_test/regress/pg_regress" ] ||
    die "pg_regress is not in $pgxs_test: install PostgreSQL's server development files"
  scripts/build.sh
  use_workdir
  stage_server test
  # A copy, so that the server's user can read the tests and the pages that they run, and write
  # results, wherever the checkout is.
  run=$work/test
  rm -rf "$run"
  mkdir -p "$run"
  cp -R tests docs README.md "$run/"
  mkdir "$run/evaluate"
  cp -R evaluate/corpora "$run/evaluate/"
  chmod -R a+rX "$run"
  chown "$server_user" "$run"
}

# Also stops the servers that an interrupted test left running, and that of the suite `least`.
stop_everything() {
  stop_cluster
  local pidfile
  for pidfile in "${run:-/nonexistent}"/tmp_check/*/pgdata/postmaster.pid \
    "${work:-/nonexistent}/least-cluster/postmaster.pid"; do
    if [ -f "$pidfile" ]; then stop_server "$(dirname "$pidfile")"; fi
  done
  wait
}

# start_least: runs the suite `least` in parallel with the next ones, on its own server. pg_regress
# uses only one processor.
start_least() {
  (
    trap stop_cluster EXIT
    # shellcheck disable=SC2030 # of this server only
    data='' socket=''
    start_cluster least-cluster "max_prepared_transactions = 5"
    suite_least
  ) >"$logs/least.report" 2>&1 &
  beside=$!
}

# finish_least: waits for the suite, if it runs, and prints its report.
finish_least() {
  [ -n "$beside" ] || return 0
  local status=0
  wait "$beside" || status=$?
  beside=
  cat "$logs/least.report"
  grep '^least ' "$logs/least.report" >"$logs/least.sums" || true
  passed=$((passed + $(sum '[0-9]+ passed' "$logs/least.sums")))
  failed=$((failed + $(at_least_one_if $status "$(sum '[0-9]+ failed' "$logs/least.sums")")))
}

for suite in $suites; do
  case $suite in
    core | golden | simulation | jieba | arm64) ;;
    *) prepare_server ;;
  esac
  case $suite in
    regress | isolation | clients)
      # shellcheck disable=SC2031 # that of start_least is another
      [ -n "${socket:-}" ] || start_cluster test-cluster "max_prepared_transactions = 5"
      ;;
    tap) finish_least ;;
  esac
  started=$SECONDS
  if [ "$suite" = least ]; then start_least; else "suite_$suite"; fi
done
finish_least
say "$passed passed, $failed failed$(if [ "$skipped" -gt 0 ]; then say ", $skipped skipped"; fi)"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
