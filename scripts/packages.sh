# Shared by packages of every form: version and time, the library in them, and its separate debug
# symbols. Sourced after lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # others use these; pg_build: lib.sh

version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" pg_simhash.control)
revision=1
packages_dir=$top/target/packages
# Set DEBFULLNAME and DEBEMAIL, as for Debian's own tools, to name the packager.
maintainer="${DEBFULLNAME:-pg_simhash authors} <${DEBEMAIL:-pg_simhash@users.noreply.github.com}>"
summary='near-duplicate detection in PostgreSQL'
description="Fingerprints of texts that say how alike the texts are (simhash, minhash), in
English, Chinese and other languages, and an index that finds all rows within a
Hamming distance, exactly. A trigger keeps near-duplicates out of a table, and
functions find those that are in it."

# All dates in a package are the commit's.
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
fi
export SOURCE_DATE_EPOCH

# packaged_pg_configs: the PostgreSQL that PG_CONFIG names, else each supported one that is
# installed with its headers.
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

# use_package: builds the package's library for PG_CONFIG, and sets library to it.
use_package() {
  export for_package=1
  use_postgresql
  [ "$pg_build" = "$pg_feature" ] || die "$PG_CONFIG: a server with assertions is not packaged for"
  scripts/build.sh
}

# newest_glibc LIBRARY: the version of glibc that it needs, such as 2.34.
newest_glibc() { objdump -T "$1" | grep -oP 'GLIBC_\K[0-9.]+' | sort -V | tail -n 1; }

# build_id LIBRARY: the identifier by which debuggers find its symbols.
build_id() { readelf -n "$1" | sed -n 's/^ *Build ID: //p'; }

# stage ROOT DEBUG_ROOT PKGLIBDIR SHAREDIR: installs the files of `make install` below ROOT, with
# the library stripped, and its debug symbols below DEBUG_ROOT, where debuggers search for them.
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
