#!/usr/bin/env bash
# Installs, uses, upgrades, downgrades and removes a package with apt. Root runs it in a system that
# has PostgreSQL's package and nothing else. Ends with "N passed, N failed".
# usage: deb_life.sh VERSION OLD NEW SYMBOLS: PostgreSQL's version, a package whose default version
# is 0.1.0, the package under test, and its debug symbols
set -euo pipefail
cd /
major=$1 old=$2 new=$3 symbols=$4
package=postgresql-$major-pg-simhash
bindir=/usr/lib/postgresql/$major/bin
data=/tmp/data
passed=0 failed=0

# check NAME COMMAND...: one test.
check() {
  local name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
    printf 'ok %s\n' "$name"
  else
    failed=$((failed + 1))
    printf 'not ok %s\n' "$name"
    tail -n 5 /tmp/output | sed 's/^/  # /'
  fi
}
not() { ! "$@"; }
quietly() { "$@" >/tmp/output 2>&1; }
apt() { quietly apt-get install -y --no-install-recommends --allow-downgrades "$@"; }
sql() { psql -X -A -t -q -v ON_ERROR_STOP=1 -h /tmp -U "${user:-postgres}" "$@"; }
# is EXPECTED DATABASE QUERY
is() { [ "$(sql -d "$2" -c "$3" 2>&1 | tee /tmp/output)" = "$1" ]; }
fails() { ! sql -d "$1" -c "$2" >/tmp/output 2>&1 && grep -q -- "$3" /tmp/output; }
server() {
  quietly runuser -u postgres -- "$bindir/pg_ctl" -w -D "$data" -l /tmp/server.log \
    -o "-k /tmp -c listen_addresses=''" "$@"
}
no_server_runs() { ! grep -qsx postgres /proc/[0-9]*/comm; }
# All files except those that apt, dpkg and logs write for every package.
files() {
  find / -xdev \( -path /proc -o -path /tmp -o -path /var/log -o -path /var/cache -o \
    -path /var/lib/apt -o -path /var/lib/dpkg -o -path /root -o -path /packages \) -prune \
    -o -print | LC_ALL=C sort
}
known_to_dpkg() { dpkg-query --show "$1" >/tmp/output 2>&1; }
left_to_dpkg() { find /var/lib/dpkg/info -name "*pg-simhash*" | grep -q .; }

# From golden.jsonl. A second implementation computes these too.
cats="the cat sat on the mat"
cats_are=cb542bc311d7346f
chinese="你妈妈喊你回家吃饭哦，回家罗回家罗"
chinese_is=9431fcdbb6fead5c
# Random fingerprints and one that the query is near to.
create="CREATE EXTENSION pg_simhash;
CREATE TABLE t (id integer PRIMARY KEY, fp fingerprint64);
INSERT INTO t SELECT i, simhash('text ' || i || ' of many ' || md5(i::text))
  FROM generate_series(1, 2000) i;
INSERT INTO t VALUES (0, simhash('$cats'));
CREATE INDEX t_fp ON t USING simhash (fp);
ANALYZE t"
near="SET enable_seqscan = off; SELECT id FROM t WHERE hamming(fp, simhash('$cats')) <= 3"
version="SELECT extversion FROM pg_extension WHERE extname = 'pg_simhash'"
uses_index() {
  sql -d "$1" -c "SET enable_seqscan = off;
    EXPLAIN SELECT id FROM t WHERE hamming(fp, simhash('$cats')) <= 3" >/tmp/output 2>&1 &&
    grep -q t_fp /tmp/output
}

files >/tmp/before
check "the package of the old version installs" apt "$old"
check "no server is started" no_server_runs
runuser -u postgres -- "$bindir/initdb" -D "$data" -A trust --no-sync --encoding=UTF8 --locale=C \
  >/dev/null
check "a server starts" server start
sql -d postgres -c "CREATE DATABASE a" -c "CREATE DATABASE b"
check "the extension is created" quietly sql -d a -c "$create"
check "and in another database" quietly sql -d b -c "$create"
check "it is the old version" is 0.1.0 a "$version"

# A session that has loaded the old library goes on while apt replaces it.
cat >/tmp/session.sql <<END
SELECT simhash('$cats');
\\! apt-get install -y $new >/tmp/output 2>&1 || echo failed
SELECT simhash('$cats');
SELECT simhash('$chinese');
END
check "the new package replaces it under a running session" \
  test "$(sql -d a -f /tmp/session.sql 2>&1)" = "$cats_are
$cats_are
$chinese_is"
check "it is installed" test "$(dpkg-query --showformat "\${Version}" --show "$package")" \
  = "$(dpkg-deb --field "$new" Version)"
check "what was created stays at the old version" is 0.1.0 a "$version"
check "and answers" is 0 a "$near"
check "ALTER EXTENSION UPDATE" quietly sql -d a -c "ALTER EXTENSION pg_simhash UPDATE"
check "leads to the new version" is "$(sed -n "s/^default_version = '\(.*\)'/\1/p" \
  "/usr/share/postgresql/$major/extension/pg_simhash.control")" a "$version"
check "the index answers as before" is 0 a "$near"
check "and is used" uses_index a
check "new functions are there" is 256 a "SELECT length(simhash256('$cats')::bit(256))"
check "the index is in order" quietly sql -d a -c "SELECT simhash_index_check('t_fp')"

sql -d postgres -c "CREATE ROLE someone LOGIN" -c "CREATE DATABASE c OWNER someone"
user=someone
check "the owner of a database creates it, who is no superuser" quietly sql -d c -c "$create"
check "and asks" is 0 c "$near"
user=postgres

check "it can be preloaded" quietly sql -d postgres \
  -c "ALTER SYSTEM SET shared_preload_libraries = pg_simhash"
check "the server restarts" server restart
check "Chinese texts" is "$chinese_is" a "SELECT simhash('$chinese')"

check "a database that was updated is dumped" quietly "$bindir/pg_dump" -h /tmp -U postgres \
  --exclude-table-data='*.simhash_word_list' -f /tmp/dump.sql a
check "the old package can be put back" apt "$old"
check "the server restarts with it" server restart
check "where ALTER EXTENSION was not run all is as before" is 0 b "$near"
check "and it can be created" quietly sql -d postgres -c "CREATE DATABASE d" -c "\\c d" \
  -c "$create"
check "in the old version" is 0.1.0 d "$version"
sql -d postgres -c "CREATE DATABASE restored"
check "the dump is restored" quietly sql -d restored -f /tmp/dump.sql
check "with the old version" is 0.1.0 restored "$version"
check "and answers" is 0 restored "$near"
check "and the new package again" apt "$new"
check "debug symbols install" apt "$symbols"

quietly sql -d postgres -c "ALTER SYSTEM RESET shared_preload_libraries"
check "the packages are removed" quietly apt-get remove -y "$package" "$package-dbgsym"
check "the server restarts without them" server restart
check "its extension is missed" fails a "SELECT simhash('$cats')" \
  'could not access file .*pg_simhash'
# PostgreSQL 14 names the file that it did not find.
check "and cannot be created" fails postgres "CREATE EXTENSION pg_simhash" \
  'not available\|could not open extension control file'
if [ "$major" -ge 18 ]; then
  # As CloudNativePG mounts the image made by packaging/Dockerfile.
  volume=/tmp/extensions/pg-simhash
  dpkg-deb -x "$new" /tmp/unpacked
  mkdir -p "$volume/lib" "$volume/share/extension"
  cp "/tmp/unpacked/usr/lib/postgresql/$major/lib/pg_simhash.so" "$volume/lib/"
  cp "/tmp/unpacked/usr/share/postgresql/$major/extension"/pg_simhash* "$volume/share/extension/"
  chmod -R a+rX "$volume"
  quietly sql -d postgres -c "ALTER SYSTEM SET extension_control_path = '\$system:$volume/share'" \
    -c "ALTER SYSTEM SET dynamic_library_path = '\$libdir:$volume/lib'" \
    -c "ALTER SYSTEM SET shared_preload_libraries = pg_simhash"
  check "the server starts with an image volume" server restart
  sql -d postgres -c "CREATE DATABASE v"
  check "which has the extension" quietly sql -d v -c "$create"
  check "that answers" is 0 v "$near"
  check "also where it was created from the package" is 0 a "$near"
  quietly sql -d postgres -c "ALTER SYSTEM RESET ALL"
  check "the server restarts without the volume" server restart
fi
check "it installs again" apt "$new" "$symbols"
check "the rows are there" is 2001 a "SELECT count(*) FROM t"
check "the packages are purged" quietly apt-get purge -y "$package" "$package-dbgsym"
check "dpkg does not know them any more" not known_to_dpkg "$package*"
check "nor has files of them" not left_to_dpkg
server stop -m immediate
files >/tmp/after
diff /tmp/before /tmp/after >/tmp/output || true
check "nothing is left behind" test ! -s /tmp/output

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
