#!/bin/bash
# What `make demo` shows, after the release build: an image made on the spot, a pod run from a
# manifest, the limits that were asked for beside those the kernel holds, and nothing left behind.
# Exit code 0 only if the pod succeeded and everything is gone again.
set -euo pipefail
cd "$(dirname "$0")/.."
plimsoll=${PLIMSOLL:-build/release/bin/plimsoll}
image=plimsoll.dev/examples/busybox
[ -x "$plimsoll" ] || { echo "demo: there is no $plimsoll; run make demo" >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo "demo: running containers needs root" >&2; exit 1; }

# A state directory of its own: nothing that is on this machine already is touched.
root=$(mktemp -d /tmp/plimsoll-demo-XXXXXX)
clean_up() {
  rm -rf --one-file-system "$root"
}
trap clean_up EXIT

# $ command, then the command.
run() {
  printf '\n\033[1m$ %s\033[0m\n' "plimsoll $*"
  "$plimsoll" --root "$root/state" "$@"
}
[ -t 1 ] || run() { printf '\n$ plimsoll %s\n' "$*"; "$plimsoll" --root "$root/state" "$@"; }

# What of the demo's is there: processes and mounts carry the name of its directory. Groups do not,
# so those count that are new below /plimsoll and without a process: others may run pods meanwhile.
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
