#!/bin/sh
# Collects the licences of everything that is linked statically into programs, and of the named further Debian
# packages, and prints the packages that have the archives, and the further ones:
#
#   packaging/licences.sh BUILD DIRECTORY 'PACKAGE...' PROGRAM...
#
#   CXX=COMPILER  the build's (default: c++)
set -eu
build=$1
licences=$2
further=$3
shift 3

# Static programs have the C and C++ libraries too.
linked() {
  ninja -C "$build" -t inputs "$@" | grep '^/usr/lib/.*\.a$' | xargs -r realpath | owners
  for program; do
    readelf -d "$build/bin/$program" | grep -q 'Shared library: \[libstdc++' && continue
    owners "$(${CXX:-c++} -print-file-name=libstdc++.a)"
    readelf -d "$build/bin/$program" | grep -q 'Shared library: \[libc\.' || owners "$(${CXX:-c++} -print-file-name=libc.a)"
  done
}
owners() {
  if [ $# -gt 0 ]; then realpath "$@"; else cat; fi | sort -u | xargs -r dpkg-query -S | sed 's/: .*//; s/,.*//'
}
# Libraries that are headers alone.
headers='nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libboost1.[0-9]*-dev libspdlog-dev'

mkdir -p "$licences"
packages="$(linked "$@" | sort -u) $further"
# shellcheck disable=SC2086
for each in $(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $packages $headers 2>/dev/null |
  sed -n 's/^installed //p' | sort -u); do
  cp -L "/usr/share/doc/$each/copyright" "$licences/$each"
done
# shellcheck disable=SC2086
echo $packages
