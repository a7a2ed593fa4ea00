#!/usr/bin/env bash
# Makes the Debian packages for every supported version of PostgreSQL in target/packages, from the
# commit that is checked out. Each is compiled in a system that has that version. VERSIONS="14 17"
# limits the versions.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh
. scripts/systems.sh
use_systems
mkdir -p "$packages_dir"

for major in ${VERSIONS:-$(cut -d' ' -f1 <<<"$systems")}; do
  release=$(release_of "$major")
  [ -n "$release" ] || die "no system is known that has PostgreSQL $major"
  make_system "$release"
  add_packages "$release" "postgresql-$major" "postgresql-server-dev-$major" make gcc libc6-dev \
    git libclang-dev dpkg-dev python3 ca-certificates
  add_rust "$release"
  add_checkout "$release"
  say "Compiling for PostgreSQL $major on $(name_of "$major")"
  quietly "deb-$major.log" in_checkout "$release" env SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" \
    DEBFULLNAME="${DEBFULLNAME:-}" DEBEMAIL="${DEBEMAIL:-}" \
    PG_CONFIG="/usr/lib/postgresql/$major/bin/pg_config" scripts/run deb
  for file in "$systems_dir/$release/home/builder/pg_simhash/target/packages"/*"_$version-"*.deb; do
    cp "$file" "$packages_dir/"
    say "${packages_dir#"$top/"}/${file##*/}"
  done
done
