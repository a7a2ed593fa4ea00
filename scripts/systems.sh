# Separate Debian and Ubuntu systems, each in a directory below the working directory, with other
# versions of PostgreSQL from their own packages. Root makes and enters them. This machine's own
# system is not changed. Sourced after lib.sh.
# shellcheck shell=bash

# One line for each version of PostgreSQL: the release that has it, and the release's name. The
# Debian release with 18 is not yet out, and older debootstraps do not know 26.04. 19 is in Debian's
# experimental, which is no complete release: the rest comes from unstable.
systems='14 jammy Ubuntu 22.04
15 bookworm Debian 12
16 noble Ubuntu 24.04
17 trixie Debian 13
18 forky Debian 14
19 sid Debian unstable'

# use_systems: sets systems_dir, or stops if systems cannot be made.
use_systems() {
  [ "$(id -u)" -eq 0 ] || die "only root can make and enter systems of their own"
  if ! command -v debootstrap >/dev/null 2>&1; then
    command -v apt-get >/dev/null 2>&1 || die "debootstrap is missing here"
    say "Installing system packages: debootstrap"
    quietly apt-install.log apt-get install -y --no-install-recommends debootstrap
  fi
  systems_dir=${SYSTEMS_DIR:-$top/target/systems}
  mkdir -p "$systems_dir"
}

# release_of VERSION: the release that has this version of PostgreSQL, or nothing.
release_of() { awk -v version="$1" '$1 == version { print $2 }' <<<"$systems"; }

# version_in RELEASE: the version of PostgreSQL that this release provides.
version_in() { awk -v release="$1" '$2 == release { print $1 }' <<<"$systems"; }

# name_of VERSION: that release's name, such as Debian 12.
name_of() { awk -v version="$1" '$1 == version { print $3, $4 }' <<<"$systems"; }

# in_system RELEASE COMMAND...: runs it as root in that system. Programs that it leaves running end
# with it, and its mounts are not visible outside. $bind, "FROM:TO" with TO in the system, is a
# directory to mount there.
in_system() {
  local root=$systems_dir/$1
  shift
  # shellcheck disable=SC2016 # the inner shell expands them
  unshare --mount --pid --fork --kill-child --propagation private bash -euc '
    root=$1 bind=$2
    shift 2
    mount --bind /dev "$root/dev"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    mount -t proc proc "$root/proc"
    if [ -n "$bind" ]; then
      mkdir -p "$root${bind#*:}"
      mount --bind "${bind%%:*}" "$root${bind#*:}"
    fi
    # This shell is process 1 there: it stays, to reap what others leave.
    status=0
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
      DEBIAN_FRONTEND=noninteractive chroot "$root" "$@" || status=$?
    exit $status' bash "$root" "${bind:-}" "$@"
}

# make_system RELEASE: makes it, unless it exists. Services do not start in it.
make_system() {
  local release=$1 root=$systems_dir/$1 keyring mirror=http://deb.debian.org/debian
  local script=/usr/share/debootstrap/scripts/$1 components=main
  [ ! -f "$root/.made" ] || return 0
  keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -f "$script" ] || script=/usr/share/debootstrap/scripts/sid
  case $release in
    jammy | noble)
      mirror=http://archive.ubuntu.com/ubuntu components=main,universe
      [ "$(dpkg --print-architecture)" = amd64 ] || mirror=http://ports.ubuntu.com/ubuntu-ports
      script=/usr/share/debootstrap/scripts/gutsy
      keyring=$(ubuntu_keyring)
      ;;
  esac
  say "Making a system of its own: $release"
  rm -rf "$root"
  quietly "debootstrap-$release.log" debootstrap --variant=minbase --keyring="$keyring" \
    --components="$components" --include=ca-certificates "$release" "$root" "$mirror" "$script"
  # Certificates that this machine trusts, and its name resolution.
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  cp -L /etc/hosts "$root/etc/hosts"
  # The package lists of an unreleased distribution expire within days, and a mirror may be older.
  say 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/90expired"
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod 755 "$root/usr/sbin/policy-rc.d"
  case $release in
    bookworm | trixie)
      say "deb http://deb.debian.org/debian-security $release-security main" \
        >"$root/etc/apt/sources.list.d/security.list"
      ;;
    sid)
      say "deb $mirror experimental main" >"$root/etc/apt/sources.list.d/experimental.list"
      printf '%s\n' 'Package: *postgresql* libpq*' 'Pin: release a=experimental' \
        'Pin-Priority: 990' >"$root/etc/apt/preferences.d/postgresql"
      ;;
    jammy | noble)
      say "deb $mirror $release-updates main universe" >"$root/etc/apt/sources.list.d/updates.list"
      ;;
  esac
  quietly "apt-$release.log" in_system "$release" apt-get update
  touch "$root/.made"
}

# ubuntu_keyring: the file with the keys of Ubuntu's archive. Debian 13 has a package for it.
ubuntu_keyring() {
  local file=usr/share/keyrings/ubuntu-archive-keyring.gpg
  if [ -f "/$file" ]; then
    say "/$file"
    return
  fi
  if [ ! -f "$systems_dir/trixie/$file" ]; then
    make_system trixie >&2
    quietly apt-keyring.log in_system trixie apt-get install -y ubuntu-archive-keyring
  fi
  say "$systems_dir/trixie/$file"
}

# add_packages RELEASE PACKAGE...: installs those that are missing there.
add_packages() {
  local release=$1
  shift
  if ! in_system "$release" dpkg -s "$@" >/dev/null 2>&1; then
    say "Installing into $release: $*"
    quietly "apt-$release.log" in_system "$release" apt-get update
    quietly "apt-$release.log" in_system "$release" \
      apt-get install -y --no-install-recommends "$@"
  fi
}

# add_checkout RELEASE: makes a user in that system, builder, with a checkout of this commit without
# uncommitted changes.
add_checkout() {
  local checkout=$systems_dir/$1/home/builder/pg_simhash
  in_system "$1" id builder >/dev/null 2>&1 ||
    in_system "$1" useradd --create-home --shell /bin/bash builder
  [ -d "$checkout" ] || git clone -q --no-local . "$checkout"
  git -c safe.directory='*' -C "$checkout" fetch -q --force "$top" HEAD
  # Unchanged files keep their times although their owner changed, so that less is compiled.
  git -c safe.directory='*' -C "$checkout" update-index -q --refresh || true
  git -c safe.directory='*' -C "$checkout" checkout -q --force --detach FETCH_HEAD
  in_system "$1" chown -R builder: /home/builder
  # A package may have rewritten this file.
  cp -L /etc/ssl/certs/ca-certificates.crt "$systems_dir/$1/etc/ssl/certs/ca-certificates.crt"
}

# has_rust_for VERSION: whether this machine's Rust compiles for that PostgreSQL.
has_rust_for() { version_ge "$(rustc --version | cut -d' ' -f2)" "$(rust_needed_for "$1")"; }

# add_rust RELEASE: installs the system's own Rust if this machine's is too old for its PostgreSQL.
add_rust() {
  has_rust_for "$(version_in "$1")" || add_packages "$1" rustc cargo rustfmt
}

# in_checkout RELEASE COMMAND...: runs it in that checkout, as builder, with this machine's Rust, or
# the system's if that is too old.
in_checkout() {
  local release=$1 rust=
  shift
  if has_rust_for "$(version_in "$release")"; then
    rust=$(rustc --print sysroot):/opt/rust
    mkdir -p "$systems_dir/$release/opt/rust"
  fi
  bind=$rust in_system "$release" runuser -u builder -- \
    env --chdir=/home/builder/pg_simhash \
    HOME=/home/builder PATH=/opt/rust/bin:/usr/bin:/bin \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt "$@"
}
