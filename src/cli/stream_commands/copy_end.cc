#include "cli/stream_commands/copy_end.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/terminal/errors.h"

namespace plimsoll::cli {
namespace {

absl::Status Refuse(absl::string_view why, absl::string_view hint) {
  return UsageError(WithHint(absl::InvalidArgumentError(why), hint));
}

}  // namespace

CopyEnd ParseCopyEnd(absl::string_view text) {
  const size_t colon = text.find(':');
  if (colon == absl::string_view::npos || colon == 0 || absl::StartsWith(text, "/") ||
      absl::StartsWith(text, ".")) {
    return {.container = "", .path = std::string(text)};
  }
  return {.container = std::string(text.substr(0, colon)),
          .path = std::string(text.substr(colon + 1))};
}

absl::StatusOr<CopyEnds> ParseCopyEnds(absl::string_view from, absl::string_view to) {
  CopyEnds ends = {.from = ParseCopyEnd(from), .to = ParseCopyEnd(to)};
  if (!ends.from.container.empty() && !ends.to.container.empty()) {
    return Refuse("cp: both are a container's; valid is one of them",
                  "From one container to another: `plimsoll cp A:PATH - | plimsoll cp - B:DIR`. A "
                  "file here that has a colon in its name: ./NAME.");
  }
  if (ends.from.container.empty() && ends.to.container.empty()) {
    return Refuse("cp: neither is a container's",
                  "A container's path is written CONTAINER:PATH, as in `plimsoll cp web:/etc/hosts "
                  ".`.");
  }
  if (ends.from.path.empty() || ends.to.path.empty()) {
    return Refuse("cp: a path is empty", absl::StrCat("The root directory of the container is ",
                                                      ends.inside().container, ":/"));
  }
  return ends;
}

}  // namespace plimsoll::cli
