#include "agent/http/status_object.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;

struct Meaning {
  absl::StatusCode status;
  int code;
  const char* reason;
};

// The first of several lines with one HTTP code is for a reason that is not listed.
constexpr Meaning kMeanings[] = {
    {absl::StatusCode::kInvalidArgument, 400, "BadRequest"},
    {absl::StatusCode::kOutOfRange, 400, "OutOfRange"},
    {absl::StatusCode::kInvalidArgument, 413, "RequestEntityTooLarge"},
    {absl::StatusCode::kInvalidArgument, 422, "Invalid"},
    {absl::StatusCode::kInvalidArgument, 431, "RequestHeaderTooLarge"},
    {absl::StatusCode::kUnauthenticated, 401, "Unauthorized"},
    {absl::StatusCode::kPermissionDenied, 403, "Forbidden"},
    {absl::StatusCode::kNotFound, 404, "NotFound"},
    {absl::StatusCode::kFailedPrecondition, 409, "Conflict"},
    {absl::StatusCode::kAlreadyExists, 409, "AlreadyExists"},
    {absl::StatusCode::kAborted, 409, "Aborted"},
    {absl::StatusCode::kResourceExhausted, 429, "TooManyRequests"},
    {absl::StatusCode::kCancelled, 499, "Cancelled"},
    {absl::StatusCode::kInternal, 500, "InternalError"},
    {absl::StatusCode::kDataLoss, 500, "DataLoss"},
    {absl::StatusCode::kUnknown, 500, "Unknown"},
    {absl::StatusCode::kUnimplemented, 501, "NotImplemented"},
    {absl::StatusCode::kUnimplemented, 405, "MethodNotAllowed"},
    {absl::StatusCode::kUnavailable, 503, "ServiceUnavailable"},
    {absl::StatusCode::kDeadlineExceeded, 504, "Timeout"},
    {absl::StatusCode::kDeadlineExceeded, 408, "RequestTimeout"},
};

absl::StatusCode CodeOf(int code, const std::string& reason) {
  for (const Meaning& each : kMeanings) {
    if (each.code == code && each.reason == reason) return each.status;
  }
  for (const Meaning& each : kMeanings) {
    if (each.code == code) return each.status;
  }
  return code >= 500 ? absl::StatusCode::kInternal : absl::StatusCode::kUnknown;
}

std::string TextAt(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

}  // namespace

ApiError ApiErrorOf(const absl::Status& status) {
  for (const Meaning& each : kMeanings) {
    if (each.status == status.code()) {
      return {each.code, each.reason, std::string(status.message())};
    }
  }
  return {500, "InternalError", std::string(status.message())};
}

Json StatusObject(const ApiError& error) {
  return {{"kind", "Status"},    {"apiVersion", "v1"},       {"metadata", Json::object()},
          {"status", "Failure"}, {"message", error.message}, {"reason", error.reason},
          {"code", error.code}};
}

absl::Status StatusOfResponse(int code, absl::string_view body) {
  const Json object = Json::parse(body.begin(), body.end(), nullptr, /*allow_exceptions=*/false);
  if (object.is_object() && TextAt(object, "kind") == "Status") {
    return absl::Status(CodeOf(code, TextAt(object, "reason")), TextAt(object, "message"));
  }
  constexpr size_t kShown = 300;
  const absl::string_view text = absl::StripTrailingAsciiWhitespace(body.substr(0, kShown));
  return absl::Status(
      CodeOf(code, ""),
      text.empty() ? absl::StrCat("the agent answered with HTTP code ", code) : std::string(text));
}

}  // namespace plimsoll::agent
