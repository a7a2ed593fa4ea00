#!/usr/bin/env bash
# Formatting and lints, with warnings denied; licences and advisories of crates if cargo-deny is
# installed; shell scripts if shellcheck is. Also lines of at most 100 characters, dependencies
# between files, link targets, version numbers, and whether the pages of figures follow from the
# committed results.
. "$(dirname "$0")/lib.sh"
use_postgresql
for component in fmt clippy; do
  cargo "$component" --version >/dev/null 2>&1 ||
    quietly rustup.log rustup component add rustfmt clippy
done

# check_crates: licences and sources of all crates, by deny.toml, and advisories if their database
# can be fetched.
check_crates() {
  if ! cargo deny --version >/dev/null 2>&1; then
    say "Licences and advisories of crates: not checked, for there is no cargo-deny"
    return
  fi
  quietly deny.log cargo deny --workspace --locked check licenses bans sources
  if cargo deny --workspace --locked fetch db >target/logs/deny-fetch.log 2>&1; then
    quietly deny.log cargo deny --workspace --locked --offline check advisories
  else
    say "Advisories of crates: not checked, for their database cannot be fetched"
  fi
}

# check_api: whether the API of simhash-core is that of the commit named in its Cargo.toml, or its
# version declares the change. Before a release, a commit that changes the API on purpose is named
# there.
check_api() {
  local since
  since=$(sed -n 's/^api-since = "\(.*\)"/\1/p' crates/simhash-core/Cargo.toml)
  if ! cargo semver-checks --version >/dev/null 2>&1; then
    say "The API of simhash-core: not checked, for there is no cargo-semver-checks"
  elif ! git cat-file -e "$since^{commit}" 2>/dev/null; then
    say "The API of simhash-core: not checked, for commit $since is not here"
  else
    quietly semver.log cargo semver-checks -p simhash-core --baseline-rev "$since"
  fi
}

# check_examples: whether the diffs of the worked examples still apply.
check_examples() {
  local page
  for page in docs/design/add-*.md; do
    example_of <"$page" | git apply --check - ||
      die "$page: its diff does not apply; scripts/run example edit $page helps to mend it"
  done
}

unformatted=$(cargo fmt --all -- --check -l || true)
[ -z "$unformatted" ] || die "cargo fmt would change:
$unformatted"
PGRX_PG_CONFIG_PATH=$PG_CONFIG cargo clippy --quiet --profile quick --locked --workspace \
  --all-targets --no-default-features --features "$pg_feature,lock-order" -- -D warnings
# A small build of the core, without dictionaries.
cargo check --quiet --profile quick --locked -p simhash-core --no-default-features
check_crates
check_api
check_examples
if command -v shellcheck >/dev/null 2>&1; then
  shellcheck -x -P SCRIPTDIR scripts/*.sh scripts/run tests/*.sh packaging/action/*.sh .ci/run
fi
# Counts characters, not bytes. Tables and plans shown on a page may be wider.
long=$(git ls-files '*.rs' '*.py' '*.sh' '*.sql' '*.pl' '*.pm' '*.spec' '*.md' '*.toml' Makefile |
  LC_ALL=C.UTF-8 xargs grep -nHP '^(?!\||.*Remote SQL:).{101,}' || true)
[ -z "$long" ] || die "Lines of more than 100 characters:
$long"
if command -v python3 >/dev/null 2>&1; then
  python3 scripts/rooms.py
  python3 scripts/size.py
  python3 scripts/names.py
  python3 scripts/sql.py check
  python3 -m doctest -o NORMALIZE_WHITESPACE report/measures.py
  python3 -m doctest evaluate/draw/registry.py evaluate/draw/texts.py
  python3 -m report check
  python3 scripts/links.py
  python3 scripts/versions.py
else
  say "Rooms, links, versions and pages of figures: not checked, for there is no python3"
fi
say "Formatting and lints: clean"
