#!/usr/bin/env bash
# Makes Debian packages of the extension and of its debug symbols in target/packages: for the
# PostgreSQL that PG_CONFIG names, else for each that is installed with its headers.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh
architecture=$(dpkg --print-architecture)
umask 022

# dependencies_of LIBRARY: the packages of the libraries that it needs, with versions.
dependencies_of() (
  mkdir -p "$work/shlibdeps/debian"
  cd "$work/shlibdeps"
  printf 'Source: pg-simhash\n\nPackage: pg-simhash\nArchitecture: any\n' >debian/control
  # Symbols that no library provides come from the server.
  dpkg-shlibdeps -O --warnings=0 -e "$1" 2>/dev/null | sed -n 's/^shlibs:Depends=//p'
)

# documents ROOT PACKAGE: licences and changes.
documents() {
  local directory=$1/usr/share/doc/$2
  install -d "$directory"
  python3 scripts/copyright.py "$pg_feature" >"$directory/copyright"
  gzip -9n <CHANGELOG.md >"$directory/changelog.gz"
  gzip -9n >"$directory/changelog.Debian.gz" <<END
pg-simhash ($version-$revision) unstable; urgency=medium

  * Version $version. See changelog.gz for what is new.

 -- $maintainer  $(date --utc --date="@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %T +0000')
END
}

# kilobytes DIRECTORY: its size, counted as Debian's own tools do, the same on every file system.
kilobytes() {
  find "$1" -printf '%y %s\n' |
    awk '{ sum += ($1 == "f") ? int(($2 + 1023) / 1024) : 1 } END { print sum }'
}

# make_package ROOT FIELD...: makes the package of the files below ROOT. Fields are lines of its
# control file.
make_package() {
  local root=$1 name file
  shift
  name=$(printf '%s\n' "$@" | sed -n 's/^Package: //p')
  file=$packages_dir/${name}_$version-${revision}_$architecture.deb
  install -d "$root/DEBIAN"
  (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) \
    >"$root/DEBIAN/md5sums"
  printf '%s\n' "$@" "Source: pg-simhash" "Version: $version-$revision" \
    "Architecture: $architecture" "Maintainer: $maintainer" "Priority: optional" \
    "Installed-Size: $(kilobytes "$root/usr")" >"$root/DEBIAN/control"
  set_times "$root"
  # One thread: the output of xz depends on the number of threads.
  DPKG_DEB_THREADS_MAX=1 dpkg-deb --build --root-owner-group -Zxz "$root" "$file.new" >/dev/null
  mv -f "$file.new" "$file"
  say "${file#"$top/"}"
}

# make_packages: makes both packages for one PostgreSQL.
make_packages() {
  use_package
  local package=postgresql-$pg_major-pg-simhash
  local root=$work/$package debug_root=$work/$package-dbgsym
  stage "$root" "$debug_root" "$("$PG_CONFIG" --pkglibdir)" "$("$PG_CONFIG" --sharedir)"
  documents "$root" "$package"
  install -d "$debug_root/usr/share/doc"
  ln -s "$package" "$debug_root/usr/share/doc/$package-dbgsym"
  say "PostgreSQL $pg_major: needs glibc $(newest_glibc "$library")"
  make_package "$root" "Package: $package" "Section: database" \
    "Depends: $(dependencies_of "$root$("$PG_CONFIG" --pkglibdir)/pg_simhash.so"),\
 postgresql-$pg_major" \
    "Description: $summary" " ${description//$'\n'/$'\n' }"
  make_package "$debug_root" "Package: $package-dbgsym" "Section: debug" \
    "Auto-Built-Package: debug-symbols" "Build-Ids: $(build_id "$library")" \
    "Depends: $package (= $version-$revision)" "Description: debug symbols for $package"
}

mapfile -t pg_configs < <(packaged_pg_configs)
mkdir -p "$packages_dir"
for PG_CONFIG in "${pg_configs[@]}"; do
  (
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    chmod 755 "$work"
    make_packages
  )
done
