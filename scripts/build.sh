#!/usr/bin/env bash
# Compiles the extension in release mode, if any source changed, to target/pgNN/pg_simhash.so. For a
# server with assertions the target is target/pgNN-assert, and Rust's assertions are on. With
# for_package set it is target/pgNN-package, and the bytes do not depend on the place of
# compilation. With build_features set the library is for tests, and the profile is `quick`.
. "$(dirname "$0")/lib.sh"
use_postgresql

if library_is_current; then exit 0; fi
command -v cargo >/dev/null 2>&1 ||
  die "cargo is not on PATH, nor in ${CARGO_HOME:-$HOME/.cargo}/bin:" \
    "make build installs Rust where packages have it; else see https://rustup.rs"
say "Compiling for PostgreSQL $pg_major (the first time takes some minutes)"
cargo_target=${CARGO_TARGET_DIR:-target} profile=release
if [ "$pg_build" != "$pg_feature" ]; then
  cargo_target=target/$pg_build/cargo
  export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true
  export CARGO_PROFILE_RELEASE_LTO=off
fi
if [ -n "${for_package:-}" ]; then
  cargo_target=target/package
  . scripts/same_bytes.sh
fi
if [ "${build_features:-}" = lock-order ] && [ "$pg_build" = "$pg_feature" ]; then
  profile=quick
  # The smallest of the tests, for a test selects the dev-dependencies.
  cargo_for_tests build --quiet --lib --test bloom
else
  PGRX_PG_CONFIG_PATH=$PG_CONFIG cargo build --quiet --profile $profile --locked --lib \
    --no-default-features --features "$pg_feature${build_features:+,$build_features}" \
    --target-dir "$cargo_target"
fi
install -d "$(dirname "$library")"
put_files 755 "$cargo_target/$profile/libpg_simhash.so" "$library"
