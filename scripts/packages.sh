# What packages of every form share: their version and time, the library that goes into them, and
# its debug symbols apart from it. Sourced after lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # others use these; pg_build: lib.sh

version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" pg_simhash.control)
revision=1
packages_dir=$top/target/packages
# Whoever makes packages for others gives an address, as for Debian's own tools.
maintainer="${DEBFULLNAME:-pg_simhash authors} <${DEBEMAIL:-pg_simhash@users.noreply.github.com}>"
summary='near-duplicate detection in PostgreSQL'
description="Fingerprints of texts that say how alike the texts are (simhash, minhash), in
English, Chinese and other languages, and an index that finds all rows within a
Hamming distance, exactly. A trigger keeps near-duplicates out of a table, and
functions find those that are in it."

# Every date in a package is that of the commit.
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
fi
export SOURCE_DATE_EPOCH

# packaged_pg_configs: the PostgreSQL that PG_CONFIG names, else each that is installed with its
# headers and supported.
packaged_pg_configs() {
  local candidate
  if [ -n "${PG_CONFIG:-}" ]; then
    say "$PG_CONFIG"
    return
  fi
  for candidate in /usr/lib/postgresql/*/bin/pg_config /usr/pgsql-*/bin/pg_config; do
    if [ -x "$candidate" ] && has_server_and_headers "$candidate" &&
      grep -q "^pg$(version_of "$candidate") = " Cargo.toml; then
      say "$candidate"
    fi
  done
}

# use_package: builds the library of the package for PG_CONFIG, and sets library to it.
use_package() {
  export for_package=1
  use_postgresql
  [ "$pg_build" = "$pg_feature" ] || die "$PG_CONFIG: a server with assertions is not packaged for"
  scripts/build.sh
}

# newest_glibc LIBRARY: the version of glibc that it needs, such as 2.34.
newest_glibc() { objdump -T "$1" | grep -oP 'GLIBC_\K[0-9.]+' | sort -V | tail -n 1; }

# build_id LIBRARY: the number by which debuggers find its symbols.
build_id() { readelf -n "$1" | sed -n 's/^ *Build ID: //p'; }

# stage ROOT DEBUG_ROOT PKGLIBDIR SHAREDIR: what `make install` writes goes below ROOT, with the
# library stripped; its debug symbols go below DEBUG_ROOT, where debuggers look for them.
stage() {
  local installed=$1$3/pg_simhash.so id debug
  install_tree "$1" "$3" "$4"
  id=$(build_id "$installed")
  debug=$2/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
  install -d "$(dirname "$debug")"
  objcopy --only-keep-debug --compress-debug-sections "$installed" "$debug"
  strip --strip-unneeded --remove-section=.comment "$installed"
  chmod 644 "$installed" "$debug"
}

# set_times ROOT: gives every file the time of the commit.
set_times() { find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }
