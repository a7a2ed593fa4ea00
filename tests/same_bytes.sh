#!/usr/bin/env bash
# Tests whether packages that are made twice are the same, byte for byte: once here, and once from a
# clone in another directory with another home of Cargo. Only committed files count; RPMs only if
# rpmbuild is installed. Ends with "N passed, N failed".
# usage: tests/same_bytes.sh; PG_CONFIG as for make; KEEP=DIR keeps the second packages there
. "$(dirname "$0")/../scripts/lib.sh"
. scripts/packages.sh
[ -z "$(git status --porcelain -- src crates sql scripts Cargo.toml Cargo.lock build.rs)" ] ||
  die "there are changes that are not committed"
use_postgresql
passed=0 failed=0
tmp=$(mktemp -d /var/tmp/pg_simhash.XXXXXX)
trap 'rm -rf "$tmp"' EXIT
git clone -q . "$tmp/another/directory"

make_all() {
  scripts/deb.sh
  if command -v rpmbuild >/dev/null 2>&1; then scripts/rpm.sh; fi
}
make_all
# Only downloads: sources are unpacked again.
mkdir -p "$tmp/cargo/registry"
for part in cache index; do
  cp -R "${CARGO_HOME:-$HOME/.cargo}/registry/$part" "$tmp/cargo/registry/"
done
(
  cd "$tmp/another/directory"
  unset SOURCE_DATE_EPOCH
  CARGO_HOME=$tmp/cargo make_all
)
again=$tmp/another/directory/target/packages
if [ -n "${KEEP:-}" ]; then mkdir -p "$KEEP" && cp "$again"/* "$KEEP/"; fi
for file in "$packages_dir/postgresql-$pg_major-pg-simhash"*"_$version-$revision"_*.deb \
  "$packages_dir/pg_simhash_$pg_major"-*"$version-$revision".*.rpm; do
  [ -f "$file" ] || continue
  if cmp "$file" "$again/${file##*/}"; then
    passed=$((passed + 1))
    say "ok ${file##*/} is the same"
  else
    failed=$((failed + 1))
    say "not ok ${file##*/} is the same"
  fi
done
say "$passed passed, $failed failed"
[ "$passed" -gt 0 ] && [ "$failed" -eq 0 ]
