#include "kube/apiserver/api_error.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/text/printable.h"
#include "kube/apiserver/json_frames.h"

namespace plimsoll::kube {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostMessageBytes = 1000;
constexpr size_t kMostHostBytes = 253;
// Nobody waits longer; a number of more digits is no number.
constexpr int64_t kMostRetrySeconds = 86'400;

std::string TextAt(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

absl::StatusCode CodeOf(absl::string_view method, int code, const std::string& reason) {
  switch (code) {
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    case 409:
      // A POST to a subresource may conflict as well.
      return reason == "AlreadyExists" || (reason.empty() && method == "POST")
                 ? absl::StatusCode::kAlreadyExists
                 : absl::StatusCode::kAborted;
    case 410:
      return absl::StatusCode::kOutOfRange;
    case 429:
      return absl::StatusCode::kResourceExhausted;
    default:
      return code >= 400 && code < 500 ? absl::StatusCode::kInvalidArgument
                                       : absl::StatusCode::kUnavailable;
  }
}

absl::Status ErrorOf(absl::string_view method, int code, const std::string& reason,
                     absl::string_view message) {
  std::string words = Printable(message.substr(0, kMostMessageBytes));
  if (words.empty()) words = "the server gave no reason";
  return absl::Status(CodeOf(method, code, reason),
                      absl::StrCat(words, " (HTTP code ", code, reason.empty() ? "" : ", ",
                                   Printable(reason.substr(0, 100)), ")"));
}

}  // namespace

absl::Status ErrorOfStatus(absl::string_view method, const Json& object) {
  int code = 500;
  if (object.is_object()) {
    const auto at = object.find("code");
    if (at != object.end() && at->is_number_integer()) {
      // An error, whatever the server calls it.
      const auto told = at->get<int64_t>();
      if (told >= 400 && told < 600) code = static_cast<int>(told);
    }
    return ErrorOf(method, code, TextAt(object, "reason"), TextAt(object, "message"));
  }
  return ErrorOf(method, code, "", "");
}

absl::Status ErrorOfAnswer(absl::string_view method, int code, absl::string_view body) {
  const absl::StatusOr<Json> object = ParseObject(body, {.bytes = 1024 * 1024, .values = 10'000});
  if (object.ok() && TextAt(*object, "kind") == "Status") {
    return ErrorOf(method, code, TextAt(*object, "reason"), TextAt(*object, "message"));
  }
  return ErrorOf(method, code, "", absl::StripAsciiWhitespace(body));
}

absl::Status ErrorOfRedirect(int code, absl::string_view location) {
  const size_t scheme = location.find("//");
  absl::string_view host = scheme == absl::string_view::npos ? "" : location.substr(scheme + 2);
  host = host.substr(0, host.find_first_of("/?#"));
  // Without a user and password.
  host = host.substr(std::min(host.size(), host.rfind('@') + 1));
  return absl::UnavailableError(absl::StrCat(
      "the server redirects to ",
      host.empty() ? "another path"
                   : absl::StrCat("\"", Printable(host.substr(0, kMostHostBytes)), "\""),
      ", and redirects are not followed (HTTP code ", code,
      "): name the API server's own address, not a proxy's or a login page's"));
}

std::optional<absl::Duration> RetryAfter(absl::string_view field, absl::Time now) {
  field = absl::StripAsciiWhitespace(field);
  int64_t seconds = 0;
  if (absl::SimpleAtoi(field, &seconds)) {
    if (seconds < 0) return std::nullopt;
    return absl::Seconds(std::min(seconds, kMostRetrySeconds));
  }
  absl::Time date;
  std::string ignored;
  // RFC 9110 section 5.6.7.
  if (!absl::ParseTime("%a, %d %b %E4Y %H:%M:%S GMT", field, &date, &ignored)) return std::nullopt;
  return std::clamp(date - now, absl::ZeroDuration(), absl::Seconds(kMostRetrySeconds));
}

}  // namespace plimsoll::kube
