// The agent's allocations as messages of kubelet's PodResources API, shaped as kubelet 1.36 shapes
// them (pkg/kubelet/apis/podresources, cm/container_manager.go).
#ifndef PLIMSOLL_AGENT_POD_RESOURCES_ANSWER_WRITER_H_
#define PLIMSOLL_AGENT_POD_RESOURCES_ANSWER_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/device_manager/device_stock.h"
#include "agent/managers/allocation_report.h"
#include "agent/managers/node_managers.h"
#include "agent/managers/pod_grant.h"
#include "agent/topology_manager/node_mask.h"
#include "kubelet/podresources/v1/api.pb.h"
#include "resources/cpu_set.h"

namespace plimsoll::agent {

// Clients (DCGM exporter, NFD's topology updater) take no longer answer.
inline constexpr size_t kMostAnswerBytes = 16 << 20;

// Writes one answer. RESOURCE_EXHAUSTED: it would be longer than `most_bytes`.
class AnswerWriter {
 public:
  // `stock` outlives this.
  explicit AnswerWriter(const DeviceStock& stock, size_t most_bytes = kMostAnswerBytes);

  // Ordinary init containers are left out. A device is an entry of its own, or one for each NUMA
  // node near it; none of them are known of a device that has left the node. CPUs are exclusive
  // ones, and in a pod with resources of its own (KEP-2837) those that the container shares with
  // its siblings alone; memory likewise.
  absl::Status AddPod(const ReportedPod& pod, ::v1::PodResources* out);
  // All that pods may have for themselves, given out or not: healthy devices, CPUs that aren't
  // reserved, memory without reservations. Policy none has no CPUs, policy None no memory.
  absl::Status AddAllocatable(const NodeManagers& managers,
                              ::v1::AllocatableResourcesResponse* out);

 private:
  using Devices = ::google::protobuf::RepeatedPtrField<::v1::ContainerDevices>;

  absl::Status AddDevice(const std::string& resource, const std::string& id, NodeMask nodes,
                         Devices* out);
  absl::Status AddMemory(const std::string& resource, NodeMask nodes, int64_t bytes,
                         ::google::protobuf::RepeatedPtrField<::v1::ContainerMemory>* out);
  absl::Status AddCpus(const resources::CpuSet& cpus,
                       ::google::protobuf::RepeatedField<int64_t>* out);
  absl::Status AddContainer(const ReportedPod& pod, size_t index, ::v1::ContainerResources* out);
  absl::Status AddMemoryOf(const ReportedPod& pod, const ContainerGrant& own,
                           ::v1::ContainerResources* out);
  // Empty: it has none, or was removed.
  NodeMask NodesOf(const std::string& resource, const std::string& id) const;
  absl::Status Take(size_t bytes);

  const DeviceStock& stock_;
  const size_t most_bytes_;
  size_t taken_ = 0;
  std::map<absl::string_view, std::map<absl::string_view, NodeMask>> nodes_;  // by resource, id
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_POD_RESOURCES_ANSWER_WRITER_H_
