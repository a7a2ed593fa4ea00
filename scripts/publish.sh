#!/usr/bin/env bash
# Uploads one form of the files that `make release` made and tested in target/release-N. Only a real
# release can test this. DRY_RUN=1 prints the command instead.
# usage: publish.sh release|image|wheels|crate|pgxn
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh
from=target/release-$version
run() { if [ -n "${DRY_RUN:-}" ]; then say "$*"; else "$@"; fi; }
[ -n "${DRY_RUN:-}" ] || ! grep -q 'github.com/OWNER/' META.json ||
  die "META.json still has OWNER in the repository's address"

case ${1:-} in
  # The release's page, with all files. gh takes GH_TOKEN.
  release)
    scripts/release_notes.sh "$version" >target/release-notes.md
    run gh release create "v$version" --verify-tag --title "pg_simhash $version" \
      --notes-file target/release-notes.md "$from"/*
    ;;
  # IMAGE is the name of the images, such as ghcr.io/OWNER/postgres-simhash. docker must be logged
  # in.
  image)
    for major in 14 15 16 17 18; do
      tag=${IMAGE:?IMAGE: the name of the image}:$major-$version
      run docker build -f packaging/Dockerfile --build-arg "PG_MAJOR=$major" -t "$tag" .
      run docker push "$tag"
    done
    run docker build -f packaging/Dockerfile --target image-volume -t "$IMAGE-volume:18-$version" .
    run docker push "$IMAGE-volume:18-$version"
    ;;
  # Takes TWINE_USERNAME and TWINE_PASSWORD.
  wheels) run twine upload "$from"/pg_simhash-*.whl "$from"/pg_simhash-*.tar.gz ;;
  # Takes CARGO_REGISTRY_TOKEN.
  crate) run cargo publish --locked -p simhash-core ;;
  pgxn)
    run curl --fail --user "${PGXN_USER:-}:${PGXN_PASSWORD:-}" \
      --form "archive=@$from/pg_simhash-$version.zip" --form submit=Release \
      https://manager.pgxn.org/upload
    ;;
  *) die "usage: publish.sh release|image|wheels|crate|pgxn" ;;
esac
