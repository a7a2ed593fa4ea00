#!/usr/bin/env bash
# Tests packaging/Dockerfile without Docker and without an image registry: runs its instructions,
# one by one, in copies of a Debian system that stand for the official images, and then uses the two
# resulting images. As root; it compiles the extension. Ends with "N passed, N failed".
# usage: tests/image.sh [VERSION]: of PostgreSQL, by default 18. From 18 on the image of the
# extension alone is mounted and used, too.
. "$(dirname "$0")/../scripts/lib.sh"
. scripts/packages.sh
. scripts/systems.sh
if [ "$(id -u)" -ne 0 ]; then
  say "Images: skipped, for only root can make and enter systems of their own"
  exit 0
fi
[ -n "${mounts_are_own:-}" ] ||
  mounts_are_own=1 exec unshare --mount --propagation private "$0" "$@"
use_systems
. tests/check.sh
major=${1:-18}
base=$(release_of "$major")
[ -n "$base" ] || die "no system is known that has PostgreSQL $major"
make_system "$base"
add_packages "$base" "postgresql-$major"
bases=$systems_dir
systems_dir=$(mktemp -d "$systems_dir/image.XXXXXX")
log=$top/target/logs/image.log
mkdir -p "$top/target/logs"
: >"$log"
cleanup() {
  cd /
  awk -v below="$systems_dir/" 'index($2, below) == 1 { print $2 }' /proc/mounts | sort -r |
    while read -r mount; do umount "$mount"; done
  rm -rf "$systems_dir" "$tmp"
}
trap cleanup EXIT

# begin STAGE FROM: creates the stage's system as an overlay of the one it is from.
begin() {
  local lower
  case $2 in
    rust:*) lower= ;;
    postgres:*) lower=$bases/$base ;;
    scratch) lower= ;;
    *) lower=$systems_dir/$2 ;;
  esac
  mkdir -p "$systems_dir/$1" "$systems_dir/.$1/upper" "$systems_dir/.$1/work"
  case $2 in
    # This machine's Rust, in the place where that image has it.
    rust:*)
      mkdir -p "$systems_dir/$1/usr/local/rustup" "$systems_dir/$1/usr/local/cargo"
      cp -a "$(rustc --print sysroot)/." "$systems_dir/$1/usr/local/cargo/"
      ;;
    scratch) ;;
    *)
      mount -t overlay overlay "$systems_dir/$1" -o \
        "lowerdir=$lower,upperdir=$systems_dir/.$1/upper,workdir=$systems_dir/.$1/work"
      ;;
  esac
}

# copy STAGE DIRECTORY ARGUMENT...: COPY, from the committed checkout or from a stage.
copy() {
  local stage=$1 directory=$2 from=$tmp/context to
  shift 2
  case $1 in --from=*) from=$systems_dir/${1#--from=} && shift ;; esac
  to=${!#}
  case $to in /*) ;; *) to=$directory/$to ;; esac
  mkdir -p "$systems_dir/$stage$(dirname "$to/x")"
  while [ $# -gt 1 ]; do
    # shellcheck disable=SC2086 # patterns are meant
    (cd "$from" && copied=$(compgen -G "${1#/}") &&
      for path in $copied; do
        if [ -d "$path" ]; then cp -a "$path/." "$systems_dir/$stage$to"; else
          cp -a "$path" "$systems_dir/$stage$to"
        fi
      done)
    shift
  done
}

# run_steps: runs all instructions of the file. ARG and ENV become variables here.
run_steps() {
  local stage='' directory=/ word words rest variables=(PG_MAJOR="$major" DEBIAN="$base")
  while read -r word rest; do
    say "$word $rest" >>"$log"
    case $word in
      ARG) ;;
      FROM)
        rest=$(env -i "${variables[@]}" envsubst <<<"$rest")
        stage=last directory=/
        [[ ${rest,,} =~ \ as\ (.*) ]] && stage=${BASH_REMATCH[1]}
        begin "$stage" "${rest%% *}"
        ;;
      WORKDIR) directory=$rest && mkdir -p "$systems_dir/$stage$rest" ;;
      ENV)
        for rest in $rest; do variables+=("${rest/\$PATH//usr/sbin:/usr/bin:/sbin:/bin}"); done
        ;;
      USER) say "$rest" >"$systems_dir/.user" ;;
      COPY)
        read -ra words <<<"$rest"
        copy "$stage" "$directory" "${words[@]}"
        ;;
      RUN)
        in_system "$stage" env --chdir="$directory" "${variables[@]}" \
          SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" sh -c "$rest" >>"$log" 2>&1 ||
          { tail -n 20 "$log" && return 1; }
        ;;
      *) say "$word: an instruction that this script does not know" && return 1 ;;
    esac
  done < <(sed '/^ *#/d; /^ *$/d' packaging/Dockerfile |
    awk '{ if (sub(/\\$/, "")) printf "%s", $0; else print }')
}

# server_says STAGE SETTINGS QUERY: a new server's answer in that stage.
server_says() {
  local bin=/usr/lib/postgresql/$major/bin data=/tmp/data
  in_stage() { in_system "$1" runuser -u postgres -- sh -ec "cd /tmp; $2" sh "${3:-}"; }
  in_system "$1" rm -rf $data
  in_stage "$1" "$bin/initdb -A trust -U postgres $data >log"
  printf '%s\n' "unix_socket_directories = '/tmp'" "listen_addresses = ''" "$2" \
    >>"$systems_dir/$1$data/postgresql.conf"
  in_stage "$1" "$bin/pg_ctl -w -D $data -l log start >started
    $bin/psql -XAtq -h /tmp -U postgres -c \"\$1\" 2>&1 || true
    $bin/pg_ctl -m fast -D $data stop >stopped" "$3"
}
# shellcheck disable=SC2034 # says reads it
answer() { said=$(server_says "$@" 2>&1); }
says() { [ "$(tail -n 1 <<<"$said")" = "$1" ] || { say "$said" && return 1; }; }

mkdir "$tmp/context"
git archive HEAD | tar -x -C "$tmp/context" --exclude-from=packaging/Dockerfile.dockerignore
say "Following packaging/Dockerfile for PostgreSQL $major on $(name_of "$major")"
if ! check "every instruction can be followed" run_steps; then exit 1; fi
query="CREATE EXTENSION pg_simhash; SELECT simhash('the cat sat on the mat')"
answer last "" "$query"
check "the server's image answers" says cb542bc311d7346f
volume=$systems_dir/image-volume
files=(lib/pg_simhash.so share/extension/pg_simhash.control licenses/copyright)
check "the image of the extension alone has its files" \
  test -f "$volume/${files[0]}" -a -f "$volume/${files[1]}" -a -f "$volume/${files[2]}"
check "and nothing else but its scripts" test -z \
  "$(cd "$volume" && find . -type f ! -name 'pg_simhash*' ! -name copyright)"
check "nobody in it is root" grep -qx '65532:65532' "$systems_dir/.user"
if [ "$major" -ge 18 ]; then
  begin plain postgres:plain
  mkdir -p "$systems_dir/plain/extensions/pg-simhash"
  cp -a "$volume/." "$systems_dir/plain/extensions/pg-simhash/"
  answer plain "" "$query"
  check "a server without it knows no such extension" not says cb542bc311d7346f
  at=/extensions/pg-simhash
  answer plain "extension_control_path = '\$system:$at/share'
dynamic_library_path = '\$libdir:$at/lib'" "$query"
  check "mounted, it answers" says cb542bc311d7346f
fi
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
