#include "network/host_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status.h"
#include "network/json.h"

namespace plimsoll::network {
namespace {

// Four bytes or sixteen, since one address has several spellings. Empty for anything else.
std::string BytesOf(const std::string& address) {
  char bytes[sizeof(in6_addr)] = {};
  if (inet_pton(AF_INET, address.c_str(), bytes) == 1) return {bytes, sizeof(in_addr)};
  if (inet_pton(AF_INET6, address.c_str(), bytes) != 1) return "";
  // ::ffff:192.0.2.1 is served as 192.0.2.1.
  constexpr absl::string_view kMapped("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
  const absl::string_view all(bytes, sizeof(bytes));
  return std::string(absl::StartsWith(all, kMapped) ? all.substr(kMapped.size()) : all);
}

bool IsUnspecified(const std::string& bytes) {
  return absl::c_all_of(bytes, [](char byte) { return byte == '\0'; });
}

bool Overlap(const std::string& a, const std::string& b) {
  const std::string first = BytesOf(a);
  const std::string second = BytesOf(b);
  if (first.empty() || second.empty()) return true;
  if (first.size() != second.size()) return false;
  return first == second || IsUnspecified(first) || IsUnspecified(second);
}

// A port that no plugin serves is not held.
std::vector<PortMapping> ServedPorts(const Record& record) {
  if (!Declares(record.config, "portMappings")) return {};
  return HostPortsOf(record);
}

// A duplicate mapping is served once.
absl::Status CheckOwnPorts(const std::vector<PortMapping>& asked) {
  for (auto one = asked.begin(); one != asked.end(); ++one) {
    for (auto other = asked.begin(); other != one; ++other) {
      if (!Conflict(*one, *other) || one->container_port == other->container_port) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "host port ", PortText(*one), " is asked for twice by the pod itself, for its ports ",
          other->container_port, " and ", one->container_port));
    }
  }
  return absl::OkStatus();
}

// The rules of a pod whose namespace is gone stay until its DEL, or until a reboot removes them.
bool HasRules(const Record& record, const std::string& boot_id) {
  return record.boot_id.empty() ? HasNamespace(record) : record.boot_id == boot_id;
}

}  // namespace

std::vector<PortMapping> HostPortsOf(const Record& record) {
  std::vector<PortMapping> mappings;
  const auto found = record.capabilities.find("portMappings");
  if (found == record.capabilities.end()) return mappings;
  const Json list = Json::parse(found->second, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) return mappings;
  for (const Json& object : list) {
    if (!object.is_object()) continue;
    PortMapping mapping;
    std::optional<int64_t> host_port;
    std::optional<int64_t> container_port;
    const bool is_read = ReadText(object, "protocol", &mapping.protocol).ok() &&
                         ReadText(object, "hostIP", &mapping.host_ip).ok() &&
                         ReadInteger(object, "hostPort", &host_port).ok() &&
                         ReadInteger(object, "containerPort", &container_port).ok();
    if (!is_read || !host_port.has_value()) continue;
    mapping.container_port = static_cast<int32_t>(container_port.value_or(0));
    mapping.host_port = static_cast<int32_t>(*host_port);
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

bool Conflict(const PortMapping& a, const PortMapping& b) {
  return a.host_port == b.host_port && a.protocol == b.protocol && Overlap(a.host_ip, b.host_ip);
}

std::optional<PortMapping> FirstConflict(const std::vector<PortMapping>& asked,
                                         const std::vector<PortMapping>& held) {
  for (const PortMapping& mapping : asked) {
    const bool is_held =
        absl::c_any_of(held, [&](const PortMapping& other) { return Conflict(mapping, other); });
    if (is_held) return mapping;
  }
  return std::nullopt;
}

std::string PortText(const PortMapping& mapping) {
  const std::string port = absl::StrCat(mapping.host_port, "/", mapping.protocol);
  return mapping.host_ip.empty() ? port : absl::StrCat(port, " at ", mapping.host_ip);
}

absl::Status CheckHostPorts(const Record& record, const std::vector<std::string>& remains,
                            const std::map<std::string, absl::StatusOr<Record>>& others) {
  const std::vector<PortMapping> asked = ServedPorts(record);
  if (asked.empty()) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(CheckOwnPorts(asked));
  for (const auto& [id, other] : others) {
    if (!other.ok() || id == record.id || absl::c_linear_search(remains, id)) continue;
    const auto held = FirstConflict(asked, ServedPorts(*other));
    if (!held.has_value() || !HasRules(*other, record.boot_id)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("host port ", PortText(*held), " is held by pod ", PodOf(*other), " (sandbox ",
                     id, "): stop that pod, or ask for another port"));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::network
