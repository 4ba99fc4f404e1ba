#!/bin/sh
# Installs the missing ones of the Debian packages that the project needs.
#
#   tools/setup.sh [build|run|check|packages]...     without a group: the first three
#
# Prints the missing packages and asks; YES=1 in the environment, CI=true, or a standard input that is
# no terminal means yes. If none is missing it ends at once.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
list=${PLIMSOLL_PACKAGE_LIST:-$here/../packaging/debian-packages}
groups=${*:-build run check}

fail() {
  echo "setup: $1" >&2
  exit 1
}

[ -r "$list" ] || fail "cannot read the list of packages, $list"
for group in $groups; do
  grep -q "^\[$group\]\$" "$list" || fail "no group [$group] in $list"
done
command -v dpkg-query >/dev/null ||
  fail "this is no Debian system (no dpkg-query). Install by hand what packaging/debian-packages names."

listed=$(awk -v groups=" $groups " '
  { sub(/#.*/, ""); sub(/[ \t]+$/, "") }
  /^\[/ { take = index(groups, " " substr($0, 2, length($0) - 2) " "); next }
  NF && take { print $1 }' "$list")

updated=
update() {
  [ -z "$updated" ] || return 0
  updated=1
  # A broken package source may have nothing to do with these packages: only the install counts.
  apt-get update -q || echo "setup: apt-get update failed for some source; trying to install all the same" >&2
}

is_installed() {
  dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}
is_offered() {
  apt-cache policy "$1" 2>/dev/null | grep -q '^  Candidate: [^(]'
}
# Sets `chosen` to the first of the alternatives "a|b" that passes the test.
choose() {
  for chosen in $(echo "$2" | tr '|' ' '); do
    if "$1" "$chosen"; then return 0; fi
  done
  return 1
}
wanted=
for entry in $listed; do
  chosen=$entry
  case $entry in
    *'|'*)
      if ! choose is_installed "$entry" && ! choose is_offered "$entry"; then
        # A minimal Debian has no package lists, and offers nothing.
        if [ "$(id -u)" = 0 ]; then update >&2; fi
        choose is_offered "$entry" || chosen=${entry%%|*}
      fi ;;
  esac
  wanted="$wanted $chosen"
done

# One query for all; a package unknown to dpkg is only missing from the answer.
# shellcheck disable=SC2086
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $wanted 2>/dev/null |
  awk '$2 == "installed" { print $1 }')
missing=
for package in $wanted; do
  echo "$installed" | grep -Fqx "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "setup: Debian packages that are missing:"
for package in $missing; do
  awk -v package="$package" -v groups=" $groups " '
    /^\[/ { take = index(groups, " " substr($0, 2, length($0) - 2) " ") }
    take && index("|" $1 "|", "|" package "|") { sub(/^[^#]*#/, "#"); printf "  %-24s%s\n", package, $0; exit }' "$list"
done

[ "$(id -u)" = 0 ] ||
  fail "installing them needs root. As root: apt-get install --no-install-recommends$missing"
command -v apt-get >/dev/null || fail "there is no apt-get here; install them by hand"

if [ "${YES:-}" != 1 ] && [ "${CI:-}" != true ] && [ -t 0 ]; then
  printf 'Install them now? [Y/n] '
  read -r answer || answer=n
  case $answer in
    '' | y | Y | yes | Yes) ;;
    *) fail "not installed, so nothing was done" ;;
  esac
fi

export DEBIAN_FRONTEND=noninteractive
update
# shellcheck disable=SC2086
apt-get install -q -y --no-install-recommends $missing ||
  fail "apt-get could not install:$missing (see above; are the package sources those of Debian 12 or 13?)"
echo "setup: done"
