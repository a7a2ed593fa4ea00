#!/usr/bin/env bash
# How well the methods find near-duplicates: measures the texts below evaluate/corpora, and with CORPORA=DIRECTORY those that
# are not shipped; then writes docs/evaluation.md, its plots and the README's section from all results that are kept.
. "$(dirname "$0")/lib.sh"
say "Compiling the evaluation (the first time takes some minutes)"
cargo build --quiet --release --locked -p simhash-evaluate
program=${CARGO_TARGET_DIR:-target}/release/simhash-evaluate
"$program" run . ${CORPORA:+"$CORPORA"}
say "Written: docs/evaluation.md, docs/evaluation/"
