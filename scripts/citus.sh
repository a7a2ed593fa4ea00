#!/usr/bin/env bash
# Compiles Citus from a source tree, CITUS=DIR, installs it into the private server of the tests,
# and runs the statements of docs/citus.md on three servers with it.
. "$(dirname "$0")/lib.sh"
. scripts/cluster.sh
[ -f "${CITUS:-/nonexistent}/configure" ] ||
  die "CITUS=${CITUS:-}: the source tree of Citus, with its configure, is to be named"
export build_features=lock-order
use_postgresql
scripts/build.sh
use_workdir
stage_server test
copy=$work/citus
stamp="$("$PG_CONFIG" --version) $CITUS $(stat -c %Y "$CITUS/configure")"
if [ "$(cat "$copy/stamp" 2>/dev/null || true)" != "$stamp" ]; then
  say "Compiling Citus (some minutes, once)"
  rm -rf "$copy"
  cp -Rp "$CITUS" "$copy"
  (
    unset MAKELEVEL MAKEFLAGS MFLAGS
    cd "$copy"
    quietly citus.log env PG_CONFIG="$PG_CONFIG" ./configure --without-libcurl
    quietly citus.log make -j"$(nproc)"
  )
  say "$stamp" >"$copy/stamp"
fi
quietly citus-install.log env -u MAKELEVEL -u MAKEFLAGS -u MFLAGS \
  make -C "$copy" install DESTDIR="$work/$pg_build-test"
chmod -R a+rX "$work/$pg_build-test"
ONLY=citus SIMHASH_CITUS=1 scripts/test.sh tap
