#!/bin/bash
# Builds the packages of HEAD twice and compares them: tools/packages_twice.sh [DIST] [ARCH]
#
# The tarball too, on bookworm for this machine's architecture.
# Exits with 0 only if all files are equal, byte for byte. Compiler caches are off. The second build is kept.
set -euo pipefail
cd "$(dirname "$0")/.."
unset CCACHE BUILD TARBALL
dist=${1:-bookworm}
own=$(dpkg --print-architecture)
arch=${2:-$own}
[ "$dist-$arch" != "bookworm-$own" ] || export TARBALL=1
first=build/packages/$dist-$arch/first
rm -rf "$first"
RESULT=$first tools/packages.sh "$dist" "$arch"
tools/packages.sh "$dist" "$arch"
if ! (cd "build/packages/$dist-$arch/result" && sha256sum --quiet --check "../first/SHA256SUMS"); then
  echo "packages_twice: two builds of one commit differ; the first is in $first" >&2
  exit 1
fi
echo "packages_twice: both builds are equal"
