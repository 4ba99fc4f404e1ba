#include "agent/managers/pod_grant.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;

Json BlockToJson(const MemoryBlock& block) {
  Json json = {{"resource", block.resource},
               {"nodes", block.nodes.ToVector()},
               {"bytes", block.bytes},
               {"shares", Json::object()}};
  for (const auto& [node, bytes] : block.shares) json["shares"][absl::StrCat(node)] = bytes;
  return json;
}

Json ContainerGrantToJson(const ContainerGrant& grant) {
  Json json = Json::object();
  if (!grant.cpus.Empty()) json["cpus"] = grant.cpus.ToString();
  if (grant.cpu_count != 0) json["cpuCount"] = grant.cpu_count;
  for (const MemoryBlock& block : grant.memory) json["memory"].push_back(BlockToJson(block));
  return json;
}

Json GivenToJson(const pod::GivenDevices& given) {
  Json json = {{"cdiNames", given.cdi_names},
               {"nodes", Json::array()},
               {"mounts", Json::array()},
               {"env", given.env},
               {"annotations", given.annotations}};
  for (const pod::HostDeviceNode& each : given.nodes) {
    json["nodes"].push_back({{"hostPath", each.host_path},
                             {"containerPath", each.container_path},
                             {"permissions", each.permissions}});
  }
  for (const pod::DeviceMount& each : given.mounts) {
    json["mounts"].push_back({{"hostPath", each.host_path},
                              {"containerPath", each.container_path},
                              {"readOnly", each.read_only}});
  }
  return json;
}

// Members are read by at() and get_to(), whose exceptions PodGrantOf turns into a status.

absl::StatusOr<uint32_t> NodeOf(int64_t number) {
  if (number < 0 || number >= NodeMask::kMost) {
    return absl::InvalidArgumentError(
        absl::StrCat("NUMA node ", number, " is not from 0 to ", NodeMask::kMost - 1));
  }
  return static_cast<uint32_t>(number);
}

int64_t AmountOf(const Json& json) {
  const int64_t amount = json.get<int64_t>();
  return amount < 0 ? -1 : amount;
}

absl::StatusOr<MemoryBlock> BlockOf(const Json& json) {
  MemoryBlock block;
  json.at("resource").get_to(block.resource);
  block.bytes = AmountOf(json.at("bytes"));
  int64_t left = block.bytes;
  for (const Json& number : json.at("nodes")) {
    PLIMSOLL_ASSIGN_OR_RETURN(const uint32_t node, NodeOf(number.get<int64_t>()));
    block.nodes.Add(node);
  }
  for (const auto& [key, bytes] : json.at("shares").items()) {
    int64_t number = -1;
    if (!absl::SimpleAtoi(key, &number)) number = -1;
    PLIMSOLL_ASSIGN_OR_RETURN(const uint32_t node, NodeOf(number));
    const int64_t share = AmountOf(bytes);
    if (share < 0 || share > left || !block.nodes.Contains(node)) left = -1;
    if (left < 0) break;
    block.shares[node] = share;
    left -= share;
  }
  if (left != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the shares of ", block.resource, " are not its ", block.bytes, " bytes"));
  }
  return block;
}

absl::StatusOr<ContainerGrant> ContainerGrantOf(const Json& json) {
  ContainerGrant grant;
  PLIMSOLL_ASSIGN_OR_RETURN(grant.cpus, resources::CpuSet::Parse(json.value("cpus", "")));
  grant.cpu_count = json.value("cpuCount", int64_t{0});
  if (grant.cpu_count < 0 || grant.cpu_count > int64_t{resources::CpuSet::kMaxCpus}) {
    return absl::InvalidArgumentError(
        absl::StrCat("cpuCount ", grant.cpu_count, " is no number of CPUs"));
  }
  if (!json.contains("memory")) return grant;
  for (const Json& each : json.at("memory")) {
    PLIMSOLL_ASSIGN_OR_RETURN(MemoryBlock block, BlockOf(each));
    grant.memory.push_back(std::move(block));
  }
  return grant;
}

pod::GivenDevices GivenOf(const Json& json) {
  pod::GivenDevices given;
  json.at("cdiNames").get_to(given.cdi_names);
  json.at("env").get_to(given.env);
  json.at("annotations").get_to(given.annotations);
  for (const Json& each : json.at("nodes")) {
    given.nodes.push_back({each.at("hostPath"), each.at("containerPath"), each.at("permissions")});
  }
  for (const Json& each : json.at("mounts")) {
    given.mounts.push_back({each.at("hostPath"), each.at("containerPath"), each.at("readOnly")});
  }
  return given;
}

absl::StatusOr<PodGrant> Read(const Json& json) {
  PodGrant grant;
  if (!json.is_object()) return absl::InvalidArgumentError("is no object");
  if (json.contains("containers")) {
    for (const auto& [name, each] : json.at("containers").items()) {
      absl::StatusOr<ContainerGrant> container = ContainerGrantOf(each);
      if (!container.ok()) {
        return Annotate(container.status(), absl::StrCat("container \"", name, "\""));
      }
      grant.containers[name] = *std::move(container);
    }
  }
  if (json.contains("pod")) {
    PLIMSOLL_ASSIGN_OR_RETURN(grant.pod, ContainerGrantOf(json.at("pod")));
  }
  if (json.contains("devices")) json.at("devices").get_to(grant.devices);
  if (json.contains("deviceAnswers")) {
    for (const auto& [name, each] : json.at("deviceAnswers").items()) {
      grant.device_answers[name] = GivenOf(each);
    }
  }
  return grant;
}

}  // namespace

bool ContainerGrant::Empty() const {
  return cpus.Empty() && cpu_count == 0 && memory.empty();
}

resources::CpuSet PodGrant::ExclusiveCpus() const {
  resources::CpuSet all = pod.cpus;
  for (const auto& [name, each] : containers) all = all.Union(each.cpus);
  return all;
}

bool PodGrant::Empty() const {
  for (const auto& [name, each] : containers) {
    if (!each.Empty()) return false;
  }
  return pod.Empty() && devices.empty() && device_answers.empty();
}

nlohmann::json ToJson(const PodGrant& grant) {
  Json json = Json::object();
  for (const auto& [name, each] : grant.containers) {
    json["containers"][name] = ContainerGrantToJson(each);
  }
  if (!grant.pod.Empty()) json["pod"] = ContainerGrantToJson(grant.pod);
  if (!grant.devices.empty()) json["devices"] = grant.devices;
  for (const auto& [name, given] : grant.device_answers) {
    json["deviceAnswers"][name] = GivenToJson(given);
  }
  return json;
}

absl::StatusOr<PodGrant> PodGrantOf(const nlohmann::json& json) {
  try {
    absl::StatusOr<PodGrant> grant = Read(json);
    if (!grant.ok()) return Annotate(grant.status(), "pod's grant");
    return grant;
  } catch (const Json::exception& exception) {
    return absl::InvalidArgumentError(absl::StrCat("pod's grant: ", exception.what()));
  }
}

}  // namespace plimsoll::agent
