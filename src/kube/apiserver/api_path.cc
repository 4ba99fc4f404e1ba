#include "kube/apiserver/api_path.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace plimsoll::kube {

std::string EscapedForUrl(absl::string_view text) {
  constexpr absl::string_view kUnreserved = "-._~";  // RFC 3986 section 2.3
  std::string escaped;
  for (const char each : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(each)) ||
        absl::StrContains(kUnreserved, each)) {
      escaped += each;
    } else {
      absl::StrAppendFormat(&escaped, "%%%02X", static_cast<unsigned char>(each));
    }
  }
  return escaped;
}

std::string ApiPathWith(absl::string_view path,
                        const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::string result(path);
  char separator = absl::StrContains(path, '?') ? '&' : '?';
  for (const auto& [name, value] : parameters) {
    if (value.empty()) continue;
    absl::StrAppend(&result, std::string(1, separator), name, "=", EscapedForUrl(value));
    separator = '&';
  }
  return result;
}

}  // namespace plimsoll::kube
