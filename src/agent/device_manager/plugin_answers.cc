#include "agent/device_manager/plugin_answers.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/text/quoted.h"
#include "cdi/names.h"

namespace plimsoll::agent {
namespace {

constexpr char kHealthy[] = "Healthy";
constexpr size_t kMaxAnswerBytes = 1024 * 1024;
constexpr size_t kMaxPathBytes = 4095;  // PATH_MAX without its NUL

bool IsDeviceId(const std::string& id) {
  return !id.empty() && id.size() <= kMaxDeviceIdBytes &&
         std::none_of(id.begin(), id.end(),
                      [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); });
}

Device DeviceFrom(const ::v1beta1::Device& from) {
  Device device{.id = from.id(), .healthy = from.health() == kHealthy, .nodes = std::nullopt};
  for (const ::v1beta1::NUMANode& node : from.topology().nodes()) {
    if (!device.nodes) device.nodes = NodeMask();
    if (node.id() >= 0 && node.id() < NodeMask::kMost) {
      device.nodes->Add(static_cast<uint32_t>(node.id()));
    }
  }
  return device;
}

// A path that means the same thing everywhere. `what` names it for messages.
absl::Status CheckPath(const std::string& path, absl::string_view what) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  const bool climbs = std::find(parts.begin(), parts.end(), "..") != parts.end();
  if (absl::StartsWith(path, "/") && path.size() <= kMaxPathBytes && !climbs &&
      path.find('\0') == std::string::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(what, " ", Quoted(path),
                                                 " must be an absolute path of at most ",
                                                 kMaxPathBytes, " bytes, without \"..\""));
}

absl::Status CheckVariable(const std::string& name, const std::string& value) {
  if (!name.empty() && name.find('=') == std::string::npos &&
      name.find('\0') == std::string::npos && value.find('\0') == std::string::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      Quoted(name),
      " can be no environment variable: a name has no '=', and neither it nor its value a NUL"));
}

absl::Status CheckAnnotation(const std::string& key) {
  if (!key.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("an annotation has no name");
}

absl::StatusOr<pod::HostDeviceNode> NodeFrom(const ::v1beta1::DeviceSpec& from) {
  PLIMSOLL_RETURN_IF_ERROR(CheckPath(from.host_path(), "host path of a device"));
  PLIMSOLL_RETURN_IF_ERROR(CheckPath(from.container_path(), "container path of a device"));
  const std::string& permissions = from.permissions();
  if (permissions.empty() || permissions.size() > 3 ||
      permissions.find_first_not_of("rwm") != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("permissions ", Quoted(permissions),
                                                   " of device ", Quoted(from.host_path()),
                                                   " must be of r, w and m"));
  }
  return pod::HostDeviceNode{.host_path = from.host_path(),
                             .container_path = from.container_path(),
                             .permissions = permissions};
}

absl::StatusOr<pod::DeviceMount> MountFrom(const ::v1beta1::Mount& from) {
  PLIMSOLL_RETURN_IF_ERROR(CheckPath(from.host_path(), "host path of a mount"));
  PLIMSOLL_RETURN_IF_ERROR(CheckPath(from.container_path(), "container path of a mount"));
  return pod::DeviceMount{.host_path = from.host_path(),
                          .container_path = from.container_path(),
                          .read_only = from.read_only()};
}

// Keeps the first of the items at one path of the container.
template <typename Item>
void AddAtPath(const Item& item, std::vector<Item>& items) {
  const bool is_taken = std::any_of(items.begin(), items.end(), [&](const Item& each) {
    return each.container_path == item.container_path;
  });
  if (!is_taken) items.push_back(item);
}

void AddName(const std::string& name, std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

ListedDevices DevicesFrom(const ::v1beta1::ListAndWatchResponse& list) {
  ListedDevices listed;
  std::map<std::string, size_t> place_of;
  size_t invalid = 0, too_many = 0;
  for (const ::v1beta1::Device& each : list.devices()) {
    if (!IsDeviceId(each.id())) {
      ++invalid;
      continue;
    }
    const auto known = place_of.find(each.id());
    if (known != place_of.end()) {
      listed.devices[known->second] = DeviceFrom(each);
    } else if (listed.devices.size() == kMaxDevices) {
      ++too_many;
    } else {
      place_of[each.id()] = listed.devices.size();
      listed.devices.push_back(DeviceFrom(each));
    }
  }
  if (invalid > 0) {
    absl::StrAppend(&listed.fault, invalid,
                    " of its devices have no id, or one that is longer than ", kMaxDeviceIdBytes,
                    " bytes or has control characters; they are left out");
  }
  if (too_many > 0) {
    absl::StrAppend(&listed.fault, listed.fault.empty() ? "" : "; ", "it has more than ",
                    kMaxDevices, " devices; ", too_many, " are left out");
  }
  return listed;
}

absl::StatusOr<pod::GivenDevices> GivenFrom(const ::v1beta1::AllocateResponse& answer) {
  if (answer.container_responses_size() == 0) {
    return absl::InvalidArgumentError("no containers return in allocation response");
  }
  const ::v1beta1::ContainerAllocateResponse& of_container = answer.container_responses(0);
  if (of_container.ByteSizeLong() > kMaxAnswerBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the answer has ", of_container.ByteSizeLong(),
                                                   " bytes; at most ", kMaxAnswerBytes));
  }
  pod::GivenDevices given;
  for (const auto& [name, value] : of_container.envs()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckVariable(name, value));
    given.env[name] = value;
  }
  for (const ::v1beta1::Mount& each : of_container.mounts()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const pod::DeviceMount mount, MountFrom(each));
    AddAtPath(mount, given.mounts);
  }
  for (const ::v1beta1::DeviceSpec& each : of_container.devices()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const pod::HostDeviceNode node, NodeFrom(each));
    AddAtPath(node, given.nodes);
  }
  for (const auto& [key, value] : of_container.annotations()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckAnnotation(key));
    given.annotations[key] = value;
  }
  for (const ::v1beta1::CDIDevice& each : of_container.cdi_devices()) {
    PLIMSOLL_RETURN_IF_ERROR(cdi::ParseDeviceName(each.name()).status());
    AddName(each.name(), given.cdi_names);
  }
  return given;
}

std::vector<std::string> PreferredFrom(const ::v1beta1::PreferredAllocationResponse& answer) {
  if (answer.container_responses_size() == 0) return {};
  const auto& ids = answer.container_responses(0).deviceids();
  return {ids.begin(), ids.end()};
}

void AddGiven(const pod::GivenDevices& more, pod::GivenDevices& given) {
  for (const std::string& name : more.cdi_names) AddName(name, given.cdi_names);
  for (const pod::HostDeviceNode& node : more.nodes) AddAtPath(node, given.nodes);
  for (const pod::DeviceMount& mount : more.mounts) AddAtPath(mount, given.mounts);
  given.env.insert(more.env.begin(), more.env.end());
  given.annotations.insert(more.annotations.begin(), more.annotations.end());
}

}  // namespace plimsoll::agent
