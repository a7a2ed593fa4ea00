#!/usr/bin/env bash
# Writes docs/benchmarks.md, docs/evaluation.md, their plots and the README's table from the
# results that are committed. Without matplotlib the plots stay as they were.
. "$(dirname "$0")/lib.sh"
python=python3
if ! "$python" -c 'import matplotlib' 2>/dev/null; then
  python=target/venv-pages/bin/python
  [ -x "$python" ] || python3 -m venv target/venv-pages
  "$python" -m pip install --quiet matplotlib || say "matplotlib: pip could not install it"
fi
"$python" -m report
say "Written: docs/benchmarks.md, docs/evaluation.md, the table in README.md"
