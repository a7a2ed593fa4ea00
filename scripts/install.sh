#!/usr/bin/env bash
# Installs into the PostgreSQL that PG_CONFIG names, below DESTDIR if that is set; `install.sh uninstall` undoes it.
. "$(dirname "$0")/lib.sh"
use_postgresql
pkglibdir=$("$PG_CONFIG" --pkglibdir)
sharedir=$("$PG_CONFIG" --sharedir)
root=${DESTDIR:-}

if [ "${1:-}" = uninstall ]; then
  rm -f "$root$pkglibdir/pg_simhash.so" "$root$sharedir/extension/pg_simhash.control" "$root$sharedir"/extension/pg_simhash--*.sql
  exit 0
fi

# `make && sudo make install` must not need Rust for root; `make install` alone builds first.
if command -v cargo >/dev/null 2>&1 || [ ! -f "$library" ]; then
  scripts/build.sh
fi
for dir in "$root$pkglibdir" "$root$sharedir/extension"; do
  while [ ! -e "$dir" ]; do dir=$(dirname "$dir"); done
  [ -w "$dir" ] || die "no permission to write to $dir: sudo make install PG_CONFIG=$PG_CONFIG"
done
install_tree "$root" "$pkglibdir" "$sharedir"
say "Installed into $root$pkglibdir and $root$sharedir/extension; in a database: CREATE EXTENSION pg_simhash;"
