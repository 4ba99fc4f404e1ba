#!/bin/sh
# Packs Debian's static busybox into a root filesystem: tools/example_image.sh FILE.tar
# The result is the same for the same busybox, byte for byte.
#
#   BUSYBOX=FILE      another one than /bin/busybox
#   EMULATOR=PROGRAM  runs it, if it is for another architecture
set -eu
out=${1:?usage: tools/example_image.sh FILE.tar}
busybox=${BUSYBOX:-/bin/busybox}
[ -x "$busybox" ] || { echo "example_image: there is no $busybox (apt-get install busybox-static)" >&2; exit 1; }

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/bin" "$root/etc" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/root"
chmod 755 "$root"
chmod 1777 "$root/tmp"
cp "$busybox" "$root/bin/busybox"
chmod 755 "$root/bin/busybox"
${EMULATOR:-} "$busybox" --list | while read -r applet; do
  [ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
done
ln -s bin "$root/sbin"
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'nobody:x:65534:65534:nobody:/:/bin/false' >>"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C "$root" -cf "$out" .
