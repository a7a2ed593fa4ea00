#!/usr/bin/env bash
# Prints the notes of a release: the version's section of CHANGELOG.md, and how to install it.
# usage: release_notes.sh VERSION
. "$(dirname "$0")/lib.sh"
version=${1:?usage: release_notes.sh VERSION}
changes=$(awk -v version="$version" '
  /^## / { inside = $2 == version; next }
  inside' CHANGELOG.md)
[ -n "$changes" ] || die "CHANGELOG.md has no section of version $version"
# The section starts below its heading, because the release's page has the version as a title.
sed '/./,$!d; s/^### /## /' <<<"$changes"
cat <<END

## Installation

The packages are for Debian 12 and 13 and Ubuntu 22.04 and 24.04 (.deb), and for RHEL 9 and its
relatives with PostgreSQL's own packages (.rpm). Choose the one whose number is the version of your
PostgreSQL:

\`\`\`sh
sudo apt install ./postgresql-17-pg-simhash_$version-1_amd64.deb
\`\`\`

Then, in a database: \`CREATE EXTENSION pg_simhash;\`, or after an older version
\`ALTER EXTENSION pg_simhash UPDATE;\`. docs/installation.md says how to go back.
END
