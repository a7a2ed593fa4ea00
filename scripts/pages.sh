#!/usr/bin/env bash
# Writes docs/benchmarks.md, docs/evaluation.md, the pages in docs/benchmarks and docs/evaluation,
# their plots and the README's table from the committed results. Without matplotlib the plots are
# kept.
. "$(dirname "$0")/lib.sh"
python=python3
if ! "$python" -c 'import matplotlib' 2>/dev/null; then
  python=target/venv-pages/bin/python
  [ -x "$python" ] || python3 -m venv target/venv-pages
  "$python" -m pip install --quiet matplotlib || say "matplotlib: pip could not install it"
fi
"$python" -m report
say "Written: docs/benchmarks.md, docs/evaluation.md, their pages, the table in README.md"
