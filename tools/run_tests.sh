#!/bin/bash
# Runs a preset's tests: tools/run_tests.sh PRESET [ctest argument]...
#
# CTest's own output, with two additions before its summary, the reason of each skipped test and each
# suite's (label's) time beside its budget, and the last lines of each failed test after it.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?usage: tools/run_tests.sh PRESET [ctest argument]...}
shift
log=build/$preset/Testing/Temporary/LastTest.log
summary=$(mktemp)
trap 'rm -f "$summary"' EXIT

status=0
ctest --preset "$preset" --no-tests=error "$@" |
  awk -v summary="$summary" '
    /tests passed, [0-9]+ tests? failed/ { held = 1 }
    held { print > summary; next }
    # One line for each test, short enough to fit.
    /^ +Start +[0-9]+: / { next }
    / Test +#[0-9]+: / { sub(/ \.\.\.+ */, " ... ") }
    { print; fflush() }' || status=$?

skipped=$(awk '
  /^[0-9]+\/[0-9]+ Test: / { name = $0; sub(/^[^:]*: /, "", name) }
  take && /^\[  SKIPPED \]/ { take = 0 }
  take && NF { sub(/^[ \t]+/, ""); reason = reason " " $0 }
  / Skipped$/ && /: Skipped$/ { take = 1; reason = "" }
  /^\[  SKIPPED \].* ms\)/ { printf "  %s:%s\n", name, reason; reason = "" }' "$log" 2>/dev/null || true)
if [ -n "$skipped" ]; then
  printf '\nSkipped, and why:\n%s\n' "$skipped"
fi

awk '
  FNR == NR { if ($0 !~ /^#/ && NF == 2) budget[$1] = $2; next }
  / sec\*proc / {
    label = $1; seconds = $3
    if (!(label in budget)) next
    if (!said++) print "\nTime budgets (tests/budgets):"
    printf "  %-12s %7.1f s of %d s%s\n", label, seconds, budget[label], \
      (seconds > budget[label] ? "   OVER BUDGET" : "")
  }' tests/budgets "$summary"

# The tests of a suite that broke off were not run: only their number is of use.
awk '
  /\(Not Run\)$/ { ++left; next }
  { print }
  END { if (left) printf "\t%d more were not run\n", left }' "$summary"
sed -n -E 's/^\t *[0-9]+ - (.*) \((Failed|Timeout|SEGFAULT|ILLEGAL|NUMERICAL|OTHER_FAULT|Subprocess .*)\)$/\1/p' \
  "$summary" | while read -r name; do
  printf '\n%s: its last lines\n' "$name"
  awk -v name="$name" '
    /^[0-9]+\/[0-9]+ Test: / { take = substr($0, index($0, " Test: ") + 7) == name }
    take && /^<end of output>/ { take = 0 }
    take' "$log" | tail -n 25
done
exit "$status"
