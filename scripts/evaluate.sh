#!/usr/bin/env bash
# How well the methods find near-duplicates. Measures the texts below evaluate/corpora, and with
# CORPORA=DIRECTORY those that are not shipped. ONLY=EXPERIMENT runs that one alone, such as
# "verified". Then writes docs/evaluation.md and its plots.
. "$(dirname "$0")/lib.sh"
say "Compiling the evaluation (the first time takes some minutes)"
cargo build --quiet --release --locked -p simhash-evaluate
program=${CARGO_TARGET_DIR:-target}/release/simhash-evaluate
if [ -n "${ONLY:-}" ]; then
  "$program" only "$ONLY" . ${CORPORA:+"$CORPORA"}
else
  "$program" run . ${CORPORA:+"$CORPORA"}
fi
scripts/pages.sh
