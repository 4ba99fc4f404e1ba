#!/bin/sh
# Provides tools and libraries of another architecture for the virtual machine, and prints their directory:
#
#   tests/vm/root.sh [--offline] ARCH
#
# Unpacks Debian's packages (groups [vm root] and the libraries of [build] in packaging/debian-packages) below
# build/vm/root-ARCH with mmdebstrap. No program of ARCH runs for it, and this machine's apt and dpkg stay as
# they are. --offline: fail rather than download.
#
#   MIRROR=URL   Debian's archive (default: http://deb.debian.org/debian)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
offline=
if [ "${1:-}" = --offline ]; then
  offline=1
  shift
fi
arch=${1:?usage: tests/vm/root.sh [--offline] ARCH}
root=$top/build/vm/root-$arch

if [ -e "$root" ]; then
  echo "$root"
  exit 0
fi
if [ -n "$offline" ]; then
  echo "root.sh: no programs of $arch for the virtual machine yet; tests/vm/root.sh $arch downloads them" >&2
  exit 1
fi
command -v mmdebstrap >/dev/null || { echo "root.sh: there is no mmdebstrap: tools/setup.sh packages" >&2; exit 1; }

# The first of alternatives "a|b" that this machine's Debian has.
packages=$(awk '
  /^\[/ { group = $0; next }
  !NF || /^#/ { next }
  group == "[vm root]" || (group == "[build]" && $1 ~ /-dev/) { print $1 }' "$top/packaging/debian-packages" |
  while read -r entry; do
    first=${entry%%|*}
    for each in $(echo "$entry" | tr '|' ' '); do
      if apt-cache policy "$each" 2>/dev/null | grep -q '^  Candidate: [^(]'; then first=$each; break; fi
    done
    echo "$first"
  done | paste -sd ,)
dist=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)

mkdir -p "$top/build/vm"
work=$(mktemp -d "$top/build/vm/root.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
mmdebstrap --quiet --variant=extract --architectures="$arch" --skip=check/qemu --include="$packages" \
  "$dist" "$work/root" "${MIRROR:-http://deb.debian.org/debian}" >&2
mv "$work/root" "$root"
echo "$root"
