#!/bin/sh
# Reports the result of one test of a GoogleTest program to CTest: test_result.sh LOG TEST
#
# Prints the test's output, from its RUN line to its end. Exits with 0 if it passed or was skipped
# (CTest recognizes the line SKIPPED), with 1 if it failed, did not end or was not run.
set -eu
[ -r "$1" ] || { echo "not run: there is no $1"; exit 1; }
awk -v test="$2" '
  $0 == "[ RUN      ] " test { inside = 1; begun = 1 }
  inside { print }
  inside && /^\[( +OK| +FAILED| +SKIPPED) +\] / &&
      (index($0, "] " test " (") || index($0, "] " test ", where ")) {
    ended = 1
    failed = /FAILED/
    exit
  }
  inside && /^suite_job: / { exit }
  END {
    if (!begun) print "not run: its program did not come to it (or was left out by a filter)"
    else if (!ended) print "did not end"
    exit !begun || !ended || failed
  }' "$1"
