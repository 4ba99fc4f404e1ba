#include "dial/redirect.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace plimsoll::dial {
namespace {

// The authority of a URL: "user@host:80", "[fd00::1]:80". False: malformed.
bool ReadAuthority(absl::string_view text, std::string& host, uint16_t& port) {
  if (const size_t at = text.rfind('@'); at != absl::string_view::npos) text.remove_prefix(at + 1);
  absl::string_view rest;
  if (absl::ConsumePrefix(&text, "[")) {
    const size_t end = text.find(']');
    if (end == absl::string_view::npos) return false;
    host = std::string(text.substr(0, end));
    rest = text.substr(end + 1);
  } else {
    const size_t colon = std::min(text.find(':'), text.size());
    host = std::string(text.substr(0, colon));
    rest = text.substr(colon);
  }
  if (host.empty()) return false;
  if (!absl::ConsumePrefix(&rest, ":") || rest.empty()) return rest.empty();
  uint32_t number = 0;
  if (!absl::SimpleAtoi(rest, &number) || number == 0 || number > UINT16_MAX) return false;
  port = static_cast<uint16_t>(number);
  return true;
}

bool ConsumeScheme(absl::string_view& location, absl::string_view scheme) {
  if (!absl::StartsWithIgnoreCase(location, scheme)) return false;
  location.remove_prefix(scheme.size());
  return true;
}

// The path that a relative reference leads to from `base`.
std::string Join(absl::string_view base, absl::string_view reference) {
  const absl::string_view path = base.substr(0, base.find('?'));
  if (reference.empty()) return std::string(base);
  if (reference[0] == '/') return std::string(reference);
  if (reference[0] == '?') return absl::StrCat(path, reference);
  return absl::StrCat(path.substr(0, path.rfind('/') + 1), reference);
}

}  // namespace

bool Redirect(absl::string_view location, HttpGetRequest& request) {
  location = location.substr(0, location.find('#'));
  bool tls = request.tls;
  bool is_absolute = true;
  if (ConsumeScheme(location, "https://")) {
    tls = true;
  } else if (ConsumeScheme(location, "http://")) {
    tls = false;
  } else if (!absl::ConsumePrefix(&location, "//")) {
    is_absolute = false;
  }
  if (!is_absolute) {
    // "mailto:a" and "ftp://a" have a colon before any slash.
    const size_t colon = location.find(':');
    if (colon != absl::string_view::npos && colon < location.find_first_of("/?")) return false;
    request.path = Join(request.path, location);
    return true;
  }
  const size_t end = std::min(location.find_first_of("/?"), location.size());
  std::string host;
  uint16_t port = tls ? 443 : 80;
  if (!ReadAuthority(location.substr(0, end), host, port)) return false;
  if (!absl::EqualsIgnoreCase(host, request.host)) return false;
  request.tls = tls;
  request.port = port;
  request.path = Join("/", location.substr(end));
  return true;
}

}  // namespace plimsoll::dial
