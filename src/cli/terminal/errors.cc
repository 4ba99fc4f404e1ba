#include "cli/terminal/errors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/text/printable.h"

namespace plimsoll::cli {
namespace {

constexpr char kUsagePayload[] = "plimsoll.dev/usage";

bool IsHex(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f');
}

// Cuts ids of pods and containers to the 12 digits that every command shows and takes. A digest has
// the same length and stays whole, because its reader needs all of it.
std::string WithShortIds(absl::string_view text) {
  constexpr size_t kId = 64;
  constexpr size_t kShown = 12;
  std::string out;
  while (!text.empty()) {
    const auto end = std::find_if_not(text.begin(), text.end(), IsHex);
    const auto run = static_cast<size_t>(end - text.begin());
    const bool is_id = run == kId && !absl::EndsWith(out, ":") && !absl::EndsWith(out, "/");
    absl::StrAppend(&out, text.substr(0, is_id ? kShown : run));
    text.remove_prefix(run);
    if (text.empty()) break;
    out.push_back(text.front());
    text.remove_prefix(1);
  }
  return out;
}

// Whether the disk of the daemon's database is full. Another file may be of a file system in a
// container.
bool IsFullDatabase(absl::string_view message) {
  return absl::StrContains(message, "database /") &&
         (absl::StrContains(message, std::strerror(ENOSPC)) ||
          absl::StrContains(message, std::strerror(EDQUOT)));
}

}  // namespace

absl::Status UsageError(absl::Status status) {
  if (!status.ok()) status.SetPayload(kUsagePayload, absl::Cord());
  return status;
}

bool IsUsageError(const absl::Status& status) {
  return status.GetPayload(kUsagePayload).has_value();
}

absl::Status AnnotateOnce(const absl::Status& status, absl::string_view verb,
                          absl::string_view object) {
  if (absl::StartsWith(status.message(), absl::StrCat(verb, " "))) return status;
  return Annotate(status, absl::StrCat(verb, " ", object));
}

std::string HintOf(const absl::Status& status) {
  if (auto hint = pod::AttachedHint(status)) return *std::move(hint);
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return "Is the daemon still running? See `plimsoll daemon status`.";
    case absl::StatusCode::kPermissionDenied:
      return "Plimsoll needs root, or membership in the group of the daemon's socket.";
    case absl::StatusCode::kUnimplemented:
      return "The daemon may be older than this program: compare `plimsoll version`.";
    case absl::StatusCode::kResourceExhausted:
      return IsFullDatabase(status.message())
                 ? "The disk is full. `plimsoll prune` removes ended pods and unused images."
                 : "";
    case absl::StatusCode::kDeadlineExceeded:
      return "The daemon took too long; its log has the cause of the wait.";
    default:
      return "";
  }
}

// A message may have several lines, and text of an image's or of a registry's in them.
std::string FormatError(const absl::Status& status) {
  std::string text = absl::StrCat("plimsoll: ", WithShortIds(status.message()), "\n");
  const std::string hint = HintOf(status);
  if (!hint.empty()) absl::StrAppend(&text, "  ", hint, "\n");
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  return absl::StrJoin(lines, "\n", [](std::string* out, absl::string_view line) {
    absl::StrAppend(out, Printable(line));
  });
}

}  // namespace plimsoll::cli
