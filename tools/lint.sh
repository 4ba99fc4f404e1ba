#!/bin/bash
# make lint and its kin: tools/lint.sh changed | all | format
#
#   changed  C++ files that differ from the commit LINT_BASE, committed or not. By default the commit
#            is this branch's fork from origin/main, or the last commit's parent on main itself.
#            Without such a commit (a shallow clone) it means every file.
#   all      every C++ file
#   format   rewrites every C++ file with clang-format
#
# clang-tidy sees a header through the .cc files that include it. It also gives clang's own warnings,
# such as those about locks, which g++ doesn't know and the preset clang treats as errors.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:?usage: tools/lint.sh changed|all|format}
jobs=${JOBS:-$(nproc)}
preset=dev
roots=(src tests bench fuzz examples)

lint_base() {
  if [ -n "${LINT_BASE:-}" ]; then
    git rev-parse --verify --quiet "$LINT_BASE^{commit}" ||
      { echo "lint: LINT_BASE=$LINT_BASE is no commit here" >&2; exit 2; }
    return
  fi
  local head base
  head=$(git rev-parse --verify --quiet HEAD) || return 0
  base=$(git merge-base HEAD origin/main 2>/dev/null || true)
  if [ -z "$base" ] || [ "$base" = "$head" ]; then
    base=$(git rev-parse --verify --quiet HEAD~1 || true)
  fi
  echo "$base"
}

every_file() { find "${roots[@]}" -type f \( -name '*.cc' -o -name '*.h' \) | sort; }

base=
if [ "$mode" = changed ]; then
  base=$(lint_base)
fi
if [ "$mode" = changed ] && [ -n "$base" ]; then
  files=$({ git diff --name-only --diff-filter=d "$base" -- "${roots[@]}"
            git ls-files --others --exclude-standard -- "${roots[@]}"; } |
          grep -E '\.(cc|h)$' | sort -u || true)
  echo "lint: what changed since $(git rev-parse --short "$base")"
else
  files=$(every_file)
  echo "lint: everything"
fi
count=$(printf '%s' "$files" | grep -c . || true)

if [ "$mode" = format ]; then
  printf '%s\n' "$files" | xargs -r clang-format -i
  echo "lint: formatted $count files"
  exit
fi

failed=()
echo "lint: figures"
tools/figures --check || failed+=("figures")
echo "lint: rooms"
tools/check_rooms src/ROOMS docs/architecture.md || failed+=("rooms")
echo "lint: words"
tools/check_words || failed+=("words")
if [ "$count" -gt 0 ]; then
  echo "lint: clang-format, $count files"
  printf '%s\n' "$files" | xargs -n 20 -P "$jobs" clang-format --dry-run -Werror ||
    failed+=("clang-format (make format puts it right)")

  # Generated headers must exist, or clang-tidy can't parse the files that include them.
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" -j "$jobs" --target plimsoll_api_generated >/dev/null
  sources=$(printf '%s\n' "$files" | grep '\.cc$' || true)
  # A changed header is checked through one .cc file: its own, else its test, else any other.
  for header in $(printf '%s\n' "$files" | grep '\.h$' || true); do
    stem=${header%.h}
    for source in "$stem.cc" "${stem}_test.cc" \
                  "$(grep -lF "\"${header#src/}\"" -r "${roots[@]}" --include='*.cc' | head -1)"; do
      if [ -n "$source" ] && [ -f "$source" ]; then
        sources+=$'\n'$source
        break
      fi
    done
  done
  sources=$(printf '%s\n' "$sources" | grep . | sort -u || true)
  count=$(printf '%s' "$sources" | grep -c . || true)
  if [ "$count" -gt 0 ]; then
    echo "lint: clang-tidy, $count files, $jobs at a time"
    printf '%s\n' "$sources" |
      xargs -n 1 -P "$jobs" clang-tidy -p "build/$preset" --quiet --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wthread-safety \
        2> >(grep -vE '^[0-9]+ warnings?( and [0-9]+ errors?)? (generated|treated as errors?)|^Suppressed|^Use -header' >&2) ||
      failed+=("clang-tidy")
  fi
fi

if [ ${#failed[@]} -gt 0 ]; then
  printf 'lint: FAILED: %s\n' "${failed[@]}"
  exit 1
fi
echo "lint: clean"
