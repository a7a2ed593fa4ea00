# The suite `clients`: runs every example of the pages named below as it stands, and the tests of
# the package in clients/python. Sourced by test.sh.
# shellcheck shell=bash disable=SC2154 # logs, suites, socket, bindir, started: test.sh, cluster.sh

# install_clients: installs the clients' libraries below target/clients: Python's in a virtual
# environment, with the package, which is compiled, and node's if node is installed. Go's and Java's
# are Debian's packages golang-github-jackc-pgx-v5-dev (or v4) and libpostgresql-jdbc-java, if
# installed.
install_clients() {
  local directory=target/clients newer=stamp
  if [ -f $directory/stamp ]; then
    newer=$(find clients/python scripts/clients.sh crates/simhash-python crates/simhash-core/src \
      -type f -newer $directory/stamp -print -quit)
  fi
  [ -n "$newer" ] || return 0
  # The build reuses what other tests have compiled.
  python3 -m venv $directory/venv &&
    MATURIN_PEP517_ARGS="--profile quick" $directory/venv/bin/python -m pip install --quiet \
      --retries 2 './clients/python[test]' || return
  if command -v node >/dev/null && command -v npm >/dev/null; then
    npm install --prefix $directory --silent --no-audit --no-fund pg@8 drizzle-orm@0.45 || true
    # Prisma is large: only if this suite was requested by name. Its scripts would download programs
    # that only migrations need.
    if [ "$suites" = clients ] && [ "$(node -p 'parseInt(process.versions.node)')" -ge 20 ]; then
      npm install --prefix $directory --silent --no-audit --no-fund --ignore-scripts \
        prisma@7 @prisma/client@7 @prisma/adapter-pg@7 || true
    fi
  fi
  touch $directory/stamp
}

# as_client COMMAND...: runs it with the clients' libraries, on the server of the tests.
as_client() {
  (
    unset "${!PG@}"
    export PGHOST=$socket PGUSER=postgres PYTHONDONTWRITEBYTECODE=1
    export PATH=$top/target/clients/venv/bin:$bindir:$PATH
    export NODE_PATH=$top/target/clients/node_modules
    exec "$@"
  )
}

suite_clients() {
  local log=$logs/clients.log status=0 reason pages
  if ! install_clients >"$log" 2>&1; then
    if reason=$(grep -m 1 -E 'No matching distribution|requires a different Python' "$log"); then
      skip clients "pip cannot install the clients' libraries: ${reason##*ERROR: }"
    else
      tail -n 20 "$log"
      report clients 0 1
    fi
    return
  fi
  {
    for pages in 'clients refused-rows' 'sqlalchemy alembic' 'django django-forms' images node \
      go-java python python-tools; do
      # shellcheck disable=SC2046,SC2086 # pages that share a project
      as_client python tests/clients/run.py $(printf 'docs/%s.md ' $pages) \
        target/clients/project || status=1
    done
    as_client python -m pytest -q -p no:cacheprovider clients/python || status=1
  } >"$log" 2>&1
  grep '^skipped' "$log" || true
  if [ $status -ne 0 ]; then grep -v '^ok' "$log" | tail -n 60; fi
  grep -E '^([0-9]+ [a-z]+, )*[0-9]+ (passed|failed|errors?)' "$log" >"$log.sums" || true
  report clients "$(sum '[0-9]+ passed' "$log.sums")" \
    "$(at_least_one_if $status "$(sum '[0-9]+ (failed|errors?)' "$log.sums")")"
}
