// Facts about a pod from kubelet's local sockets, for a client that passes nothing down. Plain
// data: kubelet/ reads it, runtime/ makes it part of the pod's picture.
#ifndef PLIMSOLL_RUNTIME_SPEC_POD_FACTS_H_
#define PLIMSOLL_RUNTIME_SPEC_POD_FACTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/spec/pod_resources.h"

namespace plimsoll::runtime {

// A pod's identity, as RunPodSandbox names it.
struct PodIdentity {
  std::string uid;
  std::string name;
  std::string pod_namespace;
};

// Memory or huge pages that kubelet's memory manager pinned for a container.
struct PinnedMemory {
  std::string resource;  // "memory", "hugepages-2Mi"
  std::vector<uint32_t> numa_nodes;
  uint64_t bytes = 0;
  bool operator==(const PinnedMemory&) const = default;
};

// Grants to one container beside its requests and limits.
struct ContainerGrants {
  std::map<std::string, std::vector<std::string>> devices;  // resource to device ids
  std::string exclusive_cpus;                               // kernel's list format; empty: none
  std::vector<PinnedMemory> memory;
  std::vector<std::string> cdi_devices;  // of DRA claims, "vendor.com/class=name"
  bool operator==(const ContainerGrants&) const = default;
};

// The answer of one question.
struct PodFacts {
  // Requests, limits and types of all containers, and those of the pod as a whole; mounts and
  // devices are not known to kubelet's sockets. Empty without `has_spec`.
  PodResources resources;
  bool has_spec = false;                          // the Pods service told the pod
  std::vector<std::string> ephemeral;             // of these containers, by name
  std::map<std::string, ContainerGrants> grants;  // by container
  bool has_grants = false;                        // PodResources told it
  // Fields of KEP-4112's message that nobody told, for people: "requests and limits", "devices of
  // init containers", and why. Empty: every field is known.
  std::vector<std::string> missing;
  bool operator==(const PodFacts&) const = default;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_SPEC_POD_FACTS_H_
