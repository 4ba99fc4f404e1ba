#include "agent/pods/holders.h"

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/pods/agent_pods.h"

namespace plimsoll::agent {
namespace {

ReportedPod Reported(const PodWorker& worker) {
  const bool holds = worker.holds_grant() || worker.is_active();
  PodRecord record = worker.record();
  ReportedPod pod{.pod_namespace = record.key.pod_namespace,
                  .name = record.key.name,
                  .uid = record.uid,
                  .containers = {},
                  .grant = holds ? std::move(record.grant) : PodGrant()};
  const std::shared_ptr<const pod::Manifest> manifest = worker.manifest();
  for (const auto& container : manifest->containers) {
    pod.containers.push_back({container.name, container.role});
  }
  return pod;
}

// The report on a pod whose manifest can't be read.
ReportedPod Reported(const PodRecord& record) {
  std::set<std::string> containers;
  for (const auto& [name, grant] : record.grant.containers) containers.insert(name);
  for (const auto& [name, claims] : record.grant.devices) containers.insert(name);
  ReportedPod pod{.pod_namespace = record.key.pod_namespace,
                  .name = record.key.name,
                  .uid = record.uid,
                  .containers = {},
                  .grant = record.grant};
  for (const std::string& name : containers) pod.containers.push_back({.container = name});
  return pod;
}

}  // namespace

std::vector<ReportedPod> Holders(const AgentPods& pods) {
  std::vector<ReportedPod> holders;
  for (const PodTable::Worker& each : pods.Workers()) {
    if (each->holds_grant() || each->is_active()) holders.push_back(Reported(*each));
  }
  for (const PodRecord& each : pods.Unreadable()) holders.push_back(Reported(each));
  return holders;
}

absl::StatusOr<ReportedPod> HolderOf(const AgentPods& pods, const PodKey& pod) {
  // Without the pods' lock, so that the runtime that starts the pod has its answer in time.
  for (const PodTable::Worker& each : pods.Workers()) {
    if (each->key() == pod) return Reported(*each);
  }
  for (const PodRecord& each : pods.Unreadable()) {
    if (each.key == pod) return Reported(each);
  }
  return absl::NotFoundError(
      absl::StrCat("pod ", pod.name, " in namespace ", pod.pod_namespace, " not found"));
}

}  // namespace plimsoll::agent
