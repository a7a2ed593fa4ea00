#!/usr/bin/env bash
# Makes all files of a release from the tag that is checked out, in target/release-N for version N:
# packages for every supported PostgreSQL, each compiled in its own system, wheels, the crate, the
# archive for PGXN, and SHA256SUMS. Makes them a second time from another directory and compares the
# bytes; then installs, uses and removes them. As root on Debian or Ubuntu; it takes some hours.
# VERSIONS="15 19" limits the versions of PostgreSQL, FORMS="wheels crate" the forms. Forms that
# were made from a commit are not made again.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh
. scripts/systems.sh
use_systems
commit=$(git rev-parse HEAD)
tag=v$version
[ -z "$(git status --porcelain)" ] || die "there are changes that are not committed"
[ "$(git rev-parse -q --verify "$tag^{commit}" || true)" = "$commit" ] ||
  die "the commit that is checked out is not tagged $tag: git tag $tag"
versions=${VERSIONS:-$(cut -d' ' -f1 <<<"$systems" | paste -sd' ')}
forms=${FORMS:-packages wheels crate pgxn image}
out=$top/target/release-$version
again=$top/target/release-$version-again
if [ "$(cat "$out/.commit" 2>/dev/null || true)" != "$commit" ]; then
  rm -rf "$out" "$again"
  mkdir -p "$out" "$again"
  say "$commit" >"$out/.commit"
fi
mkdir -p target/logs "$again"

# has_made FORM: whether both copies of it exist.
has_made() { [ -f "$out/.made-$1" ]; }
made() { touch "$out/.made-$1"; }

# Packages: deb-repeat compiles them in the system's own checkout and in a clone elsewhere.
make_packages() {
  local major=$1 release checkout file
  has_made "packages-$major" && return
  release=$(release_of "$major")
  [ -n "$release" ] || die "no system is known that has PostgreSQL $major"
  make_system "$release"
  add_packages "$release" "postgresql-$major" "postgresql-server-dev-$major" make gcc libc6-dev \
    git libclang-dev dpkg-dev python3 ca-certificates rpm
  add_rust "$release"
  add_checkout "$release"
  say "Packages for PostgreSQL $major on $(name_of "$major"), twice"
  quietly "release-$major.log" in_checkout "$release" env SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" \
    DEBFULLNAME="${DEBFULLNAME:-}" DEBEMAIL="${DEBEMAIL:-}" KEEP=target/packages-again \
    PG_CONFIG="/usr/lib/postgresql/$major/bin/pg_config" tests/same_bytes.sh
  checkout=$systems_dir/$release/home/builder/pg_simhash/target
  for file in "$checkout/packages"/*"$major-pg-simhash"*"_$version-"*.deb \
    "$checkout/packages/pg_simhash_$major"-*.rpm; do
    cp "$file" "$out/"
    cp "$checkout/packages-again/${file##*/}" "$again/"
  done
  made "packages-$major"
}

# in_clone COMMAND...: runs it in a clone of this commit in another directory, with another home of
# Cargo that contains only downloads.
in_clone() {
  if [ ! -d "$clone" ]; then
    git clone -q . "$clone"
    git -C "$clone" checkout -q --detach "$commit"
    mkdir -p "$clone.cargo/registry"
    for part in cache index; do
      cp -R "${CARGO_HOME:-$HOME/.cargo}/registry/$part" "$clone.cargo/registry/"
    done
  fi
  (cd "$clone" && CARGO_HOME=$clone.cargo "$@")
}

make_wheels() {
  has_made wheels && return
  say "Wheels, twice"
  quietly release-wheel.log env ONLY=build scripts/wheel.sh
  cp target/wheels/* "$out/"
  quietly release-wheel-again.log in_clone env ONLY=build scripts/wheel.sh
  cp "$clone/target/wheels"/* "$again/"
  made wheels
}

make_crate() {
  has_made crate && return
  say "The crate simhash-core, twice"
  quietly release-crate.log cargo package --locked -p simhash-core
  cp "target/package/simhash-core-$version.crate" "$out/"
  quietly release-crate-again.log in_clone cargo package --locked --no-verify -p simhash-core
  cp "$clone/target/package/simhash-core-$version.crate" "$again/"
  made crate
}

# The archive for PGXN. PGXN's own program checks META.json.
make_pgxn() {
  has_made pgxn && return
  local validator=$top/target/tools/bin/pgxn_meta name=pg_simhash-$version
  say "The archive for PGXN, twice"
  [ -x "$validator" ] || quietly release-pgxn.log \
    cargo install --locked --root target/tools --version '^0.7' pgxn_meta
  quietly release-pgxn.log "$validator" META.json
  git archive --format=zip --prefix="$name/" --output="$out/$name.zip" "$tag"
  in_clone git archive --format=zip --prefix="$name/" --output="$again/$name.zip" "$commit"
  made pgxn
}

clone=$(mktemp -d -u /var/tmp/pg_simhash.XXXXXX)
trap 'rm -rf "$clone" "$clone.cargo"' EXIT
for form in $forms; do
  case $form in
    packages) for major in $versions; do make_packages "$major"; done ;;
    wheels | crate | pgxn) "make_$form" ;;
    image) ;;
    *) die "FORMS: $form is none of packages, wheels, crate, pgxn, image" ;;
  esac
done

. tests/check.sh
trap 'rm -rf "$clone" "$clone.cargo" "$tmp"' EXIT
artefacts=$(cd "$out" && ls)
for file in $artefacts; do
  [ "$file" = SHA256SUMS ] || check "$file is the same when it is made again" \
    cmp "$out/$file" "$again/$file"
done
scripts/release_sums.sh

# suite NAME COMMAND...: runs tests that end with "N passed, N failed", and counts each.
suite() {
  local name=$1 counts
  shift
  say "Testing: $name"
  "$@" >"target/logs/release-test-$name.log" 2>&1 || true
  counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "target/logs/release-test-$name.log" |
    tail -n 1 || true)
  say "  $counts"
  check "$name: target/logs/release-test-$name.log" grep -q ', 0 failed' <<<"$counts"
}

# Installs the wheel as a user does, into an empty environment.
use_wheel() {
  local wheel
  wheel=$(ls "$out"/pg_simhash-*manylinux*"$(uname -m)".whl)
  python3 -m venv "$tmp/venv"
  "$tmp/venv/bin/pip" install -q --no-index "$wheel"
  [ "$("$tmp/venv/bin/python" -c \
    'import pg_simhash; print(pg_simhash.simhash("the cat sat on the mat"))')" = \
    cb542bc311d7346f ] || return 1
  "$tmp/venv/bin/pip" uninstall -q -y pg_simhash
  ! "$tmp/venv/bin/python" -c 'import pg_simhash' 2>/dev/null
}

# Uses the crate as a dependency of another, from the file that is uploaded.
use_crate() {
  mkdir -p "$tmp/crate/src"
  tar -xzf "$out/simhash-core-$version.crate" -C "$tmp"
  printf '%s\n' '[package]' 'name = "user"' 'version = "0.0.0"' 'edition = "2024"' \
    '[dependencies]' "simhash-core = { path = \"../simhash-core-$version\" }" \
    >"$tmp/crate/Cargo.toml"
  cat >"$tmp/crate/src/main.rs" <<'END'
fn main() {
    let mut simhasher = simhash_core::Simhasher::new(simhash_core::Config::default()).unwrap();
    let cats: Option<u64> = simhasher.fingerprint("the cat sat on the mat", &mut || ());
    assert_eq!(cats, Some(0xcb542bc311d7346f));
}
END
  (cd "$tmp/crate" && CARGO_TARGET_DIR=$top/target/release-crate cargo run --quiet)
}

for form in $forms; do
  case $form in
    packages)
      mkdir -p "$packages_dir"
      cp "$out"/*.deb "$out"/*.rpm "$packages_dir/"
      # shellcheck disable=SC2086 # several
      suite packages tests/deb.sh $versions
      suite rpm tests/rpm.sh
      ;;
    wheels) check "the wheel is installed, used and removed" use_wheel ;;
    crate) check "the crate is used by another" use_crate ;;
    pgxn) check "the archive has what META.json names" \
      unzip -q -t "$out/pg_simhash-$version.zip" "pg_simhash-$version/META.json" \
      "pg_simhash-$version/sql/pg_simhash--$version.sql" "pg_simhash-$version/README.md" ;;
    image) suite image tests/image.sh ;;
  esac
done
cat <<END
$passed passed, $failed failed: ${out#"$top/"}
Only an upload can show that the tag starts .github/workflows/release.yml and that this may write a
release; that PyPI, crates.io and PGXN take the names and the files; that the images are built from
the official ones; and that the RPMs find their server in PostgreSQL's yum repository.
END
[ "$failed" -eq 0 ]
