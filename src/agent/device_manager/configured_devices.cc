#include "agent/device_manager/configured_devices.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::agent {
namespace {

// A device node's own device, or the one above it: a disk of NVMe is below its controller, which is
// below the PCI device.
std::optional<NodeMask> NodesInSysfs(const FsRoot& root, const std::string& path) {
  const auto info = root.Stat(path);
  if (!info.ok() || !(S_ISCHR(info->st_mode) || S_ISBLK(info->st_mode))) return std::nullopt;
  const std::string device =
      absl::StrCat("sys/dev/", S_ISCHR(info->st_mode) ? "char/" : "block/", major(info->st_rdev),
                   ":", minor(info->st_rdev), "/device/");
  for (const char* const file : {"numa_node", "device/numa_node"}) {
    const auto text = root.Read(device + file, /*max_bytes=*/64);
    int64_t node = -1;
    if (!text.ok() || !absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &node)) continue;
    if (node < 0) return std::nullopt;  // the kernel's "none"
    return NodeMask::Of(static_cast<uint32_t>(std::min<int64_t>(node, NodeMask::kMost)));
  }
  return std::nullopt;
}

std::optional<NodeMask> NodesOf(const NodeDevice& device, const FsRoot& root) {
  if (device.numa_node) return NodeMask::Of(*device.numa_node);
  if (!device.cdi_name.empty()) return std::nullopt;
  return NodesInSysfs(root, device.node.host_path);
}

}  // namespace

DeviceStock StockOf(const NodeDevices& devices, const FsRoot& root) {
  DeviceStock stock;
  for (const auto& [resource, list] : devices) {
    DeviceResource& of_resource = stock[resource];
    for (const NodeDevice& each : list) {
      of_resource.devices.push_back(
          {.id = each.id(), .healthy = true, .nodes = NodesOf(each, root)});
    }
  }
  return stock;
}

absl::StatusOr<pod::GivenDevices> GivenOf(const NodeDevices& devices, const std::string& resource,
                                          const std::vector<std::string>& ids) {
  pod::GivenDevices given;
  const auto list = devices.find(resource);
  for (const std::string& id : ids) {
    const NodeDevice* device = nullptr;
    if (list != devices.end()) {
      const auto it = std::find_if(list->second.begin(), list->second.end(),
                                   [&](const NodeDevice& each) { return each.id() == id; });
      if (it != list->second.end()) device = &*it;
    }
    if (device == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat(
          "device ", id, " of ", resource, " is no longer among the devices of the configuration"));
    }
    if (device->cdi_name.empty()) {
      given.nodes.push_back(device->node);
    } else {
      given.cdi_names.push_back(device->cdi_name);
    }
  }
  return given;
}

}  // namespace plimsoll::agent
