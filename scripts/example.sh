#!/usr/bin/env bash
# Mends the diff of a worked example after a change of lines that it touches:
#
#   scripts/run example edit PAGE   puts the present sources with the example to target/example
#   scripts/run example save        writes the example's diff to its page
#
# In between, mend what `edit` names.
. "$(dirname "$0")/lib.sh"
copy=$top/target/example
in_copy() { git -C "$copy" -c user.name=example -c user.email= "$@"; }

# edit PAGE: applies the page's diff to the commit that changed the page last, to which it applied,
# and from there to the present sources.
edit() {
  local page=$1 base example present index=$top/target/example.index
  [ -f "$page" ] || die "there is no page $page"
  [ ! -e "$copy" ] || die "target/example is there already: save it, or remove it"
  git worktree prune
  base=$(git log -1 --format=%H -- "$page")
  git worktree add --quiet --detach "$copy" "$base"
  git show "$base:$page" | example_of | in_copy apply --index -
  in_copy commit --quiet --no-verify -m example
  example=$(in_copy rev-parse HEAD)
  rm -f "$index"
  present=$(GIT_INDEX_FILE=$index git read-tree HEAD && GIT_INDEX_FILE=$index git add -A &&
    GIT_INDEX_FILE=$index git write-tree)
  rm -f "$index"
  in_copy checkout --quiet --detach "$(in_copy commit-tree -p "$base" -m present "$present")"
  say "$page" >"$copy/.page"
  if in_copy cherry-pick --no-commit "$example" >/dev/null 2>&1; then
    say "$page: its diff is found again, to be saved"
  else
    say "to be mended between <<<<<<< and >>>>>>>, in target/example:"
    in_copy diff --name-only --diff-filter=U
  fi
}

save() {
  local page marked
  [ -f "$copy/.page" ] || die "there is no target/example: scripts/run example edit PAGE makes it"
  page=$(cat "$copy/.page")
  rm "$copy/.page"
  in_copy add -A
  marked=$(in_copy diff --cached --name-only -G'^(<<<<<<<|>>>>>>>)' HEAD)
  if [ -n "$marked" ]; then
    say "$page" >"$copy/.page"
    die "not mended yet:
$marked"
  fi
  in_copy diff --cached -U1 --no-color --no-ext-diff HEAD | grep -vE '^(diff|index) ' >"$copy.diff"
  awk -v diff="$copy.diff" '
    /^```diff$/ { print; while ((getline line < diff) > 0) print line; inside = 1; next }
    /^```$/ { inside = 0 }
    !inside' "$page" >"$copy.page"
  cat "$copy.page" >"$page"
  rm "$copy.diff" "$copy.page"
  git worktree remove --force "$copy"
  say "$page has the example's diff"
}

case ${1:-} in
  edit) edit "${2:?the page of the example, such as docs/design/add-step.md}" ;;
  save) save ;;
  *) die "usage: scripts/run example edit PAGE, scripts/run example save" ;;
esac
