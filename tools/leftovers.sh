#!/bin/bash
# Lists Plimsoll's processes, mounts and cgroups on this machine. Changes nothing.
#
#   tools/leftovers.sh [PATTERN]     default: plimsoll
#
# Prints a line for each, and exits with 1 if there are any, else with 0. PATTERN is an extended
# regular expression that narrows the search, e.g. the name of a state directory.
set -euo pipefail
pattern=${1:-plimsoll}
found=$(mktemp)
trap 'rm -f "$found"' EXIT

# Processes by their program's name and, with a PATTERN, by arguments, group and open files: a
# monitor's only argument is its container's id.
for directory in /proc/[0-9]*; do
  pid=${directory#/proc/}
  [ "$pid" != "$$" ] || continue
  command=$(tr '\0' ' ' 2>/dev/null <"$directory/cmdline" || true)
  program=${command%% *}
  case ${program##*/} in
    plimsoll | plimsolld | plimsoll-launch | plimsoll-exec | plimsoll-monitor | plimsoll-pause | crun | exe | skopeo)
      held=$(cat "$directory/cgroup" 2>/dev/null; readlink "$directory"/fd/* 2>/dev/null || true)
      if grep -qE "$pattern" <<<"$command"$'\n'"$held"; then
        echo "process $pid: ${command:0:160}" >>"$found"
      fi ;;
  esac
done

# Searches the whole line: a mount's source may carry the name too (an overlay's layers).
while read -r _ _ _ _ point rest; do
  if printf '%s %s' "$point" "$rest" | grep -qE "$pattern"; then
    echo "mount $point" >>"$found"
  fi
done </proc/self/mountinfo

while read -r group; do
  echo "cgroup $group" >>"$found"
done < <(find /sys/fs/cgroup -mindepth 1 -type d 2>/dev/null | grep -E "$pattern" || true)

cat "$found"
[ ! -s "$found" ]
