#include "agent/pod_resources/answer_writer.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/memory_manager/static_memory_policy.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

using resources::CpuSet;

// More than a message's tags, lengths and numbers take on the wire.
constexpr size_t kEntryBytes = 32;
constexpr size_t kCpuBytes = 3;  // a varint below CpuSet::kMaxCpus

void AddNodes(NodeMask nodes, ::v1::TopologyInfo* out) {
  for (const uint32_t node : nodes.ToVector()) out->add_nodes()->set_id(node);
}

using Role = resources::ContainerRequirements::Role;

ContainerGrant GrantOf(const ReportedPod& pod, const std::string& container) {
  const auto own = pod.grant.containers.find(container);
  return own == pod.grant.containers.end() ? ContainerGrant() : own->second;
}

// The bytes of a block of the pod's own that its containers leave. An ordinary init container's
// are its successors'.
int64_t LeftBySiblings(const ReportedPod& pod, const MemoryBlock& block) {
  int64_t left = block.bytes;
  for (const PodPart& each : pod.containers) {
    if (each.role == Role::kInit) continue;
    for (const MemoryBlock& taken : GrantOf(pod, each.container).memory) {
      if (taken.resource == block.resource) left -= taken.bytes;
    }
  }
  return left;
}

}  // namespace

AnswerWriter::AnswerWriter(const DeviceStock& stock, size_t most_bytes)
    : stock_(stock), most_bytes_(most_bytes) {
  for (const auto& [resource, has] : stock) {
    for (const Device& device : has.devices) {
      if (device.nodes) nodes_[resource][device.id] = *device.nodes;
    }
  }
}

absl::Status AnswerWriter::Take(size_t bytes) {
  taken_ += bytes;
  if (taken_ <= most_bytes_) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the answer would be longer than ", most_bytes_,
                                                   " bytes, which is the most that is sent"));
}

NodeMask AnswerWriter::NodesOf(const std::string& resource, const std::string& id) const {
  const auto of_resource = nodes_.find(resource);
  if (of_resource == nodes_.end()) return {};
  const auto of_device = of_resource->second.find(id);
  return of_device == of_resource->second.end() ? NodeMask() : of_device->second;
}

absl::Status AnswerWriter::AddDevice(const std::string& resource, const std::string& id,
                                     NodeMask nodes, Devices* out) {
  const auto add = [&] {
    ::v1::ContainerDevices* const entry = out->Add();
    entry->set_resource_name(resource);
    entry->add_device_ids(id);
    return entry;
  };
  const size_t bytes = kEntryBytes + resource.size() + id.size();
  if (nodes.Empty()) {
    PLIMSOLL_RETURN_IF_ERROR(Take(bytes));
    add();
    return absl::OkStatus();
  }
  for (const uint32_t node : nodes.ToVector()) {
    PLIMSOLL_RETURN_IF_ERROR(Take(bytes));
    AddNodes(NodeMask::Of(node), add()->mutable_topology());
  }
  return absl::OkStatus();
}

absl::Status AnswerWriter::AddMemory(
    const std::string& resource, NodeMask nodes, int64_t bytes,
    ::google::protobuf::RepeatedPtrField<::v1::ContainerMemory>* out) {
  if (bytes <= 0) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(
      Take(kEntryBytes + resource.size() + static_cast<size_t>(nodes.Count()) * kEntryBytes));
  ::v1::ContainerMemory* const entry = out->Add();
  entry->set_memory_type(resource);
  entry->set_size(static_cast<uint64_t>(bytes));
  AddNodes(nodes, entry->mutable_topology());
  return absl::OkStatus();
}

absl::Status AnswerWriter::AddCpus(const CpuSet& cpus,
                                   ::google::protobuf::RepeatedField<int64_t>* out) {
  PLIMSOLL_RETURN_IF_ERROR(Take(cpus.Size() * kCpuBytes));
  for (const uint32_t cpu : cpus.ToVector()) out->Add(cpu);
  return absl::OkStatus();
}

absl::Status AnswerWriter::AddMemoryOf(const ReportedPod& pod, const ContainerGrant& own,
                                       ::v1::ContainerResources* out) {
  for (const MemoryBlock& block : own.memory) {
    PLIMSOLL_RETURN_IF_ERROR(
        AddMemory(block.resource, block.nodes, block.bytes, out->mutable_memory()));
  }
  if (!own.memory.empty()) return absl::OkStatus();
  for (const MemoryBlock& block : pod.grant.pod.memory) {
    PLIMSOLL_RETURN_IF_ERROR(
        AddMemory(block.resource, block.nodes, LeftBySiblings(pod, block), out->mutable_memory()));
  }
  return absl::OkStatus();
}

absl::Status AnswerWriter::AddContainer(const ReportedPod& pod, size_t index,
                                        ::v1::ContainerResources* out) {
  const std::string& name = pod.containers[index].container;
  PLIMSOLL_RETURN_IF_ERROR(Take(kEntryBytes + name.size()));
  out->set_name(name);
  const ContainerGrant own = GrantOf(pod, name);
  PLIMSOLL_RETURN_IF_ERROR(
      AddCpus(own.cpus.Empty() ? CpusInPod(pod.grant, pod.containers, index) : own.cpus,
              out->mutable_cpu_ids()));
  PLIMSOLL_RETURN_IF_ERROR(AddMemoryOf(pod, own, out));
  const auto claims = pod.grant.devices.find(name);
  if (claims == pod.grant.devices.end()) return absl::OkStatus();
  for (const auto& [resource, ids] : claims->second) {
    for (const std::string& id : ids) {
      PLIMSOLL_RETURN_IF_ERROR(
          AddDevice(resource, id, NodesOf(resource, id), out->mutable_devices()));
    }
  }
  return absl::OkStatus();
}

absl::Status AnswerWriter::AddPod(const ReportedPod& pod, ::v1::PodResources* out) {
  PLIMSOLL_RETURN_IF_ERROR(Take(kEntryBytes + pod.name.size() + pod.pod_namespace.size()));
  out->set_name(pod.name);
  out->set_namespace_(pod.pod_namespace);
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    if (pod.containers[i].role == Role::kInit) continue;
    PLIMSOLL_RETURN_IF_ERROR(AddContainer(pod, i, out->add_containers()));
  }
  return absl::OkStatus();
}

absl::Status AnswerWriter::AddAllocatable(const NodeManagers& managers,
                                          ::v1::AllocatableResourcesResponse* out) {
  for (const auto& [resource, has] : stock_) {
    if (!has.is_served) continue;
    for (const Device& device : has.devices) {
      if (!device.healthy) continue;
      PLIMSOLL_RETURN_IF_ERROR(AddDevice(resource, device.id, device.nodes.value_or(NodeMask()),
                                         out->mutable_devices()));
    }
  }
  if (managers.cpus() != nullptr) {
    PLIMSOLL_RETURN_IF_ERROR(AddCpus(managers.cpus()->exclusive(), out->mutable_cpu_ids()));
  }
  if (managers.memory() == nullptr) return absl::OkStatus();
  for (const auto& [node, amounts] : managers.memory()->allocatable()) {
    for (const auto& [resource, bytes] : amounts) {
      PLIMSOLL_RETURN_IF_ERROR(
          AddMemory(resource, NodeMask::Of(node), bytes, out->mutable_memory()));
    }
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::agent
