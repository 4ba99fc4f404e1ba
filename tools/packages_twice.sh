#!/bin/bash
# Builds the packages of HEAD, on bookworm also the tarball, twice and compares them: tools/packages_twice.sh [DIST] [ARCH]
#
# Exits with 0 only if all files are equal, byte for byte. Compiler caches are off. The second build is kept.
set -euo pipefail
cd "$(dirname "$0")/.."
unset CCACHE BUILD
dist=${1:-bookworm}
arch=${2:-$(dpkg --print-architecture)}
[ "$dist" != bookworm ] || export TARBALL=1
first=build/packages/$dist-$arch/first
rm -rf "$first"
RESULT=$first tools/packages.sh "$dist" "$arch"
tools/packages.sh "$dist" "$arch"
if ! (cd "build/packages/$dist-$arch/result" && sha256sum --quiet --check "../first/SHA256SUMS"); then
  echo "packages_twice: two builds of one commit differ; the first is in $first" >&2
  exit 1
fi
echo "packages_twice: both builds are equal"
