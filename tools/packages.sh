#!/bin/bash
# Builds the Debian packages of the commit that is checked out: tools/packages.sh [DIST] [ARCH]
#
#   DIST  bookworm (the default) or trixie
#   ARCH  amd64 or arm64 (default: this machine's own); another one than this machine's is built by a cross compiler
#
# The build runs in a root of DIST that mmdebstrap makes once below build/packages and keeps for as long as the
# build's dependencies stay the same; nothing on this machine changes. The packages are in
# build/packages/DIST-ARCH/result, with the log of the build and of lintian.
#
#   JOBS=N       compilers at once (default: processors)
#   CCACHE=1     takes objects of earlier builds; without, everything is compiled, as a comparison of builds needs
#   MIRROR=URL   Debian's archive (default: http://deb.debian.org/debian)
#   TARBALL=1    also makes the tarball for other distributions (tools/tarball.sh), on bookworm, for this machine's
#                ARCH and without BUILD
#   ROOT_ONLY=1  makes the root and ends (tools/cross builds and runs tests in it)
#   COMMIT=NAME  packages this commit in place of HEAD
#   DEB_BUILD_OPTIONS=...  is added to the build's own (Debian Policy 4.9.1): `noopt` is quicker
#   BUILD=DIR    packages this finished build of the work tree, as it is, with VERSION as the packages' version:
#                for tests of the packages themselves (tests/vm/packages.py). They are in RESULT.
set -euo pipefail
cd "$(dirname "$0")/.."
dist=${1:-bookworm}
own=$(dpkg --print-architecture)
arch=${2:-$own}
commit=$(git rev-parse --verify "${COMMIT:-HEAD}^{commit}")
mirror=${MIRROR:-http://deb.debian.org/debian}

fail() {
  echo "packages: $1" >&2
  exit 1
}
case $dist in
  bookworm) suffix=deb12 ;;
  trixie) suffix=deb13 ;;
  *) fail "DIST=$dist: bookworm or trixie" ;;
esac
if [ -n "${TARBALL:-}" ]; then
  [ "$dist" = bookworm ] || fail "a tarball is made on bookworm, whose glibc is the oldest"
  [ "$arch" = "$own" ] || fail "a tarball for $arch is made on a machine of $arch alone"
  [ -z "${BUILD:-}" ] || fail "a tarball is not made of a finished build (BUILD)"
fi
tools=ccache,debhelper,lintian
root_options=() dependencies='' build_options=''
case $arch in
  "$own") ;;
  amd64 | arm64)
    # The profile "cross" brings the emulator for the build's own programs.
    tools=$tools,crossbuild-essential-$arch
    root_options=("--architectures=$own,$arch" --skip=check/qemu)
    dependencies="--host-architecture=$arch --build-profiles=cross,nocheck"
    build_options="--host-arch=$arch --build-profiles=cross,nocheck" ;;
  *) fail "ARCH=$arch: $own, amd64 or arm64" ;;
esac
[ "$(id -u)" = 0 ] || fail "needs root, for the root directory of the build"
command -v mmdebstrap >/dev/null || fail "there is no mmdebstrap: tools/setup.sh packages"
[ -n "${BUILD:-}" ] || [ -z "$(git status --porcelain --untracked-files=no)" ] || echo "packages: uncommitted changes are not packaged" >&2

top=$PWD/build/packages/$dist-$arch
root=$top/root
result=${RESULT:-$top/result}
mkdir -p "$top"

# Packages that apt installs for the field Build-Depends, and that this script runs.
wanted=$(git show "$commit:debian/control" | sed -n '/^Build-Depends:/,/^$/p' | sha256sum | cut -c 1-16)
if [ "$(cat "$root/etc/plimsoll-build-root" 2>/dev/null)" != "$wanted" ]; then
  rm -rf --one-file-system "$root"
  echo "packages: makes a root of $dist in $root"
  mkdir -p "$top/control/debian"
  git show "$commit:debian/control" >"$top/control/debian/control"
  mmdebstrap --quiet --variant=buildd --include="$tools" --skip=cleanup/apt "${root_options[@]}" --hook-dir=/usr/share/mmdebstrap/hooks/eatmydata \
    --customize-hook="copy-in $top/control /" \
    --customize-hook="chroot \"\$1\" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends build-dep $dependencies /control" \
    "$dist" "$root" "$mirror"
  echo "$wanted" >"$root/etc/plimsoll-build-root"
fi
[ -z "${ROOT_ONLY:-}" ] || exit 0

# The tree of the commit, with the version of this build. An unreleased one is older than the release to come,
# and younger than that of the commit before.
name=plimsoll
tree=$root/build/$name
rm -rf "$root/build"
mkdir -p "$tree"
if [ -n "${BUILD:-}" ]; then
  BUILD=$(realpath "$BUILD")
  git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$tree"
else
  git archive "$commit" | tar -x -C "$tree"
fi
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$tree/debian/changelog")
if sed -n 1p "$tree/debian/changelog" | grep -q UNRELEASED; then
  version="$version~$(git rev-list --count "$commit").g$(git rev-parse --short=8 "$commit")"
fi
version=${VERSION:-$version~$suffix}
sed -i "1s/(.*) [^;]*;/($version) $dist;/" "$tree/debian/changelog"
epoch=$(git log -1 --format=%ct "$commit")

cat >"$root/build/run" <<END
#!/bin/bash
set -e
cd /build/$name
export SOURCE_DATE_EPOCH=$epoch DEB_BUILD_OPTIONS='parallel=${JOBS:-$(nproc)} ${DEB_BUILD_OPTIONS:-}' LC_ALL=C.UTF-8 TZ=UTC HOME=/nonexistent
${BUILD:+export PLIMSOLL_BUILD_DIRECTORY=$BUILD DEB_BUILD_OPTIONS=noautodbgsym DPKG_DEB_COMPRESSOR_TYPE=none}
$([ -n "${CCACHE:-}" ] && echo "export CCACHE_DIR=/ccache" || echo "export CCACHE_DISABLE=1")
dpkg-buildpackage --no-sign --build=binary $build_options
if [ -n "${TARBALL:-}" ]; then
  # The same objects, linked again.
  cmake -DPLIMSOLL_PORTABLE=ON build/package >/dev/null
  cmake --build build/package -j ${JOBS:-$(nproc)} --target plimsoll_linking
  tools/tarball.sh build/package /build
fi
cd ..
${BUILD:+exit 0}
# lintian of Debian 12 doesn't know the field Static-Built-Using of its own dpkg; the distribution is no mistake
# outside of Debian's own archive. Everything else has an explained override, or ends this.
lintian --fail-on=error,warning --allow-root --tag-display-limit=0 \\
  --suppress-tags=unknown-field,bad-distribution-in-changes-file ./*.changes
END
chmod +x "$root/build/run"
mkdir -p "$root/ccache" "$top/ccache"

echo "packages: builds $version, log in $result/build.log"
rm -rf "$result"
mkdir -p "$result"
status=0
# Namespaces of their own: no mount and no process of the build stays.
unshare --mount --pid --fork --kill-child --net --ipc bash -s "$root" "$top/ccache" "${BUILD:+$PWD}" >"$result/build.log" 2>&1 <<'END' || status=$?
set -e
mount -t proc proc "$1/proc"
mount -t tmpfs tmpfs "$1/dev"
for each in null zero full random urandom; do touch "$1/dev/$each"; mount --bind "/dev/$each" "$1/dev/$each"; done
mkdir "$1/dev/shm"; mount -t tmpfs shm "$1/dev/shm"; ln -s /proc/self/fd "$1/dev/fd"
mount --bind "$2" "$1/ccache"
# A finished build knows its sources by their paths here.
[ -z "$3" ] || { mkdir -p "$1$3" && mount --rbind "$3" "$1$3"; }
ip link set lo up 2>/dev/null || true
exec chroot "$1" /build/run
END
if [ "$status" != 0 ]; then
  tail -n 40 "$result/build.log" >&2
  fail "failed with status $status; all of its output is in $result/build.log"
fi
find "$root/build" -maxdepth 1 -type f \( -name '*.deb' -o -name '*.buildinfo' -o -name '*.changes' -o -name '*.tar.gz' \) -exec cp {} "$result" \;
(cd "$result" && find . -name '*.deb' -o -name '*.tar.gz' | sort | xargs sha256sum >SHA256SUMS)
rm -rf "$root/build"
echo "packages: in $result:"
(cd "$result" && find . -name '*.deb' -o -name '*.tar.gz' | sort | xargs ls -sh1)
