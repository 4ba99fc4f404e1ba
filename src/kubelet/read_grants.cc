#include "kubelet/read_grants.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/quoted.h"
#include "kubelet/podresources/v1/api.pb.h"
#include "protobuf/field_count.h"
#include "resources/cpu_set.h"

namespace plimsoll::kubelet {
namespace {

namespace v1 = ::v1;
using resources::CpuSet;

constexpr int kMostFieldsOfOne = 100'000;
constexpr int kMostFieldsOfAll = 300'000;
// The kernel's bound (CONFIG_NODES_SHIFT is at most 10).
constexpr int64_t kMostNumaNodes = 1024;

absl::Status AddCpus(const v1::ContainerResources& told, CpuSet* cpus) {
  for (const int64_t cpu : told.cpu_ids()) {
    if (cpu < 0 || cpu >= CpuSet::kMaxCpus) {
      return absl::InvalidArgumentError(absl::StrCat("container ", Quoted(told.name()), " has CPU ",
                                                     cpu, ", and numbers end at ",
                                                     CpuSet::kMaxCpus - 1));
    }
    cpus->Add(static_cast<uint32_t>(cpu));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint32_t>> NodesOf(const v1::TopologyInfo& topology) {
  std::vector<uint32_t> nodes;
  for (const v1::NUMANode& node : topology.nodes()) {
    if (node.id() < 0 || node.id() >= kMostNumaNodes) {
      return absl::InvalidArgumentError(
          absl::StrCat("NUMA node ", node.id(), ": numbers end at ", kMostNumaNodes - 1));
    }
    nodes.push_back(static_cast<uint32_t>(node.id()));
  }
  absl::c_sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

uint64_t SumWithoutOverflow(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max()
                                                      : a + b;
}

// PodResources lists a claim's device once for each request that got it.
void AddCdiDevices(const v1::ContainerResources& told, std::vector<std::string>* names) {
  for (const v1::DynamicResource& claim : told.dynamic_resources()) {
    for (const v1::ClaimResource& resource : claim.claim_resources()) {
      for (const v1::CDIDevice& device : resource.cdi_devices()) names->push_back(device.name());
    }
  }
  absl::c_sort(*names);
  names->erase(std::unique(names->begin(), names->end()), names->end());
}

absl::StatusOr<runtime::ContainerGrants> GrantsOf(const v1::ContainerResources& told) {
  runtime::ContainerGrants grants;
  CpuSet cpus;
  PLIMSOLL_RETURN_IF_ERROR(AddCpus(told, &cpus));
  grants.exclusive_cpus = cpus.ToString();
  for (const v1::ContainerDevices& devices : told.devices()) {
    std::vector<std::string>& ids = grants.devices[devices.resource_name()];
    ids.insert(ids.end(), devices.device_ids().begin(), devices.device_ids().end());
  }
  for (const v1::ContainerMemory& block : told.memory()) {
    PLIMSOLL_ASSIGN_OR_RETURN(std::vector<uint32_t> nodes, NodesOf(block.topology()));
    grants.memory.push_back({block.memory_type(), std::move(nodes), block.size()});
  }
  AddCdiDevices(told, &grants.cdi_devices);
  return grants;
}

// Sums by resource and NUMA nodes.
class Sums {
 public:
  absl::Status Add(const v1::ContainerResources& told) {
    PLIMSOLL_RETURN_IF_ERROR(AddCpus(told, &cpus_));
    for (const v1::ContainerMemory& block : told.memory()) {
      PLIMSOLL_ASSIGN_OR_RETURN(std::vector<uint32_t> nodes, NodesOf(block.topology()));
      uint64_t& bytes = memory_[{block.memory_type(), std::move(nodes)}];
      bytes = SumWithoutOverflow(bytes, block.size());
    }
    for (const v1::ContainerDevices& devices : told.devices()) {
      PLIMSOLL_RETURN_IF_ERROR(Add(devices));
    }
    return absl::OkStatus();
  }
  absl::Status Add(const v1::ContainerDevices& told) {
    PLIMSOLL_ASSIGN_OR_RETURN(std::vector<uint32_t> nodes, NodesOf(told.topology()));
    devices_[{told.resource_name(), std::move(nodes)}] +=
        static_cast<uint64_t>(told.device_ids_size());
    return absl::OkStatus();
  }

  Grants Result() const {
    Grants grants{.exclusive_cpus = cpus_.ToString()};
    for (const auto& [key, bytes] : memory_)
      grants.memory.push_back({key.first, key.second, bytes});
    grants.devices = Devices();
    return grants;
  }
  std::vector<Grants::Devices> Devices() const {
    std::vector<Grants::Devices> all;
    for (const auto& [key, count] : devices_) all.push_back({key.first, key.second, count});
    return all;
  }

 private:
  using Key = std::pair<std::string, std::vector<uint32_t>>;

  CpuSet cpus_;
  std::map<Key, uint64_t> memory_;
  std::map<Key, uint64_t> devices_;
};

}  // namespace

absl::StatusOr<ToldGrants> ReadGrants(absl::string_view answer, const runtime::PodIdentity& pod) {
  v1::GetPodResourcesResponse response;
  PLIMSOLL_RETURN_IF_ERROR(ParseBounded(answer, kMostFieldsOfOne, &response));
  const v1::PodResources& told = response.pod_resources();
  if (told.name() != pod.name || told.namespace_() != pod.pod_namespace) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it is another pod's: ", Quoted(told.name()), " in namespace ", Quoted(told.namespace_()),
        ", asked was ", Quoted(pod.name), " in ", Quoted(pod.pod_namespace)));
  }
  ToldGrants grants;
  for (const v1::ContainerResources& container : told.containers()) {
    PLIMSOLL_ASSIGN_OR_RETURN(runtime::ContainerGrants granted, GrantsOf(container));
    if (!grants.emplace(container.name(), std::move(granted)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("container ", Quoted(container.name()), " is there twice"));
    }
  }
  return grants;
}

absl::StatusOr<Grants> ReadAllGrants(absl::string_view answer) {
  v1::ListPodResourcesResponse response;
  PLIMSOLL_RETURN_IF_ERROR(ParseBounded(answer, kMostFieldsOfAll, &response));
  Sums sums;
  for (const v1::PodResources& pod : response.pod_resources()) {
    for (const v1::ContainerResources& container : pod.containers()) {
      PLIMSOLL_RETURN_IF_ERROR(sums.Add(container));
    }
  }
  return sums.Result();
}

absl::StatusOr<std::vector<Grants::Devices>> ReadDeviceTotals(absl::string_view answer) {
  v1::AllocatableResourcesResponse response;
  PLIMSOLL_RETURN_IF_ERROR(ParseBounded(answer, kMostFieldsOfAll, &response));
  Sums sums;
  for (const v1::ContainerDevices& devices : response.devices()) {
    PLIMSOLL_RETURN_IF_ERROR(sums.Add(devices));
  }
  return sums.Devices();
}

}  // namespace plimsoll::kubelet
