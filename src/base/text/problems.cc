#include "base/text/problems.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace plimsoll {
namespace {

// Puts kFurtherProblems in the place of what follows the first kMostProblems lines.
void CutLines(std::string& lines) {
  size_t end = lines.find('\n');
  for (size_t i = 1; i < kMostProblems && end != std::string::npos; ++i) {
    end = lines.find('\n', end + 1);
  }
  if (end == std::string::npos) return;
  lines.resize(end + 1);
  lines += kFurtherProblems;
}

}  // namespace

absl::Status AlsoTell(const absl::Status& first, const absl::Status& second) {
  if (first.ok()) return second;
  if (second.ok()) return first;
  if (HasFurtherProblems(first)) return first;
  std::string lines = absl::StrCat(first.message(), "\n", second.message());
  CutLines(lines);
  absl::Status both(first.code(), lines);
  first.ForEachPayload([&both](absl::string_view type, const absl::Cord& payload) {
    both.SetPayload(type, payload);
  });
  return both;
}

bool HasFurtherProblems(const absl::Status& problems) {
  absl::string_view lines = problems.message();
  return absl::ConsumeSuffix(&lines, kFurtherProblems) && absl::EndsWith(lines, "\n");
}

}  // namespace plimsoll
