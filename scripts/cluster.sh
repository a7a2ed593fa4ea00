# Private PostgreSQL clusters for the demo, the tests and the benchmarks: a copy of the server's
# programs with the extension installed into it, run by an unprivileged user. Other servers on this
# machine are never touched. Sourced after lib.sh.
# shellcheck shell=bash disable=SC2154 # top, pg_build: lib.sh

# PostgreSQL refuses to run as root, so root runs the server as another user.
server_user=$(id -un)
if [ "$(id -u)" -eq 0 ]; then
  server_user=nobody
  if id postgres >/dev/null 2>&1; then server_user=postgres; fi
fi

# as_server COMMAND...: runs it as the owner of the clusters, in the working directory, without the
# caller's PG* settings.
as_server() {
  (
    cd "$work" || exit
    unset "${!PG@}"
    export PATH=$bindir:$PATH HOME=$work LC_ALL=C
    if [ "$(id -u)" -eq 0 ]; then exec runuser -u "$server_user" -- "$@"; else exec "$@"; fi
  )
}

# use_workdir: sets work to target/, or to a directory in /var/tmp if the server's user cannot reach
# the checkout (below /root, for example). target/workdir remembers the directory.
use_workdir() {
  mkdir -p target
  work=$top/target bindir=
  if [ "$(id -u)" -eq 0 ] && ! runuser -u "$server_user" -- test -x "$work"; then
    work=$(cat target/workdir 2>/dev/null || true)
    if [ ! -O "${work:-/nonexistent}" ]; then
      work=$(mktemp -d /var/tmp/pg_simhash.XXXXXX)
      chmod 755 "$work"
      say "$work" >target/workdir
    fi
  fi
}

# stage_server NAME: copies the server below $work/pgNN-NAME (pgNN-assert-NAME), installs the
# extension there and sets bindir to that of the copy. PostgreSQL finds its files relative to its
# own program, so the copy is complete. A build of PostgreSQL that does not is not supported.
stage_server() {
  local root=$work/$pg_build-$1 source_bindir pkglibdir sharedir stamp
  source_bindir=$("$PG_CONFIG" --bindir)
  pkglibdir=$("$PG_CONFIG" --pkglibdir)
  sharedir=$("$PG_CONFIG" --sharedir)
  stamp="$("$PG_CONFIG" --version) $source_bindir"
  stamp+=" $(stat -c %Y "$source_bindir"/{postgres,pgbench} 2>/dev/null | paste -sd ' ' || true)"
  if [ "$(cat "$root/stamp" 2>/dev/null || true)" != "$stamp" ]; then
    rm -rf "$root"
    (umask 022 && copy_server "$root" "$source_bindir" "$pkglibdir" "$sharedir")
    say "$stamp" >"$root/stamp"
  fi
  bindir=$root$source_bindir
  # Asks initdb, not pg_config: before 15 Debian's pg_config does not search relative to itself,
  # though its server does.
  case $(as_server initdb --show -D "$work/none" 2>&1 || true) in
    *"share_path=$root/"*) install_tree "$root" "$pkglibdir" "$sharedir" ;;
    *)
      die "this PostgreSQL does not look for extensions beside its own program, so a copy of it" \
        "cannot be made, and a server that is not ours stays as it is: name another pg_config"
      ;;
  esac
}

# copy_server ROOT BINDIR PKGLIBDIR SHAREDIR: copies the server. From BINDIR, which is /usr/bin on
# some systems, it takes only PostgreSQL's own programs.
copy_server() {
  local root=$1 program
  install -d "$root$2" "$root$3" "$root$4"
  for program in postgres initdb pg_ctl psql pg_config pg_dump pg_dumpall pg_restore pgbench \
    pg_basebackup pg_controldata pg_checksums pg_resetwal pg_rewind pg_waldump pg_amcheck \
    pg_verifybackup pg_upgrade pg_isready createdb dropdb createuser vacuumdb reindexdb; do
    if [ -x "$2/$program" ]; then cp -L "$2/$program" "$root$2/"; fi
  done
  cp -RL "$3/." "$root$3/"
  cp -RL "$4/." "$root$4/"
  chmod -R a+rX "$root"
}

# start_cluster NAME [SETTING...]: starts a new UTF-8 cluster in $work/NAME that listens only on a
# socket in $socket.
start_cluster() {
  data=$work/$1
  shift
  stop_cluster
  rm -rf "$data"
  mkdir -m 700 "$data"
  chown "$server_user" "$data"
  # Not below the checkout: a socket's path is limited to 107 bytes.
  socket=$(mktemp -d /tmp/pg_simhash.XXXXXX)
  chown "$server_user" "$socket"
  as_server initdb --no-sync -A trust -U postgres -E UTF8 --locale=C -D "$data" \
    >"$work/initdb.log" 2>&1 || {
    cat "$work/initdb.log" >&2
    die "initdb failed"
  }
  {
    printf "%s\n" "listen_addresses = ''" "unix_socket_directories = '$socket'" \
      "unix_socket_permissions = 0700" "fsync = off" "log_destination = stderr" \
      "logging_collector = off" "$@"
  } | as_server tee -a "$data/postgresql.conf" >/dev/null
  if ! as_server pg_ctl -s -w -t 60 -D "$data" -l "$data/server.log" start; then
    tail -n 20 "$data/server.log" >&2
    die "the private server did not start"
  fi
}

# stop_cluster: stops the cluster in $data, if it runs, and removes its socket directory.
stop_cluster() {
  local directory=${socket:-}
  if [ -n "${data:-}" ] && [ -f "$data/postmaster.pid" ]; then
    directory=$(sed -n 5p "$data/postmaster.pid")
    stop_server "$data"
  fi
  case $directory in /tmp/pg_simhash.*) rm -rf "$directory" ;; esac
  socket=
}

# stop_server DATA-DIRECTORY: stops it with the pg_ctl beside its own program. A server that was
# killed, or whose machine was, has stopped already and leaves a postmaster.pid.
stop_server() {
  local bindir status=0
  bindir=$(sed -E 's|/postgres "-D".*||' "$1/postmaster.opts")
  as_server pg_ctl -s -D "$1" status >/dev/null 2>&1 || status=$?
  if [ "$status" -eq 3 ]; then return; fi
  as_server pg_ctl -s -m immediate -D "$1" stop >/dev/null
}
