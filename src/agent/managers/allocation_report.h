// Who has what on the node, as JSON for people's and programs' eyes: GET /allocations.
//
//   {"kind": "Allocations",
//    "cpuManagerPolicy": "static", "memoryManagerPolicy": "Static",
//    "topologyManagerPolicy": "single-numa-node", "topologyManagerScope": "pod",
//    "cpus": {"all": "0-7", "reserved": "0", "exclusive": "2-3", "shared": "0-1,4-7",
//             "free": "1,4-7"},
//    "cpuPlaces": [{"cpu": 0, "core": 0, "numaNode": 0, "package": 0}, …],
//    "memory": [{"numaNode": 0, "cpus": "0-3",
//                "resources": {"memory": {"capacity": 8589934592, "allocatable": …, "used": …}}}],
//    "devices": {"example.com/gpu": [{"id": "gpu-0", "healthy": true, "numaNodes": "0",
//                "holder": {"namespace": "default", "name": "web", "containers": ["nginx"]}}]},
//    "pods": [{"namespace": "default", "name": "web", "uid": "…", "cpus": "2-3", "containers":
//              [{"name": "nginx", "cpus": "2-3", "cpuCount": 2, "exclusive": true,
//                "memoryNodes": "0", "memory": [{"resource": "memory", "numaNodes": "0",
//                "bytes": 1073741824}], "devices": {"example.com/gpu": ["gpu-0"]}}]}]}
//
// CPUs and NUMA nodes are the kernel's lists, amounts of memory are bytes. "free" can still become
// exclusive. Without exclusive CPUs a container's "cpus" are those that it shares, in a pod with
// CPUs of its own with siblings alone; "cpuCount" is then absent. "memoryNodes" without "memory"
// are the pod's. Nothing of the machine is reported while no topology is known, and no "free",
// "reserved" or "allocatable" where the policy is none. A device that is held and gone has
// "present": false.
#ifndef PLIMSOLL_AGENT_MANAGERS_ALLOCATION_REPORT_H_
#define PLIMSOLL_AGENT_MANAGERS_ALLOCATION_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "agent/device_manager/device_stock.h"
#include "agent/managers/node_managers.h"
#include "agent/managers/pod_grant.h"
#include "agent/managers/pod_parts.h"
#include "topology/zones/maps.h"

namespace plimsoll::agent {

// The report's sources about the machine.
struct AllocationSources {
  ManagerOptions options;                       // their policies
  const topology::MachineMaps* maps = nullptr;  // null: no topology yet
  resources::CpuSet reserved;                   // with static CPUs
  MemoryByNode allocatable;                     // with static memory
};
// The sources of the managers that exist. `managers` must outlive the result.
AllocationSources SourcesOf(const NodeManagers& managers);

struct ReportedPod {
  std::string pod_namespace, name, uid;
  std::vector<PodPart> containers;  // in the pod's order
  PodGrant grant;
};

nlohmann::json ReportAllocations(const AllocationSources& sources, const DeviceStock& devices,
                                 const std::vector<ReportedPod>& pods);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_ALLOCATION_REPORT_H_
