#!/usr/bin/env bash
# Installs pg_simhash on Debian or Ubuntu from the files of a release, after checking their sums.
# usage: PACKAGES=DIRECTORY-OR-ADDRESS install.sh [POSTGRESQL]: the major version, by default the
# newest that is installed. VERSION is the release's, by default this checkout's.
set -euo pipefail
packages=${PACKAGES:?PACKAGES: the directory or the address where the files of a release are}
control=$(dirname "$0")/../../pg_simhash.control
version=${VERSION:-$(sed -n "s/^default_version = '\(.*\)'/\1/p" "$control")}
postgresql=${1:-$(find /usr/lib/postgresql -path '*/bin/postgres' 2>/dev/null |
  grep -oE '/[0-9]+/' | tr -d / | sort -n | tail -n 1)}
[ -n "$postgresql" ] || { printf '%s\n' "no PostgreSQL is installed" >&2 && exit 1; }
file=postgresql-$postgresql-pg-simhash_$version-1_$(dpkg --print-architecture).deb
downloads=$(mktemp -d)
trap 'rm -rf "$downloads"' EXIT
chmod 755 "$downloads"
for name in "$file" SHA256SUMS; do
  case $packages in
    *://*) curl --fail --silent --show-error --location -o "$downloads/$name" "$packages/$name" ;;
    *) cp "$packages/$name" "$downloads/" ;;
  esac
done
(cd "$downloads" && grep -F " $file" SHA256SUMS | sha256sum --check --quiet --strict)
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y --no-install-recommends --allow-downgrades "$downloads/$file"
printf '%s\n' "pg_simhash $version is installed for PostgreSQL $postgresql"
