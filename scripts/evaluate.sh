#!/usr/bin/env bash
# Evaluates how well the methods find near-duplicates. Measures the texts below evaluate/corpora,
# and with CORPORA=DIRECTORY others that are not shipped. Then measures large sets, which
# evaluate/draw draws from Debian's registry on the first run (MIRROR=URL names a mirror); they take
# an hour and 6 GB of memory. ONLY=EXPERIMENT runs one experiment, such as "verified" or "large".
# Finally writes docs/evaluation.md, docs/evaluation/*.md and their plots.
. "$(dirname "$0")/lib.sh"
say "Compiling the evaluation (the first time takes some minutes)"
cargo build --quiet --release --locked -p simhash-evaluate
program=${CARGO_TARGET_DIR:-target}/release/simhash-evaluate

# large: draws large sets and measures them. Without a network or the sets of an earlier run, the
# results stay.
large() {
  if ! python3 evaluate/draw; then
    say "The large sets: not here, so their results stay"
    return
  fi
  local python=target/venv-evaluate/bin/python
  [ -x "$python" ] || python3 -m venv target/venv-evaluate
  "$python" -m pip install --quiet numpy rensa==0.5.0 datasketch==2.0.0 ||
    die "The libraries that are compared could not be installed"
  RIVALS=$python "$program" large target/evaluate/sets .
}

case ${ONLY:-} in
  large) large ;;
  ?*) "$program" only "$ONLY" . ${CORPORA:+"$CORPORA"} ;;
  *)
    "$program" run . ${CORPORA:+"$CORPORA"}
    large
    ;;
esac
scripts/pages.sh
