#include "agent/device_config.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/device_manager/resource_name.h"

namespace plimsoll::agent {
namespace {

// "vendor.com/class=name"; the runtime checks the rest.
bool LooksLikeCdiName(const std::string& name) {
  const std::vector<std::string> halves = absl::StrSplit(name, absl::MaxSplits('=', 1));
  return halves.size() == 2 && absl::StrContains(halves[0], '/') && !halves[1].empty();
}

bool ArePermissions(const std::string& text) {
  return !text.empty() && text.find_first_not_of("rwm") == std::string::npos;
}

NodeDevice ReadDevice(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  NodeDevice device;
  YamlMapping mapping(reader, node, path);
  mapping.String("cdi", device.cdi_name);
  mapping.String("path", device.node.host_path);
  mapping.String("containerPath", device.node.container_path);
  device.node.permissions = "rw";
  mapping.String("permissions", device.node.permissions);
  std::optional<int64_t> numa_node;
  mapping.Int("numaNode", numa_node, 0, NodeMask::kMost - 1);
  if (numa_node) device.numa_node = static_cast<uint32_t>(*numa_node);
  const bool has_node_keys = mapping.Get("containerPath") || mapping.Get("permissions");
  mapping.Finish();
  if (device.cdi_name.empty() == device.node.host_path.empty()) {
    reader.Fail(node, path, "needs either cdi (vendor.com/class=name) or path (/dev/...)");
    return device;
  }
  if (!device.cdi_name.empty()) {
    if (!LooksLikeCdiName(device.cdi_name)) {
      reader.Fail(
          node, mapping.PathOf("cdi"),
          absl::StrCat("\"", device.cdi_name, "\" is no CDI device: vendor.com/class=name"));
    }
    if (has_node_keys) reader.Fail(node, path, "containerPath and permissions belong to path");
    return device;
  }
  if (device.node.container_path.empty()) device.node.container_path = device.node.host_path;
  for (const auto& [key, value] : {std::pair("path", &device.node.host_path),
                                   std::pair("containerPath", &device.node.container_path)}) {
    if (absl::StartsWith(*value, "/")) continue;
    reader.Fail(node, mapping.PathOf(key), "must be an absolute path");
    break;  // a container path that isn't given is the host's
  }
  if (!ArePermissions(device.node.permissions)) {
    reader.Fail(node, mapping.PathOf("permissions"),
                absl::StrCat("\"", device.node.permissions, "\" must be of r, w and m"));
  }
  return device;
}

}  // namespace

void ReadDevices(YamlReader& reader, YamlMapping& mapping, NodeDevices& out) {
  const auto node = mapping.Get("devices");
  if (!node) return;
  std::map<std::string, std::string> resource_of;  // by device
  reader.Entries(
      *node, mapping.PathOf("devices"),
      [&](const std::string& name, const YAML::Node& value, const std::string& path) {
        if (!IsExtendedResourceName(name)) {
          reader.Fail(value, path,
                      absl::StrCat("\"", name,
                                   "\" is no extended resource; expected a name like "
                                   "example.com/gpu, outside kubernetes.io"));
        }
        out[name];  // an empty list is a capacity of 0
        reader.Each(value, path, [&](const YAML::Node& item, const std::string& item_path) {
          NodeDevice device = ReadDevice(reader, item, item_path);
          const auto [it, is_new] = resource_of.try_emplace(device.id(), name);
          if (!is_new && !device.id().empty()) {
            reader.Fail(item, item_path,
                        absl::StrCat("device ", device.id(), " is also of ", it->second,
                                     "; each device is of one resource, once"));
          }
          out[name].push_back(std::move(device));
        });
      });
}

}  // namespace plimsoll::agent
