# Shared by all scripts here: messages, discovery of tools, the working directory. Sourced by bash.
# shellcheck shell=bash

set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$top"
# With RUST_BACKTRACE set, errors would contain backtraces, and expected outputs would depend on the
# environment.
unset RUST_BACKTRACE

say() { printf '%s\n' "$*"; }
die() {
  printf '%s\n' "$*" >&2
  exit 1
}

# example_of: the diff of a worked example, of its page on standard input.
example_of() { awk '/^```/ { inside = /^```diff$/; next } inside'; }

# version_ge A B: is version A at least B?
version_ge() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# quietly LOG COMMAND...: writes output to target/logs/LOG, and shows its end on failure.
quietly() {
  local log=$top/target/logs/$1
  shift
  mkdir -p "$top/target/logs"
  if ! "$@" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    die "failed: $* (full output: ${log#"$top"/})"
  fi
}

# rustup may have installed Rust after this login.
if ! command -v cargo >/dev/null 2>&1 && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
  PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
fi

# rust_needed_for VERSION: the oldest Rust that compiles for that PostgreSQL, or for any.
rust_needed_for() {
  local newer
  newer=$(sed -n "s/^rust-for-pg$1 = \"\(.*\)\"/\1/p" Cargo.toml)
  say "${newer:-$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)}"
}

# find_pg_config: prints PG_CONFIG if that is set, else the pg_config on PATH, else the newest below
# /usr/lib/postgresql. Only one with both server and headers counts. Prints nothing if there is
# none.
find_pg_config() {
  local candidate candidates
  if [ -n "${PG_CONFIG:-}" ]; then
    has_server_and_headers "$PG_CONFIG" && canonical_pg_config "$PG_CONFIG"
    return 0
  fi
  mapfile -t candidates < <(
    command -v pg_config
    find /usr/lib/postgresql -path '*/bin/pg_config' 2>/dev/null | sort -rV
  )
  for candidate in "${candidates[@]}"; do
    if has_server_and_headers "$candidate"; then
      canonical_pg_config "$candidate"
      return
    fi
  done
}

# version_of PG_CONFIG: the major version, such as 15, or nothing if the program is no pg_config.
version_of() { { "$1" --version 2>/dev/null || true; } | sed -nE 's/^PostgreSQL ([0-9]+).*/\1/p'; }

# check_pg_config: stops if PG_CONFIG is set and names no pg_config.
check_pg_config() {
  local example=/usr/lib/postgresql/NN/bin/pg_config
  [ -n "${PG_CONFIG:-}" ] || return 0
  command -v "$PG_CONFIG" >/dev/null 2>&1 ||
    die "PG_CONFIG=$PG_CONFIG: there is no such program;" \
      "it is to name a pg_config, such as $example"
  [ -n "$(version_of "$PG_CONFIG")" ] ||
    die "PG_CONFIG=$PG_CONFIG: not a pg_config program; those are called $example, for example"
}

has_server_and_headers() {
  local bindir
  bindir=$("$1" --bindir 2>/dev/null) || return 1
  [ -x "$bindir/postgres" ] && [ -f "$("$1" --includedir-server)/postgres.h" ]
}

# canonical_pg_config PG_CONFIG: one name for each installation. With another name Cargo would
# rebuild the bindings.
canonical_pg_config() {
  local bindir
  bindir=$("$1" --bindir)
  if [ -x "$bindir/pg_config" ]; then say "$bindir/pg_config"; else say "$1"; fi
}

# use_postgresql: sets PG_CONFIG, pg_major (such as 15), pg_feature (pg15), pg_build (pg15, or
# pg15-assert for a server with assertions, whose library has Rust's too) and library, or stops.
# build_features names further Cargo features of the library. With for_package set it is the library
# of a package.
use_postgresql() {
  local found supported
  check_pg_config
  found=$(find_pg_config)
  [ -n "$found" ] ||
    die "${PG_CONFIG:+PG_CONFIG=$PG_CONFIG: }no PostgreSQL with server and headers found:" \
      "install postgresql-NN and postgresql-server-dev-NN, or set PG_CONFIG"
  PG_CONFIG=$found
  pg_major=$(version_of "$PG_CONFIG")
  pg_feature=pg$pg_major
  supported=$(sed -n 's/^pg\([0-9]*\) = .*/\1/p' Cargo.toml | paste -sd' ')
  grep -q "^$pg_feature = " Cargo.toml ||
    die "PostgreSQL $pg_major ($PG_CONFIG) is not supported; these are: $supported"
  pg_build=$pg_feature
  case $("$PG_CONFIG" --configure) in *--enable-cassert*) pg_build=$pg_feature-assert ;; esac
  export PG_CONFIG pg_major pg_feature pg_build
  library=target/$pg_build${build_features:+-$build_features}${for_package:+-package}/pg_simhash.so
}

# library_is_current: whether the library exists and no source is newer.
library_is_current() {
  [ -f "$library" ] && [ -z "$(find Cargo.toml Cargo.lock build.rs src crates sql \
    -type d \( -name tests -o -name benches -o -name examples \) -prune \
    -o -type f -newer "$library" -print -quit)" ]
}

# put_files MODE FROM TO [FROM TO]...: replaces files by renaming. It never writes into a file,
# because a running backend has mapped the old library. If a file cannot be written (a full disk),
# all stay unchanged and no new file remains.
put_files() (
  mode=$1 new=() pairs=("${@:2}")
  trap 'rm -f "${new[@]}"' EXIT
  for ((i = 0; i < ${#pairs[@]}; i += 2)); do
    new+=("${pairs[i + 1]}.new")
    install -m "$mode" "${pairs[i]}" "${pairs[i + 1]}.new" ||
      die "could not write ${pairs[i + 1]}: nothing was replaced"
  done
  for file in "${new[@]}"; do mv -f "$file" "${file%.new}"; done
)

# install_tree ROOT PKGLIBDIR SHAREDIR: installs the library, the control file and the SQL scripts.
install_tree() {
  local file texts=()
  install -d "$1$2" "$1$3/extension"
  for file in pg_simhash.control sql/pg_simhash--*.sql; do
    texts+=("$file" "$1$3/extension/$(basename "$file")")
  done
  put_files 755 "$library" "$1$2/pg_simhash.so"
  put_files 644 "${texts[@]}"
}

# cargo_for_tests COMMAND TARGET...: Cargo over the crates that tests need, compiled by the profile
# `quick`. Every call selects the same crates with their dev-dependencies:
# Cargo unites the features of what is selected, and compiles a crate again for each set of them.
# After use_postgresql.
cargo_for_tests() {
  local command=$1
  shift
  PGRX_PG_CONFIG_PATH=$PG_CONFIG cargo "$command" --profile quick --locked -p pg_simhash \
    -p simhash-core -p simhash-index -p simhash-simulate -p simhash-evaluate -p simhash-oom \
    -p simhash-fuzz --no-default-features \
    --features "pg_simhash/$pg_feature,pg_simhash/lock-order" "$@"
}
