#include "runtime/requests/kept_devices.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "qos/class_devices.h"

namespace plimsoll::runtime {
namespace {

using DeviceJson = nlohmann::json;

std::string KeyOf(const std::vector<std::string>& cdi_devices) {
  return absl::StrJoin(cdi_devices, ",");
}

absl::StatusOr<cdi::ContainerEdits> Resolve(const AnnouncedContainer& container,
                                            cdi::Registry& registry) {
  const std::vector<std::string> devices = qos::WithoutClassDevices(container.cdi_devices);
  if (devices.empty()) return cdi::ContainerEdits();
  absl::StatusOr<cdi::ContainerEdits> edits = registry.Resolve(devices);
  // Clients take NOT_FOUND for the end of the container or the pod.
  if (absl::IsNotFound(edits.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("container ", container.name, ": ", edits.status().message(),
                     "; without it the size of the pod's virtual machine is unknown: put its file "
                     "(back) there"));
  }
  if (!edits.ok()) return Annotate(edits.status(), absl::StrCat("container ", container.name));
  return edits;
}

}  // namespace

absl::StatusOr<KeptDevices> KeptDevices::FromJson(absl::string_view json) {
  const auto bad = [] {
    return absl::InvalidArgumentError("no lists of device nodes by CDI name");
  };
  const DeviceJson parsed = DeviceJson::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return bad();
  KeptDevices kept;
  for (const auto& [names, nodes] : parsed.items()) {
    if (!nodes.is_array()) return bad();
    std::vector<std::string>& list = kept.nodes_[names];
    for (const DeviceJson& node : nodes) {
      if (!node.is_string()) return bad();
      list.push_back(node.get<std::string>());
    }
  }
  return kept;
}

std::string KeptDevices::ToJson() const {
  return DeviceJson(nodes_).dump(-1, ' ', false, DeviceJson::error_handler_t::replace);
}

void KeptDevices::Set(const std::vector<std::string>& cdi_devices,
                      const cdi::ContainerEdits& edits) {
  std::vector<std::string> nodes;
  for (const cdi::DeviceNode& node : edits.device_nodes) {
    nodes.push_back(node.host_path.empty() ? node.path : node.host_path);
  }
  nodes_[KeyOf(cdi_devices)] = std::move(nodes);
}

absl::StatusOr<std::vector<std::string>> KeptDevices::NodesOf(const PodResources& pod,
                                                              cdi::Registry* registry) {
  std::vector<std::string> nodes;
  for (const AnnouncedContainer& container : pod.containers) {
    for (const DeviceMapping& device : container.devices) nodes.push_back(device.host_path);
    if (container.cdi_devices.empty()) continue;
    if (!nodes_.contains(KeyOf(container.cdi_devices))) {
      if (registry == nullptr) continue;
      PLIMSOLL_ASSIGN_OR_RETURN(const cdi::ContainerEdits edits, Resolve(container, *registry));
      Set(container.cdi_devices, edits);
    }
    const std::vector<std::string>& kept = nodes_.at(KeyOf(container.cdi_devices));
    nodes.insert(nodes.end(), kept.begin(), kept.end());
  }
  return nodes;
}

}  // namespace plimsoll::runtime
