# Settings with which the same commit, compiler and headers give the same library, byte for byte,
# whatever the directories of the checkout and of Cargo. Sourced after lib.sh, before cargo build.
# shellcheck shell=bash

rust_source=$(rustc --print sysroot)/lib/rustlib/src/rust
rust_commit=$(rustc --version --verbose | sed -n 's/^commit-hash: //p')
mkdir -p "${CARGO_HOME:-$HOME/.cargo}"
cargo_home=$(cd "${CARGO_HOME:-$HOME/.cargo}" && pwd -P)

# Messages of panics and debug information contain paths. The last matching remap wins.
# shellcheck disable=SC2054 # the comma is the linker's
flags=(
  "--remap-path-prefix=$cargo_home=/cargo"
  "--remap-path-prefix=$rust_source=/rustc/$rust_commit"
  "--remap-path-prefix=$top=/pg_simhash"
  -Clink-arg=-Wl,--build-id=sha1
)
CARGO_ENCODED_RUSTFLAGS=$(printf '%s\037' "${flags[@]}")
export CARGO_ENCODED_RUSTFLAGS=${CARGO_ENCODED_RUSTFLAGS%$'\037'}
export CFLAGS="-ffile-prefix-map=$cargo_home=/cargo -ffile-prefix-map=$top=/pg_simhash"
export CARGO_INCREMENTAL=0
unset RUSTFLAGS
