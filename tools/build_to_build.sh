#!/bin/bash
# Tests that pods outlive the change from another revision's daemon to this tree's, and back:
#
#   tools/build_to_build.sh [REVISION]     default: HEAD~1
#
# Builds the revision's daemon and its programs in build/revisions/<commit> (kept for the next time),
# this tree's in build/dev, and runs tests/build_to_build_test.cc with both.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(git rev-parse --short --verify "${1:-HEAD~1}^{commit}")
jobs=${JOBS:-$(nproc)}
other=$PWD/build/revisions/$commit

if [ ! -d "$other" ]; then
  mkdir -p "$other.partial"
  git archive "$commit" | tar -x -C "$other.partial"
  mv "$other.partial" "$other"
fi
(
  cd "$other"
  cmake --preset dev -DBUILD_TESTING=OFF >/dev/null
  targets=()
  for target in plimsolld plimsoll-monitor plimsoll-launch plimsoll-exec plimsoll-pause; do
    # An older revision may lack a program.
    if ninja -C build/dev -t query "$target" >/dev/null 2>&1; then targets+=("$target"); fi
  done
  ninja -C build/dev -j "$jobs" "${targets[@]}"
)
cmake --preset dev >/dev/null
ninja -C build/dev -j "$jobs" integration_test
echo "from $commit to this tree and back:"
PLIMSOLL_OTHER_BUILD=$other/build/dev/bin build/dev/bin/integration_test --gtest_filter=BuildToBuildTest.\*
