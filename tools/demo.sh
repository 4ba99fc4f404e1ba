#!/bin/bash
# The demonstration of `make demo`, after the release build: an image made on the spot, a pod run from
# a manifest, its requested limits beside the kernel's, and nothing left behind. Exits with 0 only if
# the pod succeeded and everything is gone again.
set -euo pipefail
cd "$(dirname "$0")/.."
plimsoll=${PLIMSOLL:-build/release/bin/plimsoll}
image=plimsoll.dev/examples/busybox
[ -x "$plimsoll" ] || { echo "demo: there is no $plimsoll; run make demo" >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo "demo: running containers needs root" >&2; exit 1; }

# A state directory of its own: nothing existing on this machine is touched.
root=$(mktemp -d /tmp/plimsoll-demo-XXXXXX)
clean_up() {
  rm -rf --one-file-system "$root"
}
trap clean_up EXIT

# Prints "$ command", then runs it.
run() {
  printf '\n\033[1m$ %s\033[0m\n' "plimsoll $*"
  "$plimsoll" --root "$root/state" "$@"
}
[ -t 1 ] || run() { printf '\n$ plimsoll %s\n' "$*"; "$plimsoll" --root "$root/state" "$@"; }

# Leftovers of the demo: processes and mounts carry its directory's name. Groups don't, so new groups
# below /plimsoll without a process count: others may run pods meanwhile.
groups() { tools/leftovers.sh '/plimsoll/' | grep '^cgroup ' || true; }
before=$(groups)
leftovers() {
  tools/leftovers.sh "$root" || true
  { groups | grep -vxF -- "$before" || true; } | while read -r kind group; do
    find "$group" -name cgroup.procs -exec cat {} + 2>/dev/null | grep -q . || echo "$kind $group"
  done
}

tools/example_image.sh "$root/busybox.tar"
run image import "$root/busybox.tar" --name "$image"

status=0
run run examples/hello.yaml --show-resources || status=$?

run image remove "$image" || status=$?
clean_up

echo
left=$(leftovers)
if [ -z "$left" ] && [ ! -e "$root" ]; then
  echo "demo: cleaned up: no process, mount, cgroup or file of it is left"
else
  printf 'demo: left behind:\n%s\n' "$left" >&2
  status=1
fi
if [ "$status" != 0 ]; then
  echo "demo: FAILED (exit code $status)" >&2
  exit "$status"
fi
echo "demo: the pod succeeded"
