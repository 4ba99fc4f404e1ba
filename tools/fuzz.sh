#!/bin/bash
# Runs built fuzzers (preset fuzz): tools/fuzz.sh SECONDS [fuzzer]...
#
# Each runs for SECONDS, $JOBS at a time; without names all run. Inputs that reached new code are kept
# in build/fuzz/corpus. Exits with 1 if a fuzzer crashed, hung (10 s for one input), leaked or took
# more than 2 GiB; the input is then in build/fuzz/findings.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: tools/fuzz.sh SECONDS [fuzzer]...}
shift
case $seconds in
  '' | *[!0-9]* | 0) echo "fuzz: SECONDS must be a whole number above 0, found '$seconds'" >&2; exit 2 ;;
esac
build=build/fuzz
fuzzers=("$@")
if [ ${#fuzzers[@]} -eq 0 ]; then
  for program in "$build"/bin/fuzz_*; do
    name=${program##*/}
    fuzzers+=("${name#fuzz_}")
  done
fi
mkdir -p "$build/findings" "$build/logs"

run_one() {
  local build=$1 seconds=$2 name=$3
  local program=$build/bin/fuzz_$name log=$build/logs/$name
  if [ ! -x "$program" ]; then
    echo "fuzz: no fuzzer '$name' in $build/bin (make fuzz builds them)"
    return 1
  fi
  mkdir -p "$build/corpus/$name"
  if ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
    "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -use_value_profile=1 \
    -print_final_stats=1 -artifact_prefix="$build/findings/$name-" \
    "$build/corpus/$name" "fuzz/corpus/$name" >"$log" 2>&1; then
    local inputs features
    inputs=$(sed -n 's/^stat::number_of_executed_units: //p' "$log")
    features=$(grep -oE ' ft: [0-9]+' "$log" | tail -1 | grep -oE '[0-9]+' || true)
    printf 'fuzz: %-16s clean, %s inputs, %s features\n' "$name" "$inputs" "$features"
    return 0
  fi
  printf 'fuzz: %-16s FOUND SOMETHING; whole log: %s\n' "$name" "$log"
  grep -E -m 12 'does not hold|ERROR: |SUMMARY: |runtime error|^ +#[0-9]+ .* in plimsoll' "$log" || tail -n 5 "$log"
  # The command to run it again.
  local input
  input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
  [ -z "$input" ] || printf '  again: %s %s\n' "$program" "$input"
  return 1
}
export -f run_one

printf '%s\n' "${fuzzers[@]}" |
  xargs -n 1 -P "${JOBS:-$(nproc)}" bash -c 'run_one "$@"' run_one "$build" "$seconds" ||
  { echo "fuzz: FAILED"; exit 1; }
