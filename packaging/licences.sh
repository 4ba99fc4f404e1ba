#!/bin/sh
# Collects the licences of everything that is linked statically into programs, and of the named further Debian
# packages, and prints the packages that have the archives, and the further ones:
#
#   packaging/licences.sh BUILD DIRECTORY 'PACKAGE...' PROGRAM...
#
#   CXX=COMPILER  the build's (default: c++)
#   TEXTS=1       also copies the texts that Debian's files name and leave out, as they are on any Debian:
#                 DIRECTORY/common-licenses
set -eu
build=$1
licences=$2
further=$3
shift 3

# Static programs have the C and C++ libraries too.
archives() {
  inputs=$(ninja -C "$build" -t inputs "$@")
  echo "$inputs" | grep '^/usr/lib/.*\.a$' || true
  for program; do
    readelf -d "$build/bin/$program" | grep -q 'Shared library: \[libstdc++' && continue
    ${CXX:-c++} -print-file-name=libstdc++.a
    readelf -d "$build/bin/$program" | grep -q 'Shared library: \[libc\.' || ${CXX:-c++} -print-file-name=libc.a
  done
}
# Libraries whose headers have code. spdlog's package has no fmt of its own: its header-only form comes from libfmt-dev.
headers='nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libboost1.[0-9]*-dev libspdlog-dev libfmt-dev prometheus-cpp-dev'
for each in $headers; do
  # The pattern also matches packages that are known and not installed.
  dpkg-query -W -f '${db:Status-Status}\n' "$each" 2>/dev/null | grep -qx installed && continue
  echo "licences: no package $each is installed, and its headers are compiled" >&2
  exit 1
done

mkdir -p "$licences"
linked=$(archives "$@")
owners=$(echo "$linked" | xargs -r realpath | sort -u | xargs -r dpkg-query -S)
packages="$(echo "$owners" | sed 's/: .*//; s/,.*//' | sort -u) $further"
# shellcheck disable=SC2086
for each in $(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $packages $headers 2>/dev/null |
  sed -n 's/^installed //p' | sort -u); do
  cp -L "/usr/share/doc/$each/copyright" "$licences/$each"
done
if [ -n "${TEXTS:-}" ]; then
  mkdir -p "$licences/common-licenses"
  find "$licences" -maxdepth 1 -type f -exec grep -ho '/usr/share/common-licenses/[A-Za-z0-9.+-]*[A-Za-z0-9+]' {} + |
    sort -u |
    while read -r each; do [ ! -f "$each" ] || cp -L "$each" "$licences/common-licenses/"; done
fi
# shellcheck disable=SC2086
echo $packages
