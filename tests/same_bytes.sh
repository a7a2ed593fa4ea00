#!/usr/bin/env bash
# Whether packages are the same, byte for byte, when they are made twice: here, and from a clone in
# another directory with another home of Cargo. Of what is committed. Ends with "N passed, N
# failed".
# usage: tests/same_bytes.sh; PG_CONFIG as for make
. "$(dirname "$0")/../scripts/lib.sh"
. scripts/packages.sh
[ -z "$(git status --porcelain -- src crates sql scripts Cargo.toml Cargo.lock build.rs)" ] ||
  die "there are changes that are not committed"
use_postgresql
passed=0 failed=0
tmp=$(mktemp -d /var/tmp/pg_simhash.XXXXXX)
trap 'rm -rf "$tmp"' EXIT
git clone -q . "$tmp/another/directory"
# Downloads only: sources are unpacked again.
mkdir -p "$tmp/cargo/registry"
for part in cache index; do
  cp -R "${CARGO_HOME:-$HOME/.cargo}/registry/$part" "$tmp/cargo/registry/"
done

scripts/deb.sh
(
  cd "$tmp/another/directory"
  unset SOURCE_DATE_EPOCH
  CARGO_HOME=$tmp/cargo scripts/deb.sh
)
for file in "$packages_dir/postgresql-$pg_major-pg-simhash"*"_$version-$revision"_*.deb; do
  if cmp "$file" "$tmp/another/directory/target/packages/${file##*/}"; then
    passed=$((passed + 1))
    say "ok ${file##*/} is the same"
  else
    failed=$((failed + 1))
    say "not ok ${file##*/} is the same"
  fi
done
say "$passed passed, $failed failed"
[ "$passed" -gt 0 ] && [ "$failed" -eq 0 ]
