# check, shared by the tests of packages. Sourced after scripts/lib.sh.
# shellcheck shell=bash disable=SC2034 # passed, failed: used by the sourcing script

passed=0 failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# check NAME COMMAND...: one test. The command's output is shown if it fails.
check() {
  local name=$1
  shift
  if "$@" >"$tmp/output" 2>&1; then
    passed=$((passed + 1))
    say "ok $name"
  else
    failed=$((failed + 1))
    say "not ok $name"
    tail -n 10 "$tmp/output" | sed 's/^/  # /'
  fi
}
