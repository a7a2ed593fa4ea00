#!/usr/bin/env bash
# Runs the suites of `make test` that depend on PostgreSQL, for the commit that is checked out, on
# every supported version, each from its own system's packages, as an unprivileged user. Then runs
# the core's, which need no PostgreSQL, once. Prints one line for each version, and writes the table
# in docs/versions.md. VERSIONS="14 17 core" limits the versions. What passed on a commit is not run
# again on it. Versions after 15 also test the upgrade from 15, if that has passed.
. "$(dirname "$0")/lib.sh"
. scripts/systems.sh
[ -z "$(git status --porcelain -- . ':!docs/versions.md')" ] ||
  die "there are changes that are not committed"
commit=$(git rev-parse HEAD)
use_systems
page=docs/versions.md
suites='build least regress isolation clients tap' core_suites='core golden simulation'
passed=$top/target/matrix/$commit
mkdir -p "$passed"

# prepare VERSION RELEASE: makes a system with the requirements of `make test` and a checkout of the
# commit.
prepare() {
  make_system "$2"
  add_packages "$2" "postgresql-$1" "postgresql-server-dev-$1" make gcc libc6-dev git \
    libclang-dev libipc-run-perl libgraph-perl python3-venv pkg-config procps xz-utils
  add_rust "$2"
  if [ "$1" -lt 15 ]; then newer_pgbench "$1" "$2"; fi
  add_checkout "$2"
}

# newer_pgbench VERSION RELEASE: installs the pgbench of 15. Older ones do not retry transactions,
# and tests of concurrent clients skip them.
newer_pgbench() {
  make_system bookworm
  add_packages bookworm postgresql-15
  cp -p "$systems_dir/bookworm/usr/lib/postgresql/15/bin/pgbench" \
    "$systems_dir/$2/usr/lib/postgresql/$1/bin/"
}

# old_server RELEASE: copies the tested PostgreSQL 15 with the extension into a later system, for
# the test pg_upgrade. Libraries that the system lacks are copied to where pg_upgrade finds them
# too. JIT is removed: the system has another LLVM.
old_server() {
  local root=$systems_dir/$1 from=$systems_dir/bookworm to=/home/builder/old15 library path has
  local server=usr/lib/postgresql/15
  rm -rf "${root:?}$to"
  cp -a "$from/home/builder/pg_simhash/target/pg15-test" "$root$to"
  rm -f "$root$to/$server/lib/llvmjit.so"
  mkdir "$root$to/libraries"
  say "$to/libraries" >"$root/etc/ld.so.conf.d/old15.conf"
  in_system "$1" ldconfig
  has=$(in_system "$1" ldconfig -p)
  while read -r library path; do
    if ! grep -qF "	$library " <<<"$has"; then cp -L "$from$path" "$root$to/libraries/"; fi
  done < <(in_system bookworm ldd "/$server/bin/postgres" | awk '$2 == "=>" { print $1, $3 }')
  in_system "$1" ldconfig
  in_system "$1" chown -R builder: "$to"
}

# run_tests VERSION RELEASE: runs the tests there. Prints their totals, or nothing on failure.
run_tests() {
  local log=$top/target/logs/matrix-$1.log server=$1 old='' named=$suites
  if [ "$1" = core ]; then
    server=$(version_in "$2") named=$core_suites
  elif [ "$1" -gt 15 ] && [ -f "$passed/15" ]; then
    old_server "$2"
    old=/home/builder/old15/usr/lib/postgresql/15
  fi
  in_checkout "$2" env CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_DEBUG=0 SIMHASH_OLD_SERVER="$old" \
    PG_CONFIG="/usr/lib/postgresql/$server/bin/pg_config" \
    bash -c "scripts/setup.sh test && scripts/test.sh $named" >"$log" 2>&1 || return 0
  { grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" || true; } | tail -n 1
}

# write_row VERSION SYSTEM LINE: writes the version's row of the table, in place of the old one.
write_row() {
  local server=''
  if [ "$1" != core ]; then
    server=$(in_system "$(release_of "$1")" "/usr/lib/postgresql/$1/bin/postgres" --version |
      sed -E 's/^[^0-9]*([0-9.a-z]+).*/\1/')
  fi
  python3 - "$page" "$1" "| $1 | $server | $2 | $3 | ${commit:0:12} | \
$(date -u +%Y-%m-%d) |" <<'PYTHON'
import sys

page, version, row = sys.argv[1:]
lines = open(page, encoding="utf-8").read().split("\n")
rows = [i for i, line in enumerate(lines) if line.startswith(f"| {version} | ")]
if len(rows) != 1:
    sys.exit(f"{page}: no single row for PostgreSQL {version}")
lines[rows[0]] = row
open(page, "w", encoding="utf-8").write("\n".join(lines))
PYTHON
}

mkdir -p target/logs
failed=0
for version in ${VERSIONS:-$(cut -d' ' -f1 <<<"$systems") core}; do
  case $version in
    core) on=15 subject='The core' ;;
    *) on=$version subject="PostgreSQL $version" ;;
  esac
  release=$(release_of "$on")
  [ -n "$release" ] || die "no system is known that has PostgreSQL $version"
  started=$SECONDS
  if [ ! -f "$passed/$version" ]; then
    prepare "$on" "$release"
    line=$(run_tests "$version" "$release")
    case $line in
      *', 0 failed'*) say "$line" >"$passed/$version" ;;
      *)
        grep -vE '\.\.\. ok$|^ok ' "target/logs/matrix-$version.log" | tail -n 30
        failed=1
        ;;
    esac
  fi
  line=$(cat "$passed/$version" 2>/dev/null || say "failed: target/logs/matrix-$version.log")
  system=$(name_of "$on")
  printf '%s on %s: %s  (%d s)\n' "$subject" "$system" "$line" $((SECONDS - started))
  if [ -f "$passed/$version" ]; then write_row "$version" "$system" "$line"; fi
done
exit $failed
