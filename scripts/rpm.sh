#!/usr/bin/env bash
# Makes RPMs of the extension and of its debug symbols in target/packages, for the PostgreSQL of
# PostgreSQL's own repository (PGDG). They are compiled for the PostgreSQL that PG_CONFIG names,
# else for each that is installed with its headers.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh
umask 022

# make_packages: makes both packages for one PostgreSQL.
make_packages() {
  use_package
  local name=pg_simhash_$pg_major prefix=/usr/pgsql-$pg_major root=$work/root file
  stage "$root" "$root" "$prefix/lib" "$prefix/share"
  chmod 755 "$root$prefix/lib/pg_simhash.so"
  install -d "$root/usr/share/licenses/$name" "$root/usr/share/doc/$name"
  python3 scripts/copyright.py "$pg_feature" >"$root/usr/share/licenses/$name/copyright"
  install -m 644 CHANGELOG.md "$root/usr/share/doc/$name/"
  set_times "$root"
  say "PostgreSQL $pg_major: needs glibc $(newest_glibc "$library")"
  quietly "rpm-$pg_major.log" rpmbuild -bb --define "_topdir $work/rpmbuild" \
    --define "its_major $pg_major" --define "its_version $version" \
    --define "its_revision $revision" --define "its_files $root" --define "its_prefix $prefix" \
    --define "its_maintainer $maintainer" --define "its_description $description" \
    --define "its_date $(LC_ALL=C date --utc --date="@$SOURCE_DATE_EPOCH" '+%a %b %d %Y')" \
    packaging/pg_simhash.spec
  for file in "$work"/rpmbuild/RPMS/*/*.rpm; do
    mv -f "$file" "$packages_dir/"
    say "${packages_dir#"$top/"}/${file##*/}"
  done
}

mapfile -t pg_configs < <(packaged_pg_configs)
mkdir -p "$packages_dir"
for PG_CONFIG in "${pg_configs[@]}"; do
  (
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    make_packages
  )
done
