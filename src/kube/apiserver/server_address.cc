#include "kube/apiserver/server_address.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/fs_root.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "base/text/printable.h"

namespace plimsoll::kube {
namespace {

constexpr size_t kMostNamespaceBytes = 256;

absl::Status BadUrl(absl::string_view url, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("server \"", Printable(url), "\": ", why,
                   "; right would be \"https://HOST:PORT\", as \"https://10.0.0.1:6443\""));
}

bool IsHost(absl::string_view host) {
  for (const char each : host) {
    const bool is_plain = absl::ascii_isalnum(static_cast<unsigned char>(each)) || each == '.' ||
                          each == '-' || each == '_' || each == ':';
    if (!is_plain) return false;
  }
  return !host.empty();
}

// A path that can stand in a request's first line, without a slash at its end.
bool IsPrefix(absl::string_view prefix) {
  for (const char each : prefix) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(each))) return false;
    if (each == '?' || each == '#') return false;
  }
  return true;
}

bool ReadPort(absl::string_view text, uint16_t& port) {
  uint32_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number == 0 || number > UINT16_MAX) return false;
  port = static_cast<uint16_t>(number);
  return true;
}

}  // namespace

absl::Status SetServerUrl(absl::string_view url, ApiServerAddress& address) {
  absl::string_view rest = url;
  if (absl::StrContains(url.substr(0, url.find('/', 8)), '@')) {
    return absl::InvalidArgumentError("server: a URL with a user's name is not supported");
  }
  if (absl::ConsumePrefix(&rest, "http://")) {
    return BadUrl(url, "the token would travel in the clear");
  }
  if (!absl::ConsumePrefix(&rest, "https://")) return BadUrl(url, "is no https URL");
  const size_t slash = std::min(rest.find('/'), rest.size());
  absl::string_view authority = rest.substr(0, slash);
  const absl::string_view prefix = absl::StripSuffix(rest.substr(slash), "/");
  if (!IsPrefix(prefix)) return BadUrl(url, "the path has characters that no path has");
  std::string host;
  if (absl::ConsumePrefix(&authority, "[")) {
    const size_t end = authority.find(']');
    if (end == absl::string_view::npos) return BadUrl(url, "has no \"]\"");
    host = std::string(authority.substr(0, end));
    authority.remove_prefix(end + 1);
  } else {
    const size_t colon = std::min(authority.find(':'), authority.size());
    host = std::string(authority.substr(0, colon));
    authority.remove_prefix(colon);
  }
  uint16_t port = 443;
  const bool has_port = absl::ConsumePrefix(&authority, ":");
  if (!IsHost(host) || (!has_port && !authority.empty())) return BadUrl(url, "the host is no name");
  if (has_port && !ReadPort(authority, port)) return BadUrl(url, "the port is none of 1 to 65535");
  address.host = std::move(host);
  address.port = port;
  address.prefix = std::string(prefix);
  return absl::OkStatus();
}

absl::StatusOr<ApiServerAddress> InClusterAddress(
    const std::function<const char*(const char*)>& environment, const std::string& directory) {
  const auto value = [&](const char* name) {
    const char* const text = environment(name);
    return std::string(text == nullptr ? "" : text);
  };
  ApiServerAddress address;
  address.host = value("KUBERNETES_SERVICE_HOST");
  const std::string port = value("KUBERNETES_SERVICE_PORT");
  if (address.host.empty() || port.empty()) {
    return absl::FailedPreconditionError(
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no pod with a "
        "service account");
  }
  if (!IsHost(address.host)) {
    return absl::InvalidArgumentError(
        absl::StrCat("KUBERNETES_SERVICE_HOST \"", Printable(address.host), "\" is no address"));
  }
  if (!ReadPort(port, address.port)) {
    return absl::InvalidArgumentError(absl::StrCat("KUBERNETES_SERVICE_PORT \"", Printable(port),
                                                   "\" is no port from 1 to 65535"));
  }
  address.token.file = absl::StrCat(directory, "/token");
  address.authorities.file = absl::StrCat(directory, "/ca.crt");
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  for (const std::string& file : {address.token.file, address.authorities.file}) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool is_there, host.Has(file));
    if (!is_there) {
      return absl::FailedPreconditionError(
          absl::StrCat("no ", file, ": the pod must mount its service account's token",
                       " (automountServiceAccountToken)"));
    }
  }
  const absl::StatusOr<std::string> space =
      ReadRegularFile(host, absl::StrCat(directory, "/namespace"), kMostNamespaceBytes);
  if (space.ok()) address.space = std::string(absl::StripAsciiWhitespace(*space));
  return address;
}

}  // namespace plimsoll::kube
