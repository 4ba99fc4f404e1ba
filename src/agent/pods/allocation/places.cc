#include "agent/pods/allocation/places.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_join.h"
#include "agent/managers/pod_parts.h"
#include "agent/topology_manager/node_mask.h"

namespace plimsoll::agent {
namespace {

using resources::CpuSet;

CpuSet OwnCpus(const PodGrant& grant, const std::string& container) {
  const auto it = grant.containers.find(container);
  return it == grant.containers.end() ? CpuSet() : it->second.cpus;
}

std::vector<PodPart> PartsOf(const pod::Manifest& pod) {
  std::vector<PodPart> parts;
  for (const pod::ContainerManifest& each : pod.containers) parts.push_back({each.name, each.role});
  return parts;
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
  const std::vector<PodPart> parts = PartsOf(pod);
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const std::string& name = pod.containers[i].name;
    pod::ContainerPlace& place = places[name];
    const CpuSet own = OwnCpus(grant, name);
    place.exclusive = !own.Empty();
    const CpuSet cpus = place.exclusive           ? own
                        : !grant.pod.cpus.Empty() ? CpusInPod(grant, parts, i)
                                                  : shared.value_or(CpuSet());
    place.cpus = cpus.ToString();
    place.memory_nodes = absl::StrJoin(MemoryNodesOf(grant, name).ToVector(), ",");
  }
  return places;
}

}  // namespace plimsoll::agent
