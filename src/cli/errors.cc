#include "cli/errors.h"

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::cli {
namespace {

constexpr char kHintPayload[] = "plimsoll.dev/hint";
constexpr char kUsagePayload[] = "plimsoll.dev/usage";

}  // namespace

absl::Status WithHint(absl::Status status, absl::string_view hint) {
  if (!status.ok() && !status.GetPayload(kHintPayload)) {
    status.SetPayload(kHintPayload, absl::Cord(hint));
  }
  return status;
}

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
  if (const auto hint = status.GetPayload(kHintPayload)) return std::string(*hint);
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return "Is the daemon still running? See `plimsoll daemon status`.";
    case absl::StatusCode::kPermissionDenied:
      return "Plimsoll needs root, or membership in the group of the daemon's socket.";
    case absl::StatusCode::kUnimplemented:
      return "The daemon may be older than this program: compare `plimsoll version`.";
    case absl::StatusCode::kDeadlineExceeded:
      return "The daemon took too long; its log says what it was waiting for.";
    default:
      return "";
  }
}

std::string FormatError(const absl::Status& status) {
  std::string text = absl::StrCat("plimsoll: ", status.message(), "\n");
  const std::string hint = HintOf(status);
  if (!hint.empty()) absl::StrAppend(&text, "  ", hint, "\n");
  return text;
}

}  // namespace plimsoll::cli
