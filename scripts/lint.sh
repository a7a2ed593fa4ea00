#!/usr/bin/env bash
# Formatting and lints, warnings denied; shell scripts as well where shellcheck is there; pages that hold what their results give.
. "$(dirname "$0")/lib.sh"
use_postgresql
for component in fmt clippy; do
  cargo "$component" --version >/dev/null 2>&1 || quietly rustup.log rustup component add rustfmt clippy
done
unformatted=$(cargo fmt --all -- --check -l || true)
[ -z "$unformatted" ] || die "cargo fmt would change:
$unformatted"
PGRX_PG_CONFIG_PATH=$PG_CONFIG cargo clippy --quiet --locked --workspace --all-targets --no-default-features --features "$pg_feature,lock-order" -- -D warnings
if command -v shellcheck >/dev/null 2>&1; then
  shellcheck -x -P SCRIPTDIR scripts/*.sh .ci/run
fi
if command -v python3 >/dev/null 2>&1; then
  python3 bench/pages.py check
fi
say "Formatting and lints: clean"
