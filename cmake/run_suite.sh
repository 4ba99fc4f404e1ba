#!/bin/sh
# Runs a GoogleTest program for CTest, with its output in LOG: run_suite.sh LOG PROGRAM
#
# test_result.sh reports failed tests. This fails if the program ended abnormally for another reason:
# by a crash, or by a sanitizer's finding at its end.
set -eu
log=$1
shift
mkdir -p "$(dirname "$log")"
status=0
"$@" --gtest_color=no >"$log" 2>&1 || status=$?
[ "$status" -eq 0 ] && exit 0
[ "$status" -eq 1 ] && grep -q '^\[  FAILED  \] .* ms)$' "$log" && exit 0
tail -n 100 "$log"
echo "$* ended with status $status; all it wrote is in $log"
exit 1
