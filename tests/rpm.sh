#!/usr/bin/env bash
# Tests the RPMs in target/packages: their contents and requirements, and that rpm installs and
# erases them below a directory. (There is no server of PostgreSQL's yum repository here.) Ends with
# "N passed, N failed".
. "$(dirname "$0")/../scripts/lib.sh"
. scripts/packages.sh
if [ "$(id -u)" -ne 0 ]; then
  say "RPMs: skipped, for only root can install them below a directory"
  exit 0
fi
. tests/check.sh

in_root() { rpm --root "$tmp/root" "$@"; }
nothing_in() { [ -z "$(find "$@")" ]; }
same_as_here() {
  local file
  cmp "$tmp/root/usr/pgsql-$1/share/extension/pg_simhash.control" pg_simhash.control || return 1
  for file in sql/pg_simhash--*.sql; do
    cmp "$file" "$tmp/root/usr/pgsql-$1/share/extension/${file#sql/}" || return 1
  done
}

for file in "$packages_dir"/pg_simhash_[0-9]*-"$version-$revision".*.rpm; do
  case $file in *-debuginfo-*) continue ;; esac
  [ -f "$file" ] || die "there are no RPMs of version $version in target/packages: scripts/run rpm"
  name=$(rpm -qp --queryformat '%{NAME}' "$file")
  major=${name##*_}
  library=$tmp/root/usr/pgsql-$major/lib/pg_simhash.so
  rm -rf "$tmp/root"
  mkdir "$tmp/root"
  in_root --initdb
  check "$name installs, with its debug symbols" in_root --nodeps --install "$file" \
    "${file/"$name-"/"$name-debuginfo-"}"
  check "$name: what is installed is what was packaged" in_root --nodeps --verify "$name" \
    "$name-debuginfo"
  check "$name: with this control file and these scripts" same_as_here "$major"
  check "$name: the library runs with glibc 2.34" \
    version_ge 2.34 "$(newest_glibc "$library")"
  check "$name: it needs the server" grep -qx "postgresql$major-server" \
    <(rpm -qp --requires "$file")
  id=$(build_id "$library")
  check "$name: its debug symbols are where debuggers look" \
    test -s "$tmp/root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
  check "$name is erased" in_root --erase "$name" "$name-debuginfo"
  check "$name: no file is left, nor a directory of its own" \
    nothing_in "$tmp/root" ! -path '*rpm*/*' \( -type f -o -name 'pg_simhash*' \)
done
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
