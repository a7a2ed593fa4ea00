#!/usr/bin/env bash
# Builds the wheels of clients/python for x86-64 and arm64, for every manylinux system from glibc
# 2.17 on, and the source package, into target/wheels, with the licences of their contents. Then
# installs this machine's wheel into a new environment and runs the package's tests that need no
# database, those of Spark if Java is installed, and mypy. ONLY=build omits the tests.
. "$(dirname "$0")/lib.sh"
# The same commit gives the same bytes wherever it is compiled.
. scripts/same_bytes.sh
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || say 315532800)}
export SOURCE_DATE_EPOCH
tools=target/venv-wheel out=$top/target/wheels
maturin() { (cd clients/python && PATH="$top/$tools/bin:$PATH" "$top/$tools/bin/maturin" "$@"); }
if [ ! -f "$tools/stamp" ] || [ clients/python/pyproject.toml -nt "$tools/stamp" ]; then
  say "Installing maturin and zig, which links for old systems and for arm64"
  python3 -m venv "$tools"
  quietly wheel-tools.log "$tools/bin/python" -m pip install --quiet 'maturin>=1.9,<2' ziglang
  touch "$tools/stamp"
fi
python3 scripts/copyright.py python >target/third-party.txt
if ! cmp -s target/third-party.txt clients/python/THIRD-PARTY.txt; then
  cp target/third-party.txt clients/python/THIRD-PARTY.txt
  say "clients/python/THIRD-PARTY.txt, the licences of what is compiled in, was written anew"
fi
rm -rf "$out"
for target in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu; do
  if [ ! -d "$(rustc --print target-libdir --target "$target")" ] &&
    ! rustup target add "$target" >target/logs/rustup-target.log 2>&1; then
    say "$target: rustup cannot add it, so its wheel is left out"
    continue
  fi
  say "Compiling for $target (the first time takes some minutes)"
  quietly "wheel-$target.log" maturin build \
    --release --locked --zig --target "$target" --compatibility manylinux2014 --out "$out"
done
quietly wheel-sdist.log maturin sdist --out "$out"
ls "$out"
[ "${ONLY:-}" != build ] || exit 0

clean=target/venv-wheel-test
rm -rf "$clean"
python3 -m venv "$clean"
wheel=$(ls "$out"/pg_simhash-*manylinux*"$(uname -m)".whl)
extras="test"
if command -v java >/dev/null 2>&1; then extras="test,spark"; fi
say "Testing $(basename "$wheel")"
quietly wheel-install.log "$clean/bin/python" -m pip install --quiet "${wheel}[$extras]" \
  mypy pandas-stubs pyarrow-stubs
tests=clients/python/tests
"$clean/bin/python" -m pytest -q -p no:cacheprovider -W ignore -c clients/python/pyproject.toml \
  $tests/test_fingerprint.py $tests/test_golden.py $tests/test_texts.py $tests/test_whole.py \
  $tests/test_stamps.py $tests/test_cli.py $tests/test_engines.py
(cd clients/python && "$top/$clean/bin/python" -m mypy src)
