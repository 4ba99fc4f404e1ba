#include "runtime/objects/pod_sysctls.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "linux/namespaces/id_mapping.h"
#include "linux/namespaces/sysctl_name.h"

namespace plimsoll::runtime {
namespace {

constexpr char kPortStart[] = "net.ipv4.ip_unprivileged_port_start";
constexpr char kPingGroups[] = "net.ipv4.ping_group_range";
constexpr char kPingGroupsPath[] = "net/ipv4/ping_group_range";
constexpr uint32_t kLastGroup = 2147483647;  // GID_T_MAX of net/ipv4/sysctl_net_ipv4.c

std::string PathOf(const std::string& name) {
  const absl::StatusOr<linux::Sysctl> parsed = linux::ParseSysctlName(name);
  return parsed.ok() ? parsed->path : "";
}

bool Names(const linux::SysctlValues& values, const std::string& path) {
  return absl::c_any_of(values, [&](const auto& each) { return PathOf(each.first) == path; });
}

// All groups of the pod, as the host's ids.
std::string AllGroups(const NamespaceOptions& namespaces) {
  if (!namespaces.has_user_namespace()) return absl::StrCat("0 ", kLastGroup);
  uint32_t first = kLastGroup;
  uint32_t last = 0;
  for (const linux::IdMapping& each : namespaces.gid_mappings) {
    first = std::min(first, each.host_id);
    last = std::max(last, std::min(each.host_id + (each.length - 1), kLastGroup));
  }
  return absl::StrCat(first, " ", last);
}

// The kernel takes the ids for those of the writer's user namespace, and that is the host's. A
// value that is no range of mapped groups is left to the kernel: "1 0" stands for none.
std::string OnTheHost(const NamespaceOptions& namespaces, const std::string& range) {
  const std::vector<std::string> parts =
      absl::StrSplit(range, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
  uint32_t first = 0;
  uint32_t last = 0;
  if (!namespaces.has_user_namespace() || parts.size() != 2 ||
      !absl::SimpleAtoi(parts[0], &first) || !absl::SimpleAtoi(parts[1], &last) || first > last) {
    return range;
  }
  const uint32_t host_first = linux::HostIdOf(namespaces.gid_mappings, first);
  const uint32_t host_last = linux::HostIdOf(namespaces.gid_mappings, last);
  if (host_first != UINT32_MAX && host_last != UINT32_MAX && host_first <= host_last) {
    return absl::StrCat(host_first, " ", host_last);
  }
  // From the first group to beyond the pod's last: the usual value for all.
  return host_first != UINT32_MAX && first == 0 ? AllGroups(namespaces) : range;
}

}  // namespace

linux::SysctlValues PodSysctls(const FsRoot& host, const SandboxSpec& spec,
                               const NetworkRights& rights) {
  linux::SysctlValues values = spec.sysctls;
  for (auto& [name, value] : values) {
    if (PathOf(name) == kPingGroupsPath) value = OnTheHost(spec.namespaces, value);
  }
  if (spec.namespaces.network != NamespaceMode::kPod) return values;
  const auto add = [&](bool is_wanted, const char* name, std::string value) {
    const std::string path = PathOf(name);
    if (!is_wanted || Names(values, path) || !host.Exists(absl::StrCat("proc/sys/", path))) return;
    values[name] = std::move(value);
  };
  add(rights.ports, kPortStart, "0");
  add(rights.ping, kPingGroups, AllGroups(spec.namespaces));
  return values;
}

}  // namespace plimsoll::runtime
