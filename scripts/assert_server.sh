#!/usr/bin/env bash
# Builds a PostgreSQL with assertions, once, below the working directory, and prints the path of its
# pg_config. The source is that of the PostgreSQL in use. Exit status 3: this system's package
# sources do not provide it.
. "$(dirname "$0")/lib.sh"
. scripts/cluster.sh
use_postgresql
use_workdir
case $("$PG_CONFIG" --configure) in
  *--enable-cassert*)
    say "$PG_CONFIG"
    exit
    ;;
esac
prefix=$work/$pg_feature-assert/server
source=$work/$pg_feature-assert/source

# fetch_source: reads copies of apt's lists with deb-src in place of deb, in a separate directory,
# so that the system is not changed.
fetch_source() {
  command -v apt-get >/dev/null 2>&1 || return
  local apt=$source/apt etc=/etc/apt/sources.list file name options version
  local package=postgresql-$pg_major
  rm -rf "$source"
  mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial"
  for file in "$etc" "$etc".d/*.list "$etc".d/*.sources; do
    if [ -f "$file" ]; then
      name=$(basename "$file" | sed 's/^sources.list$/main.list/')
      sed -E 's/^deb([[:space:]])/deb-src\1/; s/^Types:.*/Types: deb-src/' \
        "$file" >"$apt/parts/$name"
    fi
  done
  options=(
    -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt/parts"
    -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache"
  )
  apt-get "${options[@]}" update || true
  # The newest version whose source can be fetched, without the distribution's patches: the source
  # of a security update may lag behind.
  while read -r version; do
    (cd "$source" && apt-get "${options[@]}" source --download-only --only-source --tar-only \
      "$package=$version") && break
  done < <(apt-cache "${options[@]}" showsrc --only-source "$package" |
    sed -n 's/^Version: //p' | sort -rVu)
  compgen -G "$source/*.orig.tar.*" >/dev/null || return
  tar -xf "$source"/*.orig.tar.* -C "$source" --strip-components=1
  rm -rf "$apt" "$source"/*.orig.tar.*
}

# with LIBRARY OPTION: --with-OPTION if the library's development files are installed, else
# --without-OPTION.
with() {
  if pkg-config --exists "$1" 2>/dev/null; then say "--with-$2"; else say "--without-$2"; fi
}

# PostgreSQL's makefiles generate shared headers only if no other make runs above them.
build_server() {
  unset MAKELEVEL MAKEFLAGS MFLAGS
  cd "$source" &&
    ./configure --prefix="$prefix" --enable-cassert --enable-debug --enable-tap-tests \
      --without-readline "$(with icu-i18n icu)" "$(with zlib zlib)" \
      CFLAGS='-O1 -fno-omit-frame-pointer' &&
    nice make -s -j2 && nice make -s -j2 -C contrib &&
    # Programs and libraries that PostgreSQL's own tests use.
    nice make -s -C src/test/regress && nice make -s -C src/test/isolation &&
    make -s install && make -s -C contrib install && make -s -C src/test/isolation install &&
    chmod -R a+rX "$source" "$prefix"
}

if [ ! -f "$prefix/built" ]; then
  say "Fetching and compiling PostgreSQL $pg_major with assertions (some minutes, once)" >&2
  mkdir -p target/logs
  if ! fetch_source >target/logs/assert-source.log 2>&1; then
    say "this system's package sources do not give the source of postgresql-$pg_major" \
      "(target/logs/assert-source.log)" >&2
    exit 3
  fi
  rm -rf "$prefix"
  quietly assert-server.log build_server
  touch "$prefix/built"
fi
say "$prefix/bin/pg_config"
