#!/usr/bin/env bash
# Tests the Debian packages in target/packages: their contents, lintian, and how apt installs,
# upgrades and removes them in a clean system (deb_life.sh). Ends with "N passed, N failed".
# usage: tests/deb.sh [VERSION...]: of PostgreSQL, by default all that have packages
. "$(dirname "$0")/../scripts/lib.sh"
. scripts/packages.sh
. scripts/systems.sh
if [ "$(id -u)" -ne 0 ]; then
  say "Packages: skipped, for only root can make and enter systems of their own"
  exit 0
fi
# This process has its own mounts, which end with it.
[ -n "${mounts_are_own:-}" ] ||
  mounts_are_own=1 exec unshare --mount --propagation private "$0" "$@"
use_systems
# The systems of other tests have compilers.
systems_dir=$systems_dir/clean
mkdir -p "$systems_dir"
architecture=$(dpkg --print-architecture)
# Debian 12 has 2.36, Ubuntu 22.04 has 2.35, and RHEL 9 has 2.34.
oldest_glibc=2.34
. tests/check.sh
not() { ! "$@"; }

# crates_in LIBRARY: the crates, such as libm-0.2.16, whose paths the library contains.
crates_in() { strings "$1" | grep -oP '/cargo/registry/src/[^/]+/\K[^/]+(?=/)' | sort -u; }
# Crates that only run during compilation are not in the library.
names_crates() {
  local crate
  for crate in $(crates_in "$2"); do
    grep -qF "cargo/$crate/" "$1" || { say "$crate is missing" && return 1; }
  done
}
has_no_paths_of_here() { ! strings "$1" | grep -F -e "$top/" -e "$HOME/" -e "$tmp"; }

# check_contents VERSION FILE SYMBOLS: the contents of a package and of its debug symbols.
check_contents() {
  local package=postgresql-$1-pg-simhash root=$tmp/root debug_root=$tmp/debug library id
  rm -rf "$root" "$debug_root"
  dpkg-deb -R "$2" "$root"
  dpkg-deb -R "$3" "$debug_root"
  library=$root/usr/lib/postgresql/$1/lib/pg_simhash.so
  id=$(build_id "$library")
  local symbols=$debug_root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
  local copyright=$root/usr/share/doc/$package/copyright
  check "$1: lintian has no errors" lintian --allow-root --fail-on error "$2" "$3"
  check "$1: glibc $oldest_glibc is enough" \
    version_ge "$oldest_glibc" "$(newest_glibc "$library")"
  check "$1: the library is stripped" not grep -q '\.debug_info' <(readelf -SW "$library")
  check "$1: its debug symbols are where debuggers look" test -s "$symbols"
  check "$1: and are of this library" test "$(build_id "$symbols")" = "$id"
  check "$1: no paths of this machine are in the library" has_no_paths_of_here "$library"
  check "$1: nor in the debug symbols" has_no_paths_of_here "$symbols"
  objcopy --decompress-debug-sections "$symbols" "$tmp/symbols"
  check "$1: the paths of many crates are in the debug symbols" \
    test "$(crates_in "$tmp/symbols" | wc -l)" -gt 20
  check "$1: the copyright file names each of them" names_crates "$copyright" "$tmp/symbols"
}

# make_old VERSION FILE: writes old.deb, the package as of 0.1.0: that catalogue, with this library.
make_old() {
  local root=$tmp/old extension
  rm -rf "$root"
  dpkg-deb -R "$2" "$root"
  extension=$root/usr/share/postgresql/$1/extension
  find "$extension" -name 'pg_simhash--*.sql' ! -name 'pg_simhash--0.1.0.sql' -delete
  sed -i "s/^default_version = .*/default_version = '0.1.0'/" "$extension/pg_simhash.control"
  sed -i 's/^Version: .*/Version: 0.1.0-1/' "$root/DEBIAN/control"
  rm "$root/DEBIAN/md5sums"
  dpkg-deb --build --root-owner-group "$root" "$tmp/old.deb" >/dev/null
}

# enter_clean RELEASE COMMAND...: runs it in a newly made system and discards its changes.
enter_clean() {
  local scratch=$tmp/scratch status=0
  mkdir -p "$scratch" "$systems_dir/scratch"
  mount -t tmpfs tmpfs "$scratch"
  mkdir "$scratch/upper" "$scratch/work"
  mount -t overlay overlay "$systems_dir/scratch" \
    -o "lowerdir=$systems_dir/$1,upperdir=$scratch/upper,workdir=$scratch/work"
  shift
  bind=$tmp/packages:/packages in_system scratch "$@" || status=$?
  umount "$systems_dir/scratch" "$scratch"
  return $status
}

# live_through VERSION FILE SYMBOLS: runs deb_life.sh in the release that has this PostgreSQL.
live_through() {
  local release counts
  release=$(release_of "$1")
  make_system "$release"
  add_packages "$release" "postgresql-$1"
  make_old "$1" "$2"
  rm -rf "$tmp/packages"
  mkdir "$tmp/packages"
  cp "$tmp/old.deb" tests/deb_life.sh "$tmp/packages/"
  cp "$2" "$tmp/packages/new.deb"
  cp "$3" "$tmp/packages/symbols.deb"
  chmod -R a+rX "$tmp/packages"
  enter_clean "$release" /packages/deb_life.sh "$1" /packages/old.deb /packages/new.deb \
    /packages/symbols.deb >"$tmp/life" 2>&1 || true
  sed "\$d; s/ok /ok $1: /" "$tmp/life"
  counts=$(tail -n 1 "$tmp/life")
  if [[ $counts =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
  else
    check "$1: deb_life.sh comes to its end: $counts" false
  fi
}

tested=0 majors=("$@")
[ $# -gt 0 ] || mapfile -t majors < <(cut -d' ' -f1 <<<"$systems")
for major in "${majors[@]}"; do
  name=postgresql-$major-pg-simhash
  end=_$version-${revision}_$architecture.deb
  if [ -f "$packages_dir/$name$end" ]; then
    tested=$((tested + 1))
    check_contents "$major" "$packages_dir/$name$end" "$packages_dir/$name-dbgsym$end"
    live_through "$major" "$packages_dir/$name$end" "$packages_dir/$name-dbgsym$end"
  elif [ $# -gt 0 ]; then
    check "$major: there is a package in ${packages_dir#"$top/"}" false
  fi
done
[ "$tested" -gt 0 ] ||
  die "there are no packages of version $version in target/packages: scripts/run deb"
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
