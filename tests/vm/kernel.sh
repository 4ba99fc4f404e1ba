#!/bin/sh
# Provides the virtual machine's kernel, and prints its path:
#
#   tests/vm/kernel.sh [--offline]
#
# Downloads Debian's kernel package (group [vm kernel] of packaging/debian-packages) with apt-get and
# unpacks it below build/vm/kernel. It isn't installed: that would make this machine boot it, initial
# ramdisk included. --offline: fail rather than download.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
kernel=$top/build/vm/kernel

if [ -e "$kernel/complete" ]; then
  echo "$kernel"
  exit 0
fi
if [ "${1:-}" = --offline ]; then
  echo "kernel.sh: no kernel for the virtual machine yet; tests/vm/kernel.sh downloads it" >&2
  exit 1
fi

meta=$(awk '/^\[/ { take = $0 == "[vm kernel]"; next } take && !/^#/ && NF { print $1 }' \
  "$top/packaging/debian-packages")
# The meta package's current package, e.g. linux-image-6.1.0-56-cloud-amd64.
current() {
  apt-cache depends "$meta" 2>/dev/null |
    awk '$1 == "Depends:" && $2 ~ /^linux-image-/ { print $2; exit }'
}

mkdir -p "$top/build/vm"
work=$(mktemp -d "$top/build/vm/kernel.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
# The usual cause of failure is a missing or outdated list of packages.
package=$(current)
if [ -z "$package" ] || ! apt-get download -qq "$package" >&2; then
  apt-get update -qq >&2 || true
  package=$(current)
  [ -n "$package" ] || { echo "kernel.sh: apt knows no package $meta" >&2; exit 1; }
  apt-get download -qq "$package" >&2
fi
mkdir tree
dpkg-deb --extract ./*.deb tree
mv tree/boot/vmlinuz-* vmlinuz
mv tree/lib/modules modules
release=$(ls modules)
# Debian runs depmod when it installs the package.
mkdir -p base/lib
ln -s ../../modules base/lib/modules
busybox depmod -b "$work/base" "$release"
rm -rf tree base ./*.deb
echo "$release" >release
touch complete
rm -rf "$kernel"
mv "$work" "$kernel"
chmod 0755 "$kernel"
echo "$kernel"
