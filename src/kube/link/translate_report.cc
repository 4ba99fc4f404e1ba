#include "kube/link/translate_report.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/printable.h"
#include "topology/wire/translate_topology.h"

namespace plimsoll::kube {
namespace {

namespace wire = ::plimsoll::v1;

std::optional<qos::Level> LevelFrom(const std::string& text) {
  if (text == "pod") return qos::Level::kPod;
  if (text == "container") return qos::Level::kContainer;
  return std::nullopt;
}

NodeClass ClassFrom(const wire::NodeClass& message) {
  return {.name = message.name(),
          .capacity = message.capacity(),
          .holders = message.holders(),
          .meaning = message.meaning(),
          .drift = {message.drift().begin(), message.drift().end()}};
}

NodeClassType TypeFrom(const wire::NodeClassType& message, qos::Level level) {
  NodeClassType type{.name = message.name(),
                     .level = level,
                     .immutable = message.immutable(),
                     .default_class = message.default_class(),
                     .classes = {},
                     .unavailable = message.unavailable()};
  for (const wire::NodeClass& one : message.classes()) type.classes.push_back(ClassFrom(one));
  return type;
}

std::vector<Taken> DevicesFrom(
    const google::protobuf::RepeatedPtrField<wire::TakenDevices>& message) {
  std::vector<Taken> devices;
  for (const wire::TakenDevices& one : message) {
    devices.push_back({.resource = one.resource(),
                       .numa_nodes = {one.numa_nodes().begin(), one.numa_nodes().end()},
                       .amount = one.count()});
  }
  return devices;
}

Exclusive ExclusiveFrom(const wire::Exclusive& message) {
  Exclusive exclusive;
  exclusive.cpus = message.cpus();
  for (const wire::PinnedMemory& one : message.memory()) {
    exclusive.memory.push_back({.resource = one.resource(),
                                .numa_nodes = {one.numa_nodes().begin(), one.numa_nodes().end()},
                                .amount = one.bytes()});
  }
  exclusive.devices = DevicesFrom(message.devices());
  exclusive.device_totals = DevicesFrom(message.device_totals());
  return exclusive;
}

}  // namespace

NodeReport ReportFrom(const wire::NodeReport& message) {
  NodeReport report;
  report.runtime_version = message.version();
  for (const wire::NodeClassType& one : message.types()) {
    if (const auto level = LevelFrom(one.level())) report.types.push_back(TypeFrom(one, *level));
  }
  report.topology_edition = message.topology_edition();
  if (message.has_exclusive()) report.exclusive = ExclusiveFrom(message.exclusive());
  for (const wire::Trouble& one : message.troubles()) {
    report.troubles.push_back({.reason = one.reason(), .message = one.message()});
  }
  if (!message.has_topology()) return report;
  absl::StatusOr<topology::Topology> topology = topology::TopologyFrom(message.topology());
  if (topology.ok()) {
    report.topology = *std::move(topology);
  } else {
    report.troubles.push_back({.reason = "TopologyUnknown",
                               .message = absl::StrCat("plimsolld's topology can't be read: ",
                                                       Printable(topology.status().message()))});
  }
  return report;
}

void FillPodClasses(const PodClasses& pod, wire::SetPodClassesRequest* out) {
  out->set_pod_uid(pod.pod_uid);
  out->set_claim_uid(pod.claim_uid);
  out->mutable_classes()->insert(pod.classes.begin(), pod.classes.end());
}

PodClasses PodClassesFrom(const wire::SetPodClassesRequest& message) {
  return {.pod_uid = message.pod_uid(),
          .claim_uid = message.claim_uid(),
          .classes = {message.classes().begin(), message.classes().end()}};
}

}  // namespace plimsoll::kube
