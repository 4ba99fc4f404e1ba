#!/bin/sh
# Part of debian/rules: what Debian has elsewhere than `cmake --install` below debian/tmp, and what no build
# makes: the examples' image, and the licences of everything linked statically.
#
#   packaging/debian_layout.sh BUILD
#
#   CXX=COMPILER      the build's (default: c++)
#   EMULATOR=PROGRAM  runs a cross build's programs
set -eu
build=$1
root=debian/tmp
share=$root/usr/share

mkdir -p "$root/etc/plimsoll/manifests" "$share/zsh/vendor-completions"
mv "$share/zsh/site-functions/_plimsoll" "$share/zsh/vendor-completions/"
rmdir "$share/zsh/site-functions"
mv "$share/plimsoll/plimsolld.yaml" "$share/plimsoll/plimsoll-kube.yaml" "$root/etc/plimsoll/"
mv "$share/plimsoll/plimsoll-agent.yaml" "$root/etc/plimsoll/agent.yaml"
# debhelper knows where this Debian has them.
units=$root/usr/lib/systemd/system
mv "$units/plimsolld.service" debian/plimsoll.plimsolld.service
mv "$units/plimsoll-agent.service" debian/plimsoll-agent.service
mv "$units/plimsoll-kube.service" "$units/plimsoll-kube.socket" debian/
mv "$root/usr/lib/sysusers.d/plimsoll-kube.conf" debian/plimsoll-kube.sysusers
rm -r "$root/usr/lib"

image=$share/plimsoll/images/plimsoll.dev/examples/busybox.tar
mkdir -p "${image%/*}"
# busybox-static of a cross build is the packages', not the machine's.
machine() { LC_ALL=C readelf -h "$1" | sed -n 's/^ *Machine: *//p'; }
if [ "$(machine /bin/busybox)" != "$(machine "$build/bin/plimsoll")" ]; then
  echo "debian_layout: /bin/busybox is for $(machine /bin/busybox), the packages are for $(machine "$build/bin/plimsoll")" >&2
  exit 1
fi
tools/example_image.sh "$image"

# declare_licences PACKAGE 'FURTHER...' PROGRAM... : the field Static-Built-Using of PACKAGE, and the licences.
declare_licences() {
  package=$1
  further=$2
  shift 2
  built_with=$(packaging/licences.sh "$build" "$share/doc/$package/licences" "$further" "$@")
  # A debug build has no archives; without names dpkg-query would list every package.
  sources=
  if [ -n "$built_with" ]; then
    # shellcheck disable=SC2086
    sources=$(dpkg-query -W -f '${source:Package} (= ${source:Version})\n' $built_with | sort -u | paste -sd , | sed 's/,/, /g')
  fi
  echo "plimsoll:Static-Built-Using=$sources" >>"debian/$package.substvars"
  cp NOTICE "$share/doc/$package/NOTICE"
}
declare_licences plimsoll '' plimsoll plimsolld plimsoll-monitor plimsoll-launch plimsoll-exec plimsoll-pause plimsoll-hwloc
declare_licences plimsoll-agent '' plimsoll-agent
declare_licences plimsoll-kube '' plimsoll-kube
declare_licences plimsoll-examples busybox-static nri-logger nri-cpu-pinner nri-class-assigner device-plugin topology-provider
