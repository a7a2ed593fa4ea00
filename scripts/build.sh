#!/usr/bin/env bash
# Compiles the extension in release mode, if anything changed, into target/pgNN/pg_simhash.so
# (target/pgNN-assert for a server with assertions, and then with those of Rust too).
. "$(dirname "$0")/lib.sh"
use_postgresql

newer_source() {
  find Cargo.toml Cargo.lock build.rs src crates sql -type d \( -name tests -o -name benches -o -name examples \) -prune -o \
    -type f -newer "$library" -print -quit
}
if [ -f "$library" ] && [ -z "$(newer_source)" ]; then
  exit 0
fi
say "Compiling for PostgreSQL $pg_major (the first time takes some minutes)"
cargo_target=${CARGO_TARGET_DIR:-target}
if [ "$pg_build" != "$pg_feature" ]; then
  cargo_target=target/$pg_build/cargo
  export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true CARGO_PROFILE_RELEASE_LTO=off
fi
PGRX_PG_CONFIG_PATH=$PG_CONFIG cargo build --quiet --release --locked --lib --no-default-features --features "$pg_feature" \
  --target-dir "$cargo_target"
install -D -m 755 "$cargo_target/release/libpg_simhash.so" "$library"
