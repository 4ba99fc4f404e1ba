// Namespaces, kernel parameters, network devices and the group's path.
#include <linux/limits.h>

#include <algorithm>
#include <set>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/text/quoted.h"
#include "linux/namespaces/sysctl_name.h"
#include "nri/adjust/spec_parts.h"

namespace plimsoll::nri {
namespace {

// The OCI runtime specification's types.
constexpr absl::string_view kNamespaces[] = {"cgroup", "ipc",  "mount", "network",
                                             "pid",    "time", "user",  "uts"};

// The reason why no container of Plimsoll can have the namespace; nullptr: it can.
const char* WhyNoNamespace(const api::LinuxNamespace& asked) {
  if (asked.type() == "user") {
    return "can't be changed for one container: the pod's user namespace owns all others of it";
  }
  if (asked.type() == "time") return "can't be had: time namespaces are not supported";
  if (asked.type() == "mount" && !asked.path().empty()) {
    return "can't be joined: the container's root filesystem is in a mount namespace of its own";
  }
  return nullptr;
}

absl::Status RemoveNamespace(absl::string_view type, const SpecTarget& target) {
  if (type == "mount" || type == "user") {
    return target.Impossible("linux.namespaces", type,
                             "can't be removed: the container's files would be the host's");
  }
  if (type == "time") return absl::OkStatus();  // no container has one
  target.spec().extras.namespaces.push_back({.type = std::string(type), .of_host = true});
  return absl::OkStatus();
}

absl::Status ApplyNamespace(const api::LinuxNamespace& asked, const SpecTarget& target) {
  constexpr absl::string_view kPath = "linux.namespaces";
  absl::string_view type = asked.type();
  const bool is_removal = TakeRemovalMark(&type);
  if (!absl::c_linear_search(kNamespaces, type)) {
    return target.Wrong(kPath, type,
                        "is no type of namespace; valid are cgroup, ipc, mount, network, pid, "
                        "time, user and uts");
  }
  if (is_removal) return RemoveNamespace(type, target);
  if (const char* why = WhyNoNamespace(asked); why != nullptr) {
    return target.Unsupported(kPath, type, why);
  }
  if (!asked.path().empty() && !IsAbsolutePath(asked.path())) {
    return target.Wrong(kPath, type,
                        absl::StrCat("has the path ", Quoted(asked.path()),
                                     "; an absolute path, or none for a new namespace, is right"));
  }
  target.spec().extras.namespaces.push_back({.type = asked.type(), .path = asked.path()});
  return absl::OkStatus();
}

absl::Status ApplySysctl(const std::string& written, const std::string& value,
                         const SpecTarget& target) {
  constexpr absl::string_view kPath = "linux.sysctl";
  absl::string_view name = written;
  const bool is_removal = TakeRemovalMark(&name);
  const auto parsed = linux::ParseSysctlName(name);
  if (!parsed.ok()) {
    return target.Wrong(kPath, name, absl::StrCat("can't be set: ", parsed.status().message()));
  }
  // The pod's own were set with its namespaces, so a removal is only of what a plugin sets.
  if (is_removal) return absl::OkStatus();
  if (absl::StripAsciiWhitespace(value).empty() || absl::StrContains(value, '\n') ||
      value.size() > 4095) {
    return target.Wrong(
        kPath, name,
        absl::StrCat("has the value ", Quoted(value), "; a line of 1 to 4095 bytes is right"));
  }
  target.spec().extras.sysctls[written] = value;
  return absl::OkStatus();
}

// Follows the kernel's dev_valid_name (net/core/dev.c).
bool IsDeviceName(absl::string_view name) {
  return !name.empty() && name.size() <= 15 && name != "." && name != ".." &&
         absl::c_none_of(name, [](char c) {
           return c == '/' || c == ':' || absl::ascii_isspace(static_cast<unsigned char>(c));
         });
}

absl::Status ApplyNetDevice(const std::string& written, const api::LinuxNetDevice& device,
                            const SpecTarget& target) {
  constexpr absl::string_view kPath = "linux.net_devices";
  constexpr absl::string_view kRule =
      "1 to 15 bytes without \"/\", \":\" and white space are right";
  absl::string_view name = written;
  const bool is_removal = TakeRemovalMark(&name);
  if (!IsDeviceName(name)) {
    return target.Wrong(kPath, name, absl::StrCat("is no name of a network device: ", kRule));
  }
  if (is_removal) return absl::OkStatus();
  const std::string& inside = device.name().empty() ? written : device.name();
  if (!IsDeviceName(inside)) {
    return target.Wrong(kPath, name,
                        absl::StrCat("has the new name ", Quoted(inside), ": ", kRule));
  }
  auto& devices = target.spec().extras.net_devices;
  for (const auto& [other, other_inside] : devices) {
    if (other_inside != inside) continue;
    return target.Wrong(
        kPath, name,
        absl::StrCat("gets the name ", Quoted(inside), " in the container, which ", other,
                     " (plugin ", target.owners().PluginOf(kPath, other), ") has there"));
  }
  devices[written] = inside;
  return absl::OkStatus();
}

absl::Status ApplyCgroupsPath(const std::string& path, const SpecTarget& target) {
  const auto wrong = [&](absl::string_view why) {
    return target.Wrong("linux.cgroups_path", "", absl::StrCat("is ", Quoted(path), "; ", why));
  };
  if (path.size() >= PATH_MAX) return wrong("that is too long");
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part == "." || part == "..") return wrong("\".\" and \"..\" are not allowed in it");
    if (part.size() > NAME_MAX) return wrong("a name in it is too long");
  }
  target.spec().extras.cgroups_path = path;
  return absl::OkStatus();
}

template <typename Map>
std::set<std::string> SortedKeys(const Map& map) {
  std::set<std::string> keys;
  for (const auto& [key, value] : map) keys.insert(key);
  return keys;
}

}  // namespace

absl::Status ApplyNamespaces(const api::LinuxContainerAdjustment& linux, const SpecTarget& target) {
  for (const api::LinuxNamespace& one : linux.namespaces()) {
    PLIMSOLL_RETURN_IF_ERROR(ApplyNamespace(one, target));
  }
  // Sorted, so that the same answer gets the same error each time.
  for (const std::string& name : SortedKeys(linux.sysctl())) {
    PLIMSOLL_RETURN_IF_ERROR(ApplySysctl(name, linux.sysctl().at(name), target));
  }
  for (const std::string& name : SortedKeys(linux.net_devices())) {
    PLIMSOLL_RETURN_IF_ERROR(ApplyNetDevice(name, linux.net_devices().at(name), target));
  }
  if (linux.cgroups_path().empty()) return absl::OkStatus();
  return ApplyCgroupsPath(linux.cgroups_path(), target);
}

}  // namespace plimsoll::nri
