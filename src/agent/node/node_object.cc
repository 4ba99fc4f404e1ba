#include "agent/node/node_object.h"
#include "agent/node/kube_time.h"

#include <nlohmann/json.hpp>

namespace plimsoll::agent {
namespace {

using nlohmann::json;

const std::string& FirstOf(const std::string& a, const std::string& b) {
  return a.empty() ? b : a;
}

json ResourcesJson(const ResourceList& list) {
  json object = json::object();
  for (const auto& [resource, amount] : list) object[resource] = amount.Canonical();
  return object;
}

json LabelsJson(const NodeOptions& options, const MachineFacts& facts, const NodePicture& picture) {
  std::map<std::string, std::string> labels = options.labels;
  labels.emplace("kubernetes.io/hostname", NodeName(options, facts));
  labels.emplace("kubernetes.io/os", "linux");
  labels.emplace("kubernetes.io/arch", facts.architecture);
  labels.insert(picture.zone_labels.begin(), picture.zone_labels.end());
  return labels;
}

json AddressesJson(const NodeOptions& options, const MachineFacts& facts) {
  json addresses = json::array();
  const std::string address = NodeAddress(options, facts);
  if (!address.empty()) addresses.push_back({{"type", "InternalIP"}, {"address", address}});
  addresses.push_back({{"type", "Hostname"}, {"address", NodeName(options, facts)}});
  return addresses;
}

json NodeInfoJson(const NodeOptions& options, const MachineFacts& facts,
                  const NodePicture& picture) {
  json info = {{"machineID", FirstOf(picture.machine_id, facts.machine_id)},
               {"systemUUID", FirstOf(picture.system_uuid, facts.system_uuid)},
               {"bootID", FirstOf(picture.boot_id, facts.boot_id)},
               {"kernelVersion", facts.kernel_version},
               {"osImage", facts.os_image},
               {"containerRuntimeVersion", picture.runtime_version},
               {"kubeletVersion", options.agent_version},
               {"kubeProxyVersion", ""},
               {"operatingSystem", "linux"},
               {"architecture", facts.architecture}};
  if (picture.swap_bytes) info["swap"] = {{"capacity", *picture.swap_bytes}};
  return info;
}

}  // namespace

std::string NodeName(const NodeOptions& options, const MachineFacts& facts) {
  return FirstOf(options.name, facts.host_name);
}

std::string NodeAddress(const NodeOptions& options, const MachineFacts& facts) {
  return FirstOf(options.address, facts.address);
}

nlohmann::json NodeObject(const NodeOptions& options, const MachineFacts& facts,
                          const NodePicture& picture, const Conditions& conditions,
                          absl::Time created, absl::Time now) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", NodeName(options, facts)},
            {"creationTimestamp", KubeTime(created)},
            {"labels", LabelsJson(options, facts, picture)}}},
          {"spec", json::object()},
          {"status",
           {{"capacity", ResourcesJson(picture.capacity)},
            {"allocatable", ResourcesJson(picture.allocatable)},
            {"conditions", conditions.ToJson(now)},
            {"addresses", AddressesJson(options, facts)},
            {"nodeInfo", NodeInfoJson(options, facts, picture)}}}};
}

}  // namespace plimsoll::agent
