#!/bin/sh
# Compares the shared libraries that programs need (readelf -d) with the list of those they may need,
# packaging/shared-libraries:
#
#   tools/check_linking.sh [--and PATTERN] LIST PROGRAM...
#
# Fails for a library that isn't listed for a program, and for a program that isn't listed. A listed
# library that isn't needed is no fault: the linker leaves out unused ones. --and: an extended regular
# expression of further libraries.
set -eu

also=
if [ "$1" = --and ]; then
  also=$2
  shift 2
fi
list=$1
shift

failed=0
fail() {
  echo "check_linking: $1" >&2
  failed=1
}
for program; do
  name=${program##*/}
  listed=$(sed -n 's/#.*//; s/^\([^:]*\):\(.*\)$/ \1 :\2/p' "$list" | grep -F " $name " | head -n 1)
  if [ -z "$listed" ]; then
    fail "$name has no line in $list"
    continue
  fi
  if ! dynamic=$(LC_ALL=C readelf -d "$program"); then
    fail "readelf can't read $program"
    continue
  fi
  for library in $(echo "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p'); do
    case "${listed#*:} " in
      *" $library "*) continue ;;
    esac
    case $library in
      ld-linux*) continue ;;  # the loader
    esac
    if [ -n "$also" ] && echo "$library" | grep -Eqx -- "$also"; then continue; fi
    fail "$name needs $library, which $list doesn't list for it"
  done
done
exit "$failed"
