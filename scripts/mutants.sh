#!/usr/bin/env bash
# Edits the faults that the simulation must find: patches to the index in
# crates/simhash-mutants/faults.
#
#   scripts/mutants.sh edit   writes a copy of the index with its faults to target/mutants, to
#                             edit there. Conflicts with the present index are marked.
#   scripts/mutants.sh save   makes the patches again, from what the copy changes in the index
. "$(dirname "$0")/lib.sh"
sources=crates/simhash-index/src faults=crates/simhash-mutants/faults copy=$top/target/mutants
repository=$(git rev-parse --absolute-git-dir)

# git_in FOLDER ARGUMENTS...: runs git with FOLDER as the work tree and the copy's index file.
git_in() {
  GIT_DIR=$repository GIT_INDEX_FILE=$copy/.staged GIT_WORK_TREE=$1 git -C "$1" "${@:2}"
}

# stage FOLDER: stages only the sources there. Prints their tree.
stage() {
  rm -f "$copy/.staged"
  git_in "$1" add -- "$sources"
  git_in "$1" write-tree
}

# put PATCH FILE: applies a file's faults to the copy.
put() {
  git_in "$copy" apply --3way "$1" 2>/dev/null && return
  if [ -n "$(git_in "$copy" ls-files --unmerged -- "$2")" ]; then
    say "to be mended between <<<<<<< and >>>>>>>: $2"
  else
    git_in "$copy" apply --reject "$1" 2>/dev/null || [ -e "$copy/$2.rej" ] ||
      cp "$1" "$copy/$2.rej"
    say "to be put in by hand: what is in $2.rej, which is to be removed then"
  fi
}

edit() {
  local patch name
  [ ! -e "$copy" ] || die "target/mutants is there already: save it, or remove it"
  mkdir -p "$copy/$sources"
  cp -R "$sources/." "$copy/$sources"
  stage "$copy" >"$copy/.tree"
  for patch in "$top/$faults"/*.patch; do
    name=$(sed -n 's|^--- a/||p' "$patch" | head -n 1)
    put "$patch" "$name"
  done
  say "the index with its faults is in target/mutants/$sources"
}

save() {
  local marked file
  [ -e "$copy/.tree" ] || die "there is no target/mutants: scripts/mutants.sh edit makes it"
  marked=$(
    grep -rlE '^(<<<<<<<|>>>>>>>)' "$copy/$sources" || true
    find "$copy/$sources" -name '*.rej'
  )
  [ -z "$marked" ] || die "not mended yet:
$marked"
  marked=$(git_in "$copy" ls-files --others -- "$sources")
  [ -z "$marked" ] || die "new files, which are no faults of a file that is there:
$marked"
  rustfmt --edition 2024 --config-path "$top" "$copy/$sources/lib.rs"
  [ "$(stage "$top")" = "$(cat "$copy/.tree")" ] ||
    die "$sources has changed since it was copied: keep what you wrote, remove the copy, edit again"
  rm -f "$faults"/*.patch
  git_in "$copy" diff --name-only -- "$sources" | while read -r file; do
    git_in "$copy" diff --unified=3 --full-index --no-color --no-ext-diff --src-prefix=a/ \
      --dst-prefix=b/ -- "$file" >"$faults/${file##*/}.patch"
  done
  rm -rf "$copy"
  say "$(find "$faults" -name '*.patch' | wc -l) patches are in $faults"
}

case ${1:-} in
  edit | save) "$1" ;;
  *) die "usage: scripts/mutants.sh edit|save" ;;
esac
