#!/usr/bin/env bash
# Determines what is missing to build (`setup.sh build`), to make packages (`setup.sh deb`,
# `setup.sh rpm`) and test them (`setup.sh deb-test`, `setup.sh rpm-test`), to test (`setup.sh
# test`), or to test at length (`setup.sh soak`, `setup.sh fuzz`), and installs it on Debian and
# Ubuntu. If nothing is missing it changes nothing and calls no package manager.
. "$(dirname "$0")/lib.sh"
goal=${1:-build}
packages=()

any_file() { compgen -G "$1" >/dev/null; }

need_compiler() {
  command -v cc >/dev/null 2>&1 && [ -f /usr/include/stdio.h ] || packages+=(gcc libc6-dev)
  [ -d /etc/ssl/certs ] && any_file '/etc/ssl/certs/*' || packages+=(ca-certificates)
}

# bindgen loads libclang and reads the compiler's own headers, which are in a directory beside it.
need_libclang() {
  [ -n "${LIBCLANG_PATH:-}" ] && return
  if any_file '/usr/lib*/llvm*/lib*/libclang*.so*' || any_file '/usr/lib*/libclang*.so*' ||
    any_file '/usr/lib/*/libclang*.so*'; then
    any_file '/usr/lib*/llvm*/lib*/clang/*/include/stddef.h' ||
      any_file '/usr/lib*/clang/*/include/stddef.h' && return
  fi
  packages+=(libclang-dev)
}

# need_postgresql: accepts an installed PostgreSQL, else adds the distribution's.
need_postgresql() {
  [ -n "$(find_pg_config)" ] && return
  local version
  if [ -n "${PG_CONFIG:-}" ]; then
    check_pg_config
    version=$(version_of "$PG_CONFIG")
    packages+=("postgresql-$version" "postgresql-server-dev-$version")
    return
  fi
  version=$(find /usr/lib/postgresql -path '*/bin/postgres' 2>/dev/null | sort -V | tail -n 1 |
    grep -oE '/[0-9]+/' | tr -d / || true)
  if [ -n "$version" ]; then
    packages+=("postgresql-server-dev-$version")
    return
  fi
  refresh_package_lists
  version=$(apt-cache depends postgresql 2>/dev/null |
    sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p')
  packages+=("postgresql${version:+-$version}" "postgresql-server-dev-${version:-all}")
}

need_test_tools() {
  command -v prove >/dev/null 2>&1 || packages+=(perl)
  perl -MIPC::Run -e 1 2>/dev/null || packages+=(libipc-run-perl)
  perl -MGraph -e 1 2>/dev/null || packages+=(libgraph-perl)
  python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3 python3-venv)
}

# need_python MODULES: adds Python unless it has these modules. If nothing can be installed, scripts
# report what they skip.
need_python() {
  python3 -c "import $1" 2>/dev/null && return
  command -v apt-get >/dev/null 2>&1 && find_root || return 0
  packages+=(python3 python3-venv)
}

# need_program PROGRAM PACKAGE
need_program() { command -v "$1" >/dev/null 2>&1 || packages+=("$2"); }

# need_soak_tools: adds tools to build PostgreSQL, sqlsmith, a compiler for libFuzzer, and an
# emulator for arm64. If the system has no package of a tool, the soak reports what it skips.
need_soak_tools() {
  command -v apt-get >/dev/null 2>&1 || return 0
  local tool
  if ! command -v qemu-aarch64-static >/dev/null 2>&1; then
    refresh_package_lists
    if [ -n "$(packaged_version qemu-user-static)" ]; then
      packages+=(qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
    fi
  fi
  for tool in make bzip2 pkg-config sqlsmith; do
    if ! command -v "$tool" >/dev/null 2>&1; then
      refresh_package_lists
      if [ -n "$(packaged_version "$tool")" ]; then packages+=("$tool"); fi
    fi
  done
}

rust_version() { rustc --version 2>/dev/null | cut -d' ' -f2; }

rust_is_new_enough() {
  local version
  version=$(rust_version)
  [ -n "$version" ] && command -v cargo >/dev/null 2>&1 && version_ge "$version" "$rust_needed"
}

# packaged_version PACKAGE: the upstream version that apt would install, or nothing.
packaged_version() {
  apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \([0-9][0-9.]*\).*/\1/p'
}

# need_rust: adds the packages that provide Rust. Stops if Rust is installed but too old, or if no
# package provides a Rust that is new enough.
need_rust() {
  local version
  version=$(find_pg_config)
  if [ -n "$version" ]; then version=$(version_of "$version"); fi
  rust_needed=$(rust_needed_for "$version")
  rust_is_new_enough && return
  if [ -n "$(rust_version)" ]; then
    local old
    old="Rust $(rust_version) is too old, $rust_needed is needed"
    command -v rustup >/dev/null 2>&1 && die "$old: run rustup update stable"
    die "$old: install a newer one from https://rustup.rs"
  fi
  command -v rustup >/dev/null 2>&1 && return
  refresh_package_lists
  local packaged
  packaged=$(packaged_version rustc)
  if [ -n "$packaged" ] && version_ge "$packaged" "$rust_needed"; then
    packages+=(rustc cargo)
  elif [ -n "$(packaged_version rustup)" ]; then
    packages+=(rustup)
  else
    die "Rust $rust_needed or newer is needed and this system's packages have none:" \
      "install it from https://rustup.rs"
  fi
}

# find_root: sets as_root to the prefix that runs a command as root. Without a terminal the prefix
# must not ask for a password. Fails if there is none.
find_root() {
  as_root=()
  [ "$(id -u)" -eq 0 ] && return
  command -v sudo >/dev/null 2>&1 || return 1
  as_root=(sudo)
  sudo -n true 2>/dev/null || [ -t 0 ]
}

refresh_package_lists() {
  [ -z "${lists_are_fresh:-}" ] && command -v apt-get >/dev/null 2>&1 && find_root || return 0
  say "Reading the lists of system packages"
  quietly apt-update.log "${as_root[@]}" apt-get update
  lists_are_fresh=1
}

install_packages() {
  [ ${#packages[@]} -eq 0 ] && return
  command -v apt-get >/dev/null 2>&1 ||
    die "missing here; install what your system calls: ${packages[*]}"
  local install=(apt-get install -y --no-install-recommends "${packages[@]}")
  if ! find_root; then
    die "Missing system packages, and no way to become root here. As root run:
  apt-get update && ${install[*]}"
  fi
  refresh_package_lists
  say "Installing system packages: ${packages[*]}"
  quietly apt-install.log "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}"
}

# Debian's rustup package comes without a toolchain.
finish_rust() {
  rust_is_new_enough && return
  command -v rustup >/dev/null 2>&1 && [ -z "$(rust_version)" ] || return 0
  say "Installing the stable Rust toolchain"
  quietly rustup.log rustup default stable
}

# Root tests packages, and needs no compilers for that.
case $goal in
  deb-test) need_program lintian lintian ;;&
  rpm-test) need_program rpm rpm ;;&
  deb-test | rpm-test)
    need_program objdump binutils
    install_packages
    exit
    ;;
esac
need_compiler
need_libclang
need_postgresql
case $goal in
  deb | rpm) need_program python3 python3 ;;&
  deb) need_program dpkg-shlibdeps dpkg-dev ;;
  rpm) need_program rpmbuild rpm ;;
  test | soak) need_test_tools ;;&
  lint) need_python json ;;
  soak | fuzz) need_program c++ g++ ;;&
  bench | evaluate) need_python ensurepip,venv ;;
esac
if [ "$goal" = soak ]; then need_soak_tools; fi
need_rust
install_packages
finish_rust
rust_is_new_enough || die "Rust $rust_needed or newer is needed: install it from https://rustup.rs"
use_postgresql
