#include "streaming/command_end.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll::streaming {
namespace {

// A size takes some 30 bytes.
constexpr size_t kMaxPending = 1024;

// The HTTP code and the reason of Kubernetes.
std::pair<int, const char*> CodeAndReason(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kNotFound:
      return {404, "NotFound"};
    case absl::StatusCode::kInvalidArgument:
      return {400, "BadRequest"};
    case absl::StatusCode::kFailedPrecondition:
      return {409, "Conflict"};
    case absl::StatusCode::kResourceExhausted:
      return {429, "TooManyRequests"};
    case absl::StatusCode::kUnavailable:
      return {503, "ServiceUnavailable"};
    case absl::StatusCode::kDeadlineExceeded:
      return {504, "Timeout"};
    default:
      return {500, "InternalError"};
  }
}

std::string ExitMessage(int code) {
  return absl::StrCat("command terminated with non-zero exit code: exit status ", code);
}

uint16_t SizeIn(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number_unsigned()) return 0;
  const uint64_t value = found->get<uint64_t>();
  return value > UINT16_MAX ? 0 : static_cast<uint16_t>(value);
}

std::optional<TerminalSize> ParseSize(absl::string_view text) {
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const TerminalSize size = {SizeIn(json, "Width"), SizeIn(json, "Height")};
  if (size.columns == 0 || size.rows == 0) return std::nullopt;
  return size;
}

}  // namespace

std::string EndAsJson(const absl::StatusOr<int>& exit_code) {
  nlohmann::json json;
  json["metadata"] = nlohmann::json::object();
  if (exit_code.ok() && *exit_code == 0) {
    json["status"] = "Success";
  } else if (exit_code.ok()) {
    json["status"] = "Failure";
    json["message"] = ExitMessage(*exit_code);
    json["reason"] = "NonZeroExitCode";
    nlohmann::json cause;
    cause["reason"] = "ExitCode";
    cause["message"] = absl::StrCat(*exit_code);
    json["details"]["causes"].push_back(std::move(cause));
  } else {
    const auto [code, reason] = CodeAndReason(exit_code.status().code());
    json["status"] = "Failure";
    json["message"] = std::string(exit_code.status().message());
    json["reason"] = reason;
    json["code"] = code;
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string EndAsText(const absl::StatusOr<int>& exit_code) {
  if (!exit_code.ok()) return std::string(exit_code.status().message());
  return *exit_code == 0 ? "" : ExitMessage(*exit_code);
}

std::optional<TerminalSize> TerminalSizes::Read(absl::string_view bytes) {
  std::optional<TerminalSize> last;
  // Only the last size counts, and it lies within the last kMaxPending bytes.
  absl::StrAppend(&pending_, bytes.substr(bytes.size() - std::min(bytes.size(), kMaxPending)));
  absl::string_view left = pending_;
  for (size_t end = left.find('}'); end != absl::string_view::npos; end = left.find('}')) {
    const absl::string_view object = left.substr(0, end + 1);
    const size_t begin = object.rfind('{');
    if (begin != absl::string_view::npos) {
      if (const auto size = ParseSize(object.substr(begin)); size.has_value()) last = size;
    }
    left.remove_prefix(end + 1);
  }
  pending_ = left.size() > kMaxPending ? std::string() : std::string(left);
  return last;
}

}  // namespace plimsoll::streaming
