#include "cli/errors.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::cli {
namespace {

constexpr char kHintPayload[] = "plimsoll.dev/hint";

}  // namespace

absl::Status WithHint(absl::Status status, absl::string_view hint) {
  if (!status.ok() && !status.GetPayload(kHintPayload)) {
    status.SetPayload(kHintPayload, absl::Cord(hint));
  }
  return status;
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
