#include "agent/node/machine_facts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/utsname.h>

#include <map>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "topology/machine/identity.h"
#include "topology/machine/machine.h"
#include "topology/machine/machine_file.h"
#include "topology/zones/zone.h"

namespace plimsoll::agent {
namespace {

absl::StatusOr<std::string> LineOf(const FsRoot& host, const std::string& file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto read, topology::ReadMachineFile(host, file, 64 * 1024));
  return std::string(absl::StripAsciiWhitespace(read.text));
}

// os-release(5): PRETTY_NAME="Debian GNU/Linux 12 (bookworm)".
std::string PrettyName(absl::string_view os_release) {
  for (absl::string_view line : absl::StrSplit(os_release, '\n')) {
    if (!absl::ConsumePrefix(&line, "PRETTY_NAME=")) continue;
    line = absl::StripAsciiWhitespace(line);
    for (const char* quote : {"\"", "'"}) {
      if (absl::ConsumePrefix(&line, quote)) absl::ConsumeSuffix(&line, quote);
    }
    return std::string(line);
  }
  return "";
}

absl::Status ReadIds(const FsRoot& host, MachineFacts& facts) {
  topology::Machine machine;
  PLIMSOLL_RETURN_IF_ERROR(topology::ReadIdentity(host, machine));
  facts.machine_id = machine.attributes[topology::kMachineId];
  facts.boot_id = machine.attributes[topology::kBootId];
  facts.system_uuid = machine.attributes[topology::kSystemUuid];
  return absl::OkStatus();
}

// Empty for an address that others can't reach, and for other families.
std::string AddressText(const ifaddrs& interface) {
  char text[INET6_ADDRSTRLEN] = "";
  if (interface.ifa_addr->sa_family == AF_INET) {
    const auto* address = reinterpret_cast<const sockaddr_in*>(interface.ifa_addr);
    inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text));
  } else if (interface.ifa_addr->sa_family == AF_INET6) {
    const auto* address = reinterpret_cast<const sockaddr_in6*>(interface.ifa_addr);
    if (IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr)) return "";
    inet_ntop(AF_INET6, &address->sin6_addr, text, sizeof(text));
  }
  return text;
}

std::string FirstAddress() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
      const bool is_usable = (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0;
      if (!is_usable || at->ifa_addr == nullptr || at->ifa_addr->sa_family != family) continue;
      std::string text = AddressText(*at);
      if (!text.empty()) return text;
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<MachineFacts> ReadMachineFacts(const FsRoot& host) {
  MachineFacts facts;
  PLIMSOLL_ASSIGN_OR_RETURN(facts.host_name, LineOf(host, "proc/sys/kernel/hostname"));
  absl::AsciiStrToLower(&facts.host_name);
  PLIMSOLL_ASSIGN_OR_RETURN(facts.kernel_version, LineOf(host, "proc/sys/kernel/osrelease"));
  PLIMSOLL_ASSIGN_OR_RETURN(std::string release, LineOf(host, "etc/os-release"));
  if (release.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(release, LineOf(host, "usr/lib/os-release"));
  }
  facts.os_image = PrettyName(release);
  utsname names = {};
  if (uname(&names) == 0) facts.architecture = GoArchitecture(names.machine);
  PLIMSOLL_RETURN_IF_ERROR(ReadIds(host, facts));
  facts.address = FirstAddress();
  return facts;
}

std::string GoArchitecture(absl::string_view machine) {
  static const std::map<absl::string_view, absl::string_view> kNames = {
      {"x86_64", "amd64"}, {"i386", "386"},   {"i686", "386"},           {"aarch64", "arm64"},
      {"armv7l", "arm"},   {"armv6l", "arm"}, {"loongarch64", "loong64"}};
  const auto found = kNames.find(machine);
  return std::string(found == kNames.end() ? machine : found->second);
}

}  // namespace plimsoll::agent
