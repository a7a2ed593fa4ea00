#!/usr/bin/env bash
# Tests `make` and `make install` in a copy of the checkout, with a stand-in for cargo that compiles
# nothing. Ends with "N passed, N failed".
# usage: tests/build.sh [CHECKOUT]; PG_CONFIG as for make.
. "$(dirname "$0")/../scripts/lib.sh"
cd "${1:-$top}"
use_postgresql
real_pg_config=$PG_CONFIG
unset PG_CONFIG pg_feature MAKEFLAGS MAKELEVEL CARGO_HOME CARGO_TARGET_DIR DESTDIR
passed=0 failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# check NAME COMMAND...: one test.
check() {
  local name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
    say "ok $name"
  else
    failed=$((failed + 1))
    say "not ok $name"
    sed 's/^/  # /' "$tmp/output"
  fi
}
not() { ! "$@"; }
says() { grep -qE -- "$1" "$tmp/output"; }
ended_well() { [ "$status" -eq 0 ]; }
is_silent() { [ ! -s "$tmp/output" ]; }

# run COMMAND...: runs it with $path for PATH and an empty home directory, and keeps its status and
# output.
run() {
  status=0
  env HOME="$tmp/home" PATH="$path" "$@" >"$tmp/output" 2>&1 || status=$?
}

# $tmp/programs links to every program except those of Rust.
mkdir -p "$tmp/programs" "$tmp/with_cargo" "$tmp/home"
for directory in /usr/local/bin /usr/bin /bin /usr/sbin /sbin; do
  for program in "$directory"/*; do
    case ${program##*/} in
      cargo* | rust* | pg_config) ;;
      *) [ ! -x "$program" ] || ln -sf "$program" "$tmp/programs/" ;;
    esac
  done
done
# Stand-ins: cargo writes random bytes in place of a library, and rustc prints a version.
cat >"$tmp/with_cargo/cargo" <<'END'
#!/bin/sh
mkdir -p "${CARGO_TARGET_DIR:-target}/release"
head -c 3000000 /dev/urandom >"${CARGO_TARGET_DIR:-target}/release/libpg_simhash.so"
END
printf '#!/bin/sh\necho "rustc 99.0.0"\n' >"$tmp/with_cargo/rustc"
chmod +x "$tmp"/with_cargo/*
without_cargo=$tmp/programs
with_cargo=$tmp/with_cargo:$tmp/programs

mkdir "$tmp/checkout"
cp -R Makefile Cargo.toml Cargo.lock build.rs pg_simhash.control src sql scripts crates \
  "$tmp/checkout/"
cd "$tmp/checkout"
library=target/pg$pg_major/pg_simhash.so
to=$tmp/root
installed=$to$("$real_pg_config" --pkglibdir)/pg_simhash.so
extension=$to$("$real_pg_config" --sharedir)/extension
install_it=(make install DESTDIR="$to" PG_CONFIG="$real_pg_config")
no_leftover() { [ -z "$(find "$to" target -name '*.new' 2>/dev/null)" ]; }

path=$with_cargo
for target in "" build install; do
  # shellcheck disable=SC2086 # no word for none
  run make $target PG_CONFIG=/nonexistent DESTDIR="$to"
  name="make${target:+ $target}"
  check "$name PG_CONFIG=/nonexistent fails" not ended_well
  check "$name PG_CONFIG=/nonexistent says why" \
    says '^PG_CONFIG=/nonexistent: there is no such program'
  # shellcheck disable=SC2086
  run make $target PG_CONFIG=/bin/true DESTDIR="$to"
  check "$name with something else as PG_CONFIG fails" not ended_well
  check "$name with something else as PG_CONFIG says why" \
    says '^PG_CONFIG=/bin/true: not a pg_config'
done

path=$without_cargo
run "${install_it[@]}"
check 'make install with nothing built and no cargo fails' not ended_well
check 'it says what is missing' says \
  "Nothing is built yet for PostgreSQL $pg_major .*, and cargo is not on the PATH of $(id -un)"
check 'it says what to do' says 'Run make first, as the user who has Rust, then sudo make install'
mkdir -p target/pg99
touch target/pg99/pg_simhash.so
run "${install_it[@]}"
check 'it says what there is, built for another version' \
  says "Nothing is built yet for PostgreSQL $pg_major \\(.*\\), only for 99"
rm -r target/pg99

path=$with_cargo
run make PG_CONFIG="$real_pg_config"
check 'make ends well' ended_well
check 'make builds' test -s "$library"
run make PG_CONFIG="$real_pg_config"
check 'make with nothing to do says nothing' is_silent
run make help
check 'make help lists the targets' says '^make install'

path=$without_cargo
run "${install_it[@]}"
check 'make install needs no cargo after make' ended_well
check 'what was built is installed' cmp "$library" "$installed"
check 'with the control file' cmp pg_simhash.control "$extension/pg_simhash.control"
for script in sql/pg_simhash--*.sql; do
  check "with ${script#sql/}" cmp "$script" "$extension/${script#sql/}"
done
scripts=$(find sql -name 'pg_simhash--*.sql' | wc -l)
check 'and with nothing else' test "$(find "$to" -type f | wc -l)" -eq $((2 + scripts))
touch -d '1 hour' src/lib.rs
run "${install_it[@]}"
check 'a library older than its sources is installed without cargo' ended_well
check 'and it says so' says 'as it was built before: sources are newer'
path=$with_cargo
run "${install_it[@]}"
check 'with cargo it is built again' says '^Compiling'
check 'and installed' cmp "$library" "$installed"
touch -d '1 hour ago' src/lib.rs

# With a real library.
cp "$library" "$tmp/before"
cc -g -shared -fPIC -x c -o "$library" - <<<'int answer(void) { return 42; }'
path=$without_cargo
run "${install_it[@]}"
path=$with_cargo
sections() { readelf --wide --sections "$1"; }
check 'debug symbols stay with what was built' grep -q '\.debug_info' <(sections "$library")
check 'and are not installed' not grep -q '\.debug_info' <(sections "$installed")
check 'names that PostgreSQL looks for are' grep -q ' answer$' <(nm --dynamic "$installed")
mv "$tmp/before" "$library"
run "${install_it[@]}"

# A full disk: a file may have a million bytes, and the library has three million.
cp "$installed" "$tmp/before"
head -c 3000000 /dev/urandom >"$library"
run bash -c 'trap "" XFSZ; ulimit -f 1000; "$@"' - "${install_it[@]}"
check 'without room make install fails' not ended_well
check 'it says what could not be written' \
  says "could not write .*pg_simhash.so: nothing was replaced"
check 'the installed library stays' cmp "$installed" "$tmp/before"
check 'nothing is left behind' no_leftover
run bash -c 'ulimit -f 1000; "$@"' - "${install_it[@]}"
check 'nor if the system ends the program that writes' no_leftover
cp "$library" "$tmp/before"
touch -d '1 hour' src/lib.rs
printf '#!/bin/sh\n' >"$tmp/with_cargo/cargo"
run bash -c 'trap "" XFSZ; ulimit -f 1000; "$@"' - make PG_CONFIG="$real_pg_config"
check 'without room make fails' not ended_well
check 'the library that was built before stays' cmp "$library" "$tmp/before"
check 'nothing half written is left' no_leftover
touch -d '1 hour ago' src/lib.rs

run make uninstall DESTDIR="$to" PG_CONFIG="$real_pg_config"
check 'make uninstall leaves nothing' test -z "$(find "$to" -type f)"

say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
