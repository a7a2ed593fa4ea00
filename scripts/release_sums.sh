#!/usr/bin/env bash
# Writes SHA256SUMS of the files of a release in target/release-N.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh
cd "target/release-$version"
sums=$(find . -maxdepth 1 -type f ! -name '.*' ! -name '*SUMS' -printf '%f\0' | LC_ALL=C sort -z |
  xargs -0 sha256sum)
say "$sums" >SHA256SUMS
