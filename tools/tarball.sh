#!/bin/bash
# Packs a build into a tarball for distributions with glibc 2.34 or newer: tools/tarball.sh BUILD RESULT
#
#   BUILD   a release build, made on Debian 12 with -DPLIMSOLL_PORTABLE=ON; `make tarball` makes it in a root of its
#           own (tools/packages.sh)
#   RESULT  the directory for plimsoll-VERSION-linux-ARCH.tar.gz, with VERSION of debian/changelog
#
# The same build makes the same bytes (SOURCE_DATE_EPOCH). Libraries that the distributions lack, or have too old,
# are in lib/plimsoll: libprometheus-cpp-core, and libsqlite3, of which 3.37 is needed (STRICT) and RHEL 9 has 3.34.
# All others are the distributions' own. tools/check_symbols.sh compares what programs and libraries need.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:?usage: tools/tarball.sh BUILD RESULT}")
result=$(realpath "${2:?usage: tools/tarball.sh BUILD RESULT}")
arch=$(dpkg --print-architecture)
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)
version=${version%~deb12}
own_programs=(plimsoll plimsolld plimsoll-agent plimsoll-kube)
helpers=(plimsoll-monitor plimsoll-launch plimsoll-exec plimsoll-pause plimsoll-hwloc)

fail() {
  echo "tarball: $1" >&2
  exit 1
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
name=plimsoll-$version-linux-$arch
root=$scratch/$name
document=$root/share/doc/plimsoll

# Units name the prefix, which install.sh knows.
DESTDIR=$scratch cmake --install "$build" --prefix "/$name" >/dev/null
sed -i "s|/$name/|@PREFIX@/|" "$root"/lib/systemd/system/*
for program in "${own_programs[@]/#/$root/bin/}" "${helpers[@]/#/$root/libexec/plimsoll/}"; do
  [ -x "$program" ] || fail "$build lacks ${program##*/}"
  strip --strip-unneeded --remove-section=.comment --remove-section=.note "$program"
done
for program in "${own_programs[@]}"; do
  # shellcheck disable=SC2016
  readelf -d "$root/bin/$program" | grep -q 'RUNPATH.*\[\$ORIGIN/../lib/plimsoll\]' ||
    fail "$program doesn't look for its libraries beside itself: configure $build with -DPLIMSOLL_PORTABLE=ON"
done

mkdir -p "$root/lib/plimsoll"
packages=()
for library in libprometheus-cpp-core libsqlite3; do
  path=$(ldd "$root/bin/plimsolld" | sed -n "s/^[[:space:]]*\($library\.so[.0-9]*\) => \([^ ]*\) .*/\2/p")
  [ -n "$path" ] || fail "plimsolld doesn't need $library"
  install -m 644 "$(realpath "$path")" "$root/lib/plimsoll/${path##*/}"
  packages+=("$(dpkg-query -S "$(realpath "$path")" | sed 's/:.*//')")
done
tools/check_symbols.sh packaging/symbol-versions "$root"/bin/* "$root"/libexec/plimsoll/* "$root"/lib/plimsoll/*

mkdir -p "$root/share/plimsoll/examples" "$root/share/plimsoll/images/plimsoll.dev/examples" "$document"/{api,docs}
cp -r examples/*.yaml examples/README.md examples/classes examples/objects "$root/share/plimsoll/examples"
tools/example_image.sh "$root/share/plimsoll/images/plimsoll.dev/examples/busybox.tar"
cp README.md LICENSE NOTICE "$document"
cp api/README.md "$document/api"
cp docs/*.md docs/*.svg "$document/docs"
TEXTS=1 packaging/licences.sh "$build" "$document/licences" "${packages[*]} busybox-static" \
  "${own_programs[@]}" "${helpers[@]}" >/dev/null
cp LICENSE NOTICE "$root"

# Versions of the schemas, found as debian/rules finds them.
daemon_schema=$(sed -n 's|^    // \([0-9][0-9]*\): .*|\1|p' src/runtime/store/schema.cc | tail -n 1)
agent_schema=$(sed -n 's|^constexpr int64_t kSchemaVersion = \([0-9]*\);|\1|p' src/agent/pods/records/pod_store.cc)
{ [ -n "$daemon_schema" ] && [ -n "$agent_schema" ]; } || fail "the schemas' versions are not where they were"
glibc=$(sed -n 's/^GLIBC_//p' packaging/symbol-versions)
sed "s/@VERSION@/$version/; s/@MACHINE@/$(uname -m)/; s/@GLIBC@/$glibc/; s/@DAEMON_SCHEMA@/$daemon_schema/
  s/@AGENT_SCHEMA@/$agent_schema/" packaging/tarball/install.sh >"$root/install.sh"
chmod 755 "$root/install.sh"

chmod -R u=rwX,go=rX "$root"
mkdir -p "$result"
tar --create --directory="$scratch" --sort=name --mtime="@${SOURCE_DATE_EPOCH:-0}" --owner=0 --group=0 --numeric-owner \
  --format=gnu "$name" | gzip -9 --no-name >"$result/$name.tar.gz"
echo "tarball: $result/$name.tar.gz"
