#!/usr/bin/env bash
# Compiles the extension in release mode, if anything changed, into target/pgNN/pg_simhash.so.
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
PGRX_PG_CONFIG_PATH=$PG_CONFIG cargo build --quiet --release --locked --lib --no-default-features --features "$pg_feature${build_features:+,$build_features}"
install -D -m 755 "${CARGO_TARGET_DIR:-target}/release/libpg_simhash.so" "$library"
