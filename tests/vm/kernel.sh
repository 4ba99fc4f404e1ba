#!/bin/sh
# Provides the virtual machine's kernel, and prints its path:
#
#   tests/vm/kernel.sh [--offline] [ARCH]
#
# Downloads Debian's kernel package (group [vm kernel] of packaging/debian-packages) with apt-get and
# unpacks it below build/vm/kernel, or build/vm/kernel-ARCH for another architecture than this machine's
# (tests/vm/root.sh). It isn't installed: that would make this machine boot it, initial ramdisk included.
# --offline: fail rather than download.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
offline=
if [ "${1:-}" = --offline ]; then
  offline=1
  shift
fi
own=$(dpkg --print-architecture)
arch=${1:-$own}
kernel=$top/build/vm/kernel
[ "$arch" = "$own" ] || kernel=$kernel-$arch

if [ -e "$kernel/complete" ]; then
  echo "$kernel"
  exit 0
fi
if [ -n "$offline" ]; then
  echo "kernel.sh: no kernel of $arch for the virtual machine yet; tests/vm/kernel.sh $arch downloads it" >&2
  exit 1
fi

meta=$(awk -v arch="$arch" '/^\[/ { take = $0 == "[vm kernel]"; next } take && $1 ~ "-" arch "$" { print $1 }' \
  "$top/packaging/debian-packages")
[ -n "$meta" ] || { echo "kernel.sh: no kernel for $arch in packaging/debian-packages" >&2; exit 1; }
# The meta package's current package, e.g. linux-image-6.1.0-56-cloud-amd64.
current() {
  apt-cache depends "$meta" 2>/dev/null |
    awk '$1 == "Depends:" && $2 ~ /^linux-image-/ { print $2; exit }'
}

mkdir -p "$top/build/vm"
work=$(mktemp -d "$top/build/vm/kernel.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
if [ "$arch" != "$own" ]; then
  # Lists of its own: this machine's apt stays as it is.
  mkdir -p apt/lists/partial apt/cache/archives/partial
  cat >apt.conf <<END
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
Dir::State "$work/apt";
Dir::State::status "/dev/null";
Dir::Cache "$work/apt/cache";
END
  export APT_CONFIG="$work/apt.conf"
fi
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
rm -rf tree base apt apt.conf ./*.deb
echo "$release" >release
touch complete
rm -rf "$kernel"
mv "$work" "$kernel"
chmod 0755 "$kernel"
echo "$kernel"
