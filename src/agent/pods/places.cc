#include "agent/pods/places.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_join.h"
#include "agent/topology_manager/node_mask.h"
#include "resources/requirements.h"

namespace plimsoll::agent {
namespace {

using resources::CpuSet;
using Role = resources::ContainerRequirements::Role;

CpuSet OwnCpus(const PodGrant& grant, const std::string& container) {
  const auto it = grant.containers.find(container);
  return it == grant.containers.end() ? CpuSet() : it->second.cpus;
}

std::string NodesOf(const std::vector<MemoryBlock>& blocks) {
  NodeMask nodes;
  for (const MemoryBlock& each : blocks) nodes = nodes | each.nodes;
  return absl::StrJoin(nodes.ToVector(), ",");
}

std::string MemoryNodesOf(const PodGrant& grant, const std::string& container) {
  const auto it = grant.containers.find(container);
  if (it != grant.containers.end() && !it->second.memory.empty()) return NodesOf(it->second.memory);
  return NodesOf(grant.pod.memory);
}

// The pod's own CPUs without those of the siblings beside which the container runs.
CpuSet LeftOf(const pod::Manifest& pod, const PodGrant& grant, size_t index) {
  const bool is_init = pod.containers[index].role == Role::kInit;
  CpuSet left = grant.pod.cpus;
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const Role role = pod.containers[i].role;
    if (i == index || role == Role::kInit) continue;
    if (is_init && (role == Role::kContainer || i > index)) continue;
    left = left.Difference(OwnCpus(grant, pod.containers[i].name));
  }
  // Admission leaves some for each; losses of hot-plug may not.
  return left.Empty() ? grant.pod.cpus : left;
}

}  // namespace

bool HasExclusiveCpus(const PodGrant& grant, const std::string& container) {
  return !OwnCpus(grant, container).Empty();
}

bool HasExclusiveCpus(const PodGrant& grant, const pod::Manifest& pod) {
  const auto has = [&](const pod::ContainerManifest& each) {
    return HasExclusiveCpus(grant, each.name);
  };
  const auto& all = pod.containers;
  return pod.resources ? std::all_of(all.begin(), all.end(), has)
                       : std::any_of(all.begin(), all.end(), has);
}

std::map<std::string, pod::ContainerPlace> PlacesOf(const pod::Manifest& pod, const PodGrant& grant,
                                                    const std::optional<CpuSet>& shared) {
  std::map<std::string, pod::ContainerPlace> places;
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const std::string& name = pod.containers[i].name;
    pod::ContainerPlace& place = places[name];
    const CpuSet own = OwnCpus(grant, name);
    place.exclusive = !own.Empty();
    const CpuSet cpus = place.exclusive           ? own
                        : !grant.pod.cpus.Empty() ? LeftOf(pod, grant, i)
                                                  : shared.value_or(CpuSet());
    place.cpus = cpus.ToString();
    place.memory_nodes = MemoryNodesOf(grant, name);
  }
  return places;
}

}  // namespace plimsoll::agent
