#include "pod_runner/cri_requests/host.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/random_id.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::pod {
namespace {

// The address that the kernel would send from; empty: there is no route.
std::string SourceAddress(int family, const char* remote) {
  struct addrinfo hints = {};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICHOST;
  struct addrinfo* found = nullptr;
  if (getaddrinfo(remote, "9", &hints, &found) != 0) return "";
  const absl::Cleanup release = [found] { freeaddrinfo(found); };
  const UniqueFd socket(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  struct sockaddr_storage own = {};
  socklen_t size = sizeof(own);
  char text[INET6_ADDRSTRLEN] = "";
  auto* const address = reinterpret_cast<struct sockaddr*>(&own);
  if (socket.get() < 0 || connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      getsockname(socket.get(), address, &size) != 0 ||
      getnameinfo(address, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "";
  }
  return text;
}

}  // namespace

absl::StatusOr<int64_t> MemoryCapacityBytes(const FsRoot& root) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, root.Read("proc/meminfo"));
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    int64_t kib = 0;
    if (absl::ConsumePrefix(&line, "MemTotal:") && absl::ConsumeSuffix(&line, " kB") &&
        absl::SimpleAtoi(line, &kib)) {
      return kib * 1024;
    }
  }
  return absl::InternalError(absl::StrCat(root.PathOf("proc/meminfo"), ": no MemTotal line"));
}

ResolvConf ParseResolvConf(absl::string_view text) {
  ResolvConf conf;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.size() < 2) continue;
    const std::vector<std::string> values(words.begin() + 1, words.end());
    if (words[0] == "nameserver") conf.servers.push_back(values[0]);
    if (words[0] == "search" || words[0] == "domain") conf.searches = values;
    if (words[0] == "options") {
      conf.options.insert(conf.options.end(), values.begin(), values.end());
    }
  }
  return conf;
}

std::string HostName() {
  struct utsname names = {};
  return uname(&names) == 0 ? names.nodename : "";
}

std::vector<std::string> HostIps() {
  std::vector<std::string> ips;
  // Addresses of documentation (RFC 5737, RFC 3849): no packet is sent.
  for (const auto& [family, remote] :
       {std::pair(AF_INET, "192.0.2.1"), std::pair(AF_INET6, "2001:db8::1")}) {
    std::string ip = SourceAddress(family, remote);
    if (!ip.empty()) ips.push_back(std::move(ip));
  }
  if (ips.empty()) ips.emplace_back("127.0.0.1");
  return ips;
}

std::string RandomUid() {
  std::string hex = RandomId().substr(0, 32);
  hex[12] = '4';
  hex[16] = "89ab"[static_cast<size_t>(hex[16]) % 4];
  return absl::StrCat(hex.substr(0, 8), "-", hex.substr(8, 4), "-", hex.substr(12, 4), "-",
                      hex.substr(16, 4), "-", hex.substr(20));
}

}  // namespace plimsoll::pod
