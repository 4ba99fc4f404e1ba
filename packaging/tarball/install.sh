#!/bin/sh
# Installs Plimsoll from an unpacked tarball, or removes what it installed:
#
#   ./install.sh [--prefix DIRECTORY] [--destdir DIRECTORY]
#   ./install.sh --uninstall [--prefix DIRECTORY] [--destdir DIRECTORY]
#
#   --prefix   the installation, /usr/local by default: bin, lib, libexec and share below it
#   --destdir  the root of another system, such as an image; this machine is then neither checked nor changed
#
# Pods run on: each file is replaced in one step, and daemons that run are restarted. Nothing is enabled or
# started that didn't run, and neither configuration nor state is touched.
set -eu
umask 022

# Filled in by tools/tarball.sh.
version='@VERSION@'
machine='@MACHINE@'
glibc='@GLIBC@'
daemon_schema='@DAEMON_SCHEMA@'
agent_schema='@AGENT_SCHEMA@'

here=$(cd "$(dirname "$0")" && pwd)
prefix=/usr/local
destdir=
uninstall=
units='plimsoll-kube.service plimsoll-kube.socket plimsoll-agent.service plimsolld.service'

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

usage() {
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
}

while [ $# -gt 0 ]; do
  case $1 in
    --prefix=* | --destdir=*)
      option=$1
      shift
      set -- "${option%%=*}" "${option#*=}" "$@"
      continue
      ;;
    --prefix | --destdir)
      [ $# -gt 1 ] || fail "$1 needs a directory"
      case $2 in
        *[!A-Za-z0-9/._+-]*) fail "$1 $2: only letters, digits and /._+- are allowed" ;;
        /*) ;;
        *) fail "$1 $2: must be an absolute path" ;;
      esac
      [ "$(realpath -m "$2")" != / ] || fail "$1 $2: another directory than the root is needed"
      # Without doubled slashes and "..": units are looked for by the prefix.
      if [ "$1" = --prefix ]; then prefix=$(realpath -ms "$2"); else destdir=$(realpath -m "$2"); fi
      shift
      ;;
    --uninstall) uninstall=1 ;;
    --help) usage && exit 0 ;;
    *) fail "unknown argument $1; ./install.sh --help" ;;
  esac
  shift
done
record=$destdir$prefix/share/plimsoll/installed-files
[ -n "$destdir" ] || [ "$(id -u)" = 0 ] || fail "only root can install; with --destdir anybody can"

# systemd reads units below these two prefixes, and everybody's in /etc.
case $prefix in
  /usr | /usr/local) unit_directory=$prefix/lib/systemd/system ;;
  *) unit_directory=/etc/systemd/system ;;
esac
has_systemd() {
  [ -z "$destdir" ] && [ -d /run/systemd/system ]
}

# Processes of an installed program, by the end of its path as a basic regular expression; the file itself may have
# been replaced. Those of containers and chroots have another root.
running() {
  find /proc/[0-9]*/exe -maxdepth 0 -printf '%h %l\n' 2>/dev/null | sed -n "s#^/proc/\([0-9]*\) $prefix/$1\$#\1#p" |
    while read -r process; do
      [ "$(stat -Lc %d:%i "/proc/$process/root/." 2>/dev/null)" != "$(stat -Lc %d:%i /.)" ] || echo "$process"
    done
}

# One of the words debian, fedora, suse and unknown.
family() {
  # shellcheck source=/dev/null
  for id in $(. /etc/os-release 2>/dev/null && echo "${ID:-} ${ID_LIKE:-}"); do
    case $id in
      debian | ubuntu) echo debian && return ;;
      fedora | rhel | centos) echo fedora && return ;;
      suse | sles | opensuse*) echo suse && return ;;
    esac
  done
  echo unknown
}

# The package of a library or program, by the distribution's family.
package_of() {
  case $family:$1 in
    debian:libarchive.so.13) echo libarchive13 ;;
    debian:libhwloc.so.15) echo libhwloc15 ;;
    debian:libseccomp.so.2) echo libseccomp2 ;;
    debian:libssl.so.3 | debian:libcrypto.so.3) echo libssl3 ;;
    debian:libz.so.1) echo zlib1g ;;
    debian:libstdc++.so.6) echo libstdc++6 ;;
    debian:libgcc_s.so.1) echo libgcc-s1 ;;
    fedora:libarchive.so.13) echo libarchive ;;
    fedora:libhwloc.so.15) echo hwloc-libs ;;
    fedora:libseccomp.so.2) echo libseccomp ;;
    fedora:libssl.so.3 | fedora:libcrypto.so.3) echo openssl-libs ;;
    fedora:libz.so.1) echo zlib ;;
    fedora:libstdc++.so.6) echo libstdc++ ;;
    fedora:libgcc_s.so.1) echo libgcc ;;
    fedora:iptables) echo iptables-nft ;;
    suse:libarchive.so.13) echo libarchive13 ;;
    suse:libhwloc.so.15) echo libhwloc15 ;;
    suse:libseccomp.so.2) echo libseccomp2 ;;
    suse:libssl.so.3 | suse:libcrypto.so.3) echo libopenssl3 ;;
    suse:libz.so.1) echo libz1 ;;
    suse:libstdc++.so.6) echo libstdc++6 ;;
    suse:libgcc_s.so.1) echo libgcc_s1 ;;
    suse:bridge) echo cni-plugins ;;
    *:bridge) echo containernetworking-plugins ;;
    *) echo "$1" ;;
  esac
}

# The command that installs what has these names.
remedy() {
  case $family in
    debian) printf 'apt-get install' ;;
    fedora) printf 'dnf install' ;;
    suse) printf 'zypper install' ;;
    *) printf 'install' ;;
  esac
  for wanted; do package_of "$wanted"; done | sort -u | sed 's/^/ /' | tr -d '\n'
}

# is_older A B: version A is older than B.
is_older() {
  a_minor=${1#*.}
  b_minor=${2#*.}
  [ "${1%%.*}" -lt "${2%%.*}" ] ||
    { [ "${1%%.*}" -eq "${2%%.*}" ] && [ "${a_minor%%[!0-9]*}" -lt "${b_minor%%[!0-9]*}" ]; }
}

check_libc() {
  # shellcheck source=/dev/null
  name=$(. /etc/os-release 2>/dev/null && echo "${PRETTY_NAME:-}") || true
  name=${name:-this machine}
  found=$(getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version 2>/dev/null | sed -n '1s/.*(.*) /glibc /p')
  case $found in
    "glibc "[0-9]*.[0-9]*) ;;
    *) fail "Plimsoll needs the GNU C library (glibc) $glibc or newer, and $name has another one, such as musl. Nothing was changed." ;;
  esac
  ! is_older "${found#glibc }" "$glibc" ||
    fail "Plimsoll needs glibc $glibc or newer, and $name has $found. RHEL 9, Ubuntu 22.04, Debian 12, openSUSE Leap 15.6 and what is newer have one. Nothing was changed."
}

check_packages() {
  for package in plimsoll plimsoll-agent plimsoll-kube; do
    remove=
    if dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -Evqx 'not-installed|config-files'; then
      remove='apt-get remove'
    elif rpm -q --quiet "$package" 2>/dev/null; then
      remove='dnf remove'
    fi
    [ -z "$remove" ] ||
      fail "the package $package is installed, and its units are those of this tarball. Upgrade it instead, or remove it first ($remove $package; pods run on). Nothing was changed."
  done
}

# The other prefix's units would be those that systemd starts, or the ones installed now.
check_other_prefixes() {
  for unit in $units; do
    for directory in /etc/systemd/system /usr/local/lib/systemd/system /usr/lib/systemd/system; do
      other=$(sed -n 's|^ExecStart=\(/.*\)/bin/plimsoll.*|\1|p' "$directory/$unit" 2>/dev/null || true)
      [ "${other:-$prefix}" = "$prefix" ] || [ ! -e "$other/share/plimsoll/installed-files" ] ||
        fail "Plimsoll is installed in $other, and there is one $unit. Install it there (--prefix $other), or remove that one first: ./install.sh --uninstall --prefix $other; pods run on. Nothing was changed."
    done
  done
}

# The loader names what it doesn't find.
check_libraries() {
  missing=
  for program in "$here"/bin/* "$here/libexec/plimsoll/plimsoll-hwloc"; do
    output=$(LC_ALL=C ldd "$program" 2>&1) || true
    case $output in
      *"=>"*) ;;
      *) fail "$program can't be executed here: ${output:-no answer}. Is this a file system with the option noexec?" ;;
    esac
    missing="$missing $(echo "$output" | sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p' | tr '\n' ' ')"
    versions=$(echo "$output" | grep 'version .* not found' || true)
    [ -z "$versions" ] || fail "a library of this machine is too old: $versions. Nothing was changed."
  done
  # shellcheck disable=SC2046,SC2086
  set -- $(printf '%s\n' $missing | sort -u)
  [ $# = 0 ] || fail "this machine lacks $*: $(remedy "$@"). Nothing was changed."
}

# state_directory CONFIGURATION KEY DEFAULT; the text of debian/*.preinst.
state_directory() {
  state=$(sed -n "s/^$2:[[:space:]]*[\"']\{0,1\}\([^\"'#[:space:]]*\).*/\1/p" "/etc/plimsoll/$1" 2>/dev/null || true)
  echo "${state:-$3}"
}

# check_schema DATABASE KNOWN; the text of debian/*.preinst.
check_schema() {
  database=$1
  # The daemon reports a damaged one.
  [ "$(head -c 15 "$database" 2>/dev/null)" = 'SQLite format 3' ] || return 0
  # SQLite's user_version, big-endian, at byte 60: https://www.sqlite.org/fileformat.html section 1.3.
  schema=$(od -An -tu1 -j60 -N4 "$database" 2>/dev/null | while read -r a b c d; do echo $(((a << 24) + (b << 16) + (c << 8) + d)); done)
  [ "${schema:-0}" -le "$2" ] ||
    fail "$database was written by a newer version (schema $schema, this one knows up to $2). Nothing was changed."
}

check_machine() {
  [ "$(uname -m)" = "$machine" ] || fail "this tarball is for $machine, and this machine is $(uname -m)"
  check_libc
  check_packages
  check_other_prefixes
  check_libraries
  check_schema "$(state_directory plimsolld.yaml state_dir /var/lib/plimsoll)/plimsoll.db" "$daemon_schema"
  # No key names the directory of commands without a daemon.
  check_schema /var/lib/plimsoll/standalone/plimsoll.db "$daemon_schema"
  check_schema "$(state_directory agent.yaml stateDirectory /var/lib/plimsoll-agent)/agent.db" "$agent_schema"
}

# Helpers and libraries before the programs that look for them, and units last.
sources() {
  cd "$here"
  find lib libexec -type f ! -path 'lib/systemd/*' | LC_ALL=C sort
  find bin -type f | LC_ALL=C sort
  find share -type f | LC_ALL=C sort
  find lib/systemd -type f | LC_ALL=C sort
}

# "SOURCE TARGET" of each file.
files() {
  (sources) | while read -r file; do
    case $file in
      lib/systemd/system/*) echo "$file $unit_directory/${file##*/}" ;;
      *) echo "$file $prefix/$file" ;;
    esac
  done
}

# Everything is copied beside its place first, so that a full disk changes nothing.
new() {
  echo "${1%/*}/.${1##*/}.plimsoll-new"
}

# check_places <PATHS: a link in another system's root may lead out of it, to this machine's files.
check_places() {
  [ -n "$destdir" ] || return 0
  sed 's|/[^/]*$||' | sort -u | while read -r directory; do
    place=$(realpath -m "$destdir$directory")
    case $place in
      "$destdir"/*) ;;
      *) fail "$destdir$directory leads to $place, outside of $destdir. Nothing was changed." ;;
    esac
  done
}

# make_directory PATH: what it makes is removed if the installation fails.
make_directory() {
  missing=$1
  while [ -n "$missing" ] && [ ! -d "$missing" ]; do
    echo "$missing" >>"$scratch/made"
    missing=${missing%/*}
  done
  mkdir -p "$1"
}

clean_up() {
  status=$?
  while read -r source target; do
    rm -f "$(new "$destdir$target")"
  done <"$scratch/files"
  rm -f "$record.new" "$record.both"
  # Children first; rmdir leaves those with files.
  LC_ALL=C sort -r "$scratch/made" | while read -r directory; do
    rmdir "$directory" 2>/dev/null || true
  done
  rm -rf "$scratch"
  [ "$status" = 0 ] || [ -z "$is_copying" ] || echo "install.sh: the files could not be copied. Nothing was changed." >&2
}

install_files() {
  scratch=$(mktemp -d)
  files >"$scratch/files"
  : >"$scratch/made"
  is_copying=
  trap clean_up EXIT
  trap 'exit 1' HUP INT TERM
  { sed 's/^[^ ]* //' "$scratch/files" && echo "${record#"$destdir"}"; } | check_places
  is_copying=1
  make_directory "${record%/*}"
  while read -r source target; do
    make_directory "$destdir${target%/*}"
    case $source in
      lib/systemd/*) sed "s|@PREFIX@|$prefix|g" "$here/$source" >"$(new "$destdir$target")" ;;
      *) cp "$here/$source" "$(new "$destdir$target")" ;;
    esac
    mode=644
    [ ! -x "$here/$source" ] || mode=755
    chmod "$mode" "$(new "$destdir$target")"
  done <"$scratch/files"
  # Until all files are in their places, those of both versions are recorded: an uninstallation then finds all.
  sed 's/^[^ ]* //' "$scratch/files" | LC_ALL=C sort >"$record.new"
  { cat "$record.new" && if [ -e "$record" ]; then cat "$record"; fi; } | LC_ALL=C sort -u >"$record.both"
  # Else a power cut could leave empty files under the programs' names.
  [ -n "$destdir" ] || sync -f "${record%/*}" "$unit_directory"
  is_copying=
  mv -f "$record.both" "$record"
  while read -r source target; do
    mv -f "$(new "$destdir$target")" "$destdir$target"
  done <"$scratch/files"

  # Files that an older version had and this one hasn't.
  LC_ALL=C comm -23 "$record" "$record.new" | while read -r target; do
    rm -f "$destdir$target"
  done
  mv -f "$record.new" "$record"
  if [ -z "$destdir" ] && command -v selinuxenabled >/dev/null && selinuxenabled; then
    xargs restorecon <"$record" || true
  fi
}

restart_daemons() {
  if has_systemd; then
    systemctl daemon-reload
    for restarted in plimsolld.service plimsoll-agent.service "plimsoll-kube.service plimsoll-kube.socket"; do
      # shellcheck disable=SC2086
      systemctl try-restart $restarted ||
        fail "$version is installed, and ${restarted% *} doesn't start: journalctl -u ${restarted% *} says why. Pods run on."
    done
  elif [ -n "$(running 'bin/plimsoll\(d\|-agent\|-kube\) (deleted)')" ]; then
    echo "Daemons that run are of the older version: restart them."
  fi
}

# Before anything is removed. Without systemd a daemon may be one of `plimsoll run`, or anybody's.
stop_daemons() {
  if has_systemd; then
    for unit in $units; do
      grep -qx "$unit_directory/$unit" "$record" || continue
      systemctl disable --quiet --now "$unit" || true
      case $(systemctl is-active "$unit" || true) in
        '' | active | activating | reloading | deactivating) fail "$unit doesn't stop: systemctl status $unit says why. Nothing was removed." ;;
      esac
    done
    return
  fi
  daemons=$(running 'bin/plimsoll\(d\|-agent\|-kube\)\( (deleted)\)\{0,1\}' | tr '\n' ' ')
  [ -z "$daemons" ] || fail "daemons run (process ${daemons% }): stop them first, pods run on. Nothing was removed."
}

# Directories of ours that are empty now, of a file that is removed.
remove_directories() {
  directory=${1%/*}
  while [ "$directory" != "${directory%/*plimsoll*}" ]; do
    rmdir "$destdir$directory" 2>/dev/null || break
    directory=${directory%/*}
  done
}

# Programs that a container needs besides, by name.
say_what_else_is_missing() {
  missing=
  command -v crun >/dev/null || missing=crun
  for program in skopeo iptables; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "$program" >/dev/null || missing="$missing $program"
  done
  [ -x /opt/cni/bin/bridge ] || [ -x /usr/lib/cni/bridge ] || [ -x /usr/libexec/cni/bridge ] ||
    missing="$missing bridge"
  # shellcheck disable=SC2086
  [ -z "$missing" ] || echo "Still missing for pods: $(remedy $missing)"
  case " $missing " in
    *" crun "*) ! command -v runc >/dev/null || echo "Or runc in its place: crun: $(command -v runc) in /etc/plimsoll/plimsolld.yaml." ;;
  esac
}

if [ -n "$uninstall" ]; then
  [ -e "$record" ] || fail "nothing is installed below $prefix: there is no $record"
  { cat "$record" && echo "${record#"$destdir"}"; } | check_places
  [ -n "$destdir" ] || stop_daemons
  while read -r target; do
    rm -f "$destdir$target"
    remove_directories "$target"
  done <"$record"
  rm -f "$record"
  rmdir "${record%/*}" 2>/dev/null || true
  ! has_systemd || systemctl daemon-reload
  echo "Plimsoll is removed from $destdir$prefix. Configuration (/etc/plimsoll) and state (/var/lib/plimsoll) stay."
  if [ -z "$destdir" ] && [ -n "$(running 'libexec/plimsoll/plimsoll-monitor.*')" ]; then
    echo "Pods run on. Nothing restarts their containers or rotates their logs until plimsolld is installed and started"
    echo "again, which finds them."
  fi
  exit 0
fi

family=$(family)
[ -n "$destdir" ] || check_machine
install_files
if [ -z "$destdir" ]; then
  if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers "$prefix/lib/sysusers.d/plimsoll-kube.conf" || echo "The user plimsoll-kube could not be made, as which plimsoll-kube runs."
  fi
  restart_daemons
  say_what_else_is_missing
fi
echo "Plimsoll $version is installed in $destdir$prefix. As a daemon: systemctl enable --now plimsolld"
