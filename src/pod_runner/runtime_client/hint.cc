#include "pod_runner/runtime_client/hint.h"

#include "absl/strings/cord.h"

namespace plimsoll::pod {
namespace {

constexpr char kHintPayload[] = "plimsoll.dev/hint";

}  // namespace

absl::Status WithHint(absl::Status status, absl::string_view hint) {
  if (!status.ok() && !status.GetPayload(kHintPayload)) {
    status.SetPayload(kHintPayload, absl::Cord(hint));
  }
  return status;
}

std::optional<std::string> AttachedHint(const absl::Status& status) {
  const auto hint = status.GetPayload(kHintPayload);
  if (!hint) return std::nullopt;
  return std::string(*hint);
}

}  // namespace plimsoll::pod
