#!/usr/bin/env bash
# Installs into the PostgreSQL that PG_CONFIG names, below DESTDIR if that is set. `install.sh
# uninstall` removes the files.
. "$(dirname "$0")/lib.sh"
use_postgresql
pkglibdir=$("$PG_CONFIG" --pkglibdir)
sharedir=$("$PG_CONFIG" --sharedir)
root=${DESTDIR:-}

if [ "${1:-}" = uninstall ]; then
  rm -f "$root$pkglibdir/pg_simhash.so" "$root$sharedir/extension/pg_simhash.control" \
    "$root$sharedir"/extension/pg_simhash--*.sql
  exit 0
fi

# `make install` alone builds first. After `make`, `sudo make install` must not need Rust, which
# root's PATH may lack.
if ! library_is_current; then
  if command -v cargo >/dev/null 2>&1; then
    scripts/build.sh
  elif [ -f "$library" ]; then
    say "Installing $library as it was built before:" \
      "sources are newer, and cargo is not on the PATH of $(id -un)"
  else
    built=$({ find target -path 'target/pg[0-9]*/pg_simhash.so' 2>/dev/null || true; } |
      sed -E 's|target/pg([0-9]+)/.*|\1|' | sort -n | paste -sd' ')
    say "Nothing is built yet for PostgreSQL $pg_major ($PG_CONFIG)${built:+, only for $built}," \
      "and cargo is not on the PATH of $(id -un)." >&2
    die "Run make first, as the user who has Rust, then sudo make install;" \
      "both with the same PG_CONFIG=/path/to/pg_config, if there are several."
  fi
fi
for dir in "$root$pkglibdir" "$root$sharedir/extension"; do
  while [ ! -e "$dir" ]; do dir=$(dirname "$dir"); done
  [ -w "$dir" ] || die "no permission to write to $dir: sudo make install PG_CONFIG=$PG_CONFIG"
done
# Debug symbols are ten times as large as the code. They stay in the build directory.
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
if strip --strip-unneeded -o "$stripped" "$library" 2>/dev/null; then library=$stripped; fi
install_tree "$root" "$pkglibdir" "$sharedir"
say "Installed into $root$pkglibdir and $root$sharedir/extension;" \
  "in a database: CREATE EXTENSION pg_simhash;"
