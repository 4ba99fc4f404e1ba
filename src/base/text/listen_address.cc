#include "base/text/listen_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/text/printable.h"

namespace plimsoll {
namespace {

constexpr size_t kMostPortDigits = 5;
constexpr int kMostPort = 65535;

bool IsIpAddress(absl::string_view host) {
  in6_addr buffer;
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    return inet_pton(AF_INET6, std::string(host.substr(1, host.size() - 2)).c_str(), &buffer) == 1;
  }
  return inet_pton(AF_INET, std::string(host).c_str(), &buffer) == 1;
}

// -1: it is none.
int PortOf(absl::string_view text) {
  // SimpleAtoi takes signs and spaces as well.
  const bool digits = std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
  int port = 0;
  if (!digits || text.size() > kMostPortDigits || !absl::SimpleAtoi(text, &port)) return -1;
  return port <= kMostPort ? port : -1;
}

}  // namespace

bool IsPort(absl::string_view text) {
  return PortOf(text) >= 0;
}

absl::Status CheckListenAddress(absl::string_view address, int least_port) {
  const size_t colon = address.rfind(':');
  if (colon != absl::string_view::npos && IsIpAddress(address.substr(0, colon)) &&
      PortOf(address.substr(colon + 1)) >= least_port) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", Printable(address), "\" must be an IP address and a port from ",
                   least_port, " to ", kMostPort, ", as 127.0.0.1:9464 or [::1]:9464"));
}

}  // namespace plimsoll
