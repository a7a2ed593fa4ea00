#!/usr/bin/env bash
# Fuzzes the core's parsers and an index with damaged pages with libFuzzer: each target of
# crates/simhash-fuzz for FUZZ_SECONDS (60). FUZZ="pages text" selects targets. Inputs of interest
# are kept for the next run. Ends with "N passed, N failed". Stable Rust suffices: the core has no
# unsafe code that a sanitizer would have to check.
. "$(dirname "$0")/lib.sh"
command -v c++ >/dev/null 2>&1 || die "libFuzzer is compiled with c++: install g++"
work=$top/target/fuzz
logs=$top/target/logs
mkdir -p "$work" "$logs"
host=$(rustc -vV | sed -n 's/^host: //p')
flags=(-Cpasses=sancov-module -Cdebug-assertions -Coverflow-checks
  -Cllvm-args=-sanitizer-coverage-level=4
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
  -Cllvm-args=-sanitizer-coverage-pc-table
  -Cllvm-args=-sanitizer-coverage-trace-compares)
say "Compiling for libFuzzer"
# --target keeps build scripts and macros uninstrumented.
targets=${FUZZ:-config fingerprint model pages text}
bins=()
for target in $targets; do bins+=(--bin "fuzz_$target"); done
RUSTFLAGS=${flags[*]} CARGO_TARGET_DIR=$work quietly fuzz-build.log cargo build --release --locked \
  -p simhash-fuzz --features libfuzzer --target "$host" "${bins[@]}"
quietly fuzz-seeds.log cargo run --quiet --release --locked -p simhash-fuzz --bin simhash-fuzz -- \
  "$work/seeds"
passed=0 failed=0
for target in $targets; do
  corpus=$work/corpus/$target log=$logs/fuzz-$target.log
  mkdir -p "$corpus"
  if "$work/$host/release/fuzz_$target" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=20 \
    -rss_limit_mb=4096 -artifact_prefix="$work/$target-" "$corpus" "$work/seeds/$target" \
    >"$log" 2>&1; then
    passed=$((passed + 1))
    say "$target: $(sed -n 's/^Done \([0-9]*\) runs.*/\1 inputs/p' "$log")"
  else
    failed=$((failed + 1))
    tail -n 40 "$log"
  fi
done
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
