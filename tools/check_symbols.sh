#!/bin/sh
# Compares the versions of symbols that programs and libraries need (readelf -V) with the newest that they may
# need, packaging/symbol-versions:
#
#   tools/check_symbols.sh LIST FILE...
#
# Fails for a newer version, and for one of a library that isn't listed. GLIBC_ABI_DT_RELR, which glibc 2.36
# brought, is such a one.
set -eu

list=$1
shift
failed=0
fail() {
  echo "check_symbols: $1" >&2
  failed=1
}
# older A B: A is B or older.
older() {
  [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

for file; do
  if ! versions=$(LC_ALL=C readelf -V "$file"); then
    fail "readelf can't read $file"
    continue
  fi
  for needed in $(echo "$versions" | sed -n '/^Version needs section/,/^$/s/.* Name: \([^ ]*\) .*/\1/p' | sort -u); do
    newest=$(sed 's/#.*//' "$list" | grep -x "${needed%_*}_[0-9.]*" || true)
    if [ -z "$newest" ]; then
      fail "${file##*/} needs $needed, of which $list lists no version"
    elif ! older "${needed##*_}" "${newest##*_}"; then
      fail "${file##*/} needs $needed, and $newest is the newest allowed"
    fi
  done
done
exit "$failed"
