#include "soak/lister.h"

#include <set>
#include <string>

#include "soak/calls.h"

namespace plimsoll::testing {
namespace {

using Stub = cri::RuntimeService::Stub;

const std::string& IdOf(const cri::PodSandbox& pod) {
  return pod.id();
}
const std::string& IdOf(const cri::Container& container) {
  return container.id();
}
const std::string& IdOf(const cri::ContainerStats& stats) {
  return stats.attributes().id();
}
const std::string& IdOf(const cri::PodSandboxStats& stats) {
  return stats.attributes().id();
}
const std::string& IdOf(const cri::PodSandboxMetrics& metrics) {
  return metrics.pod_sandbox_id();
}

// The ids in one list, in one piece or several.
class Ids {
 public:
  Ids(Calls* calls, const char* list) : calls_(calls), list_(list) {}
  template <typename Items>
  void Add(const Items& items) {
    for (const auto& item : items) {
      if (ids_.insert(IdOf(item)).second) continue;
      calls_->Fault(absl::StrCat(list_, " has ", IdOf(item), " twice"));
    }
  }

 private:
  Calls* const calls_;
  const char* const list_;
  std::set<std::string> ids_;
};

void ListWhole(Calls* calls) {
  cri::ListPodSandboxResponse pods;
  calls->Ask("ListPodSandbox", &Stub::ListPodSandbox, {}, &pods);
  Ids(calls, "ListPodSandbox").Add(pods.items());
  cri::ListContainersResponse containers;
  calls->Ask("ListContainers", &Stub::ListContainers, {}, &containers);
  Ids(calls, "ListContainers").Add(containers.containers());
  cri::ListContainerStatsResponse container_stats;
  calls->Ask("ListContainerStats", &Stub::ListContainerStats, {}, &container_stats);
  Ids(calls, "ListContainerStats").Add(container_stats.stats());
  cri::ListPodSandboxStatsResponse pod_stats;
  calls->Ask("ListPodSandboxStats", &Stub::ListPodSandboxStats, {}, &pod_stats);
  Ids(calls, "ListPodSandboxStats").Add(pod_stats.stats());
  cri::ListPodSandboxMetricsResponse metrics;
  calls->Ask("ListPodSandboxMetrics", &Stub::ListPodSandboxMetrics, {}, &metrics);
  Ids(calls, "ListPodSandboxMetrics").Add(metrics.pod_metrics());
}

void ListByStreams(Calls* calls) {
  Ids pods(calls, "StreamPodSandboxes");
  for (const auto& piece : calls->AskStream("StreamPodSandboxes", &Stub::StreamPodSandboxes, {})) {
    pods.Add(piece.pod_sandboxes());
  }
  Ids containers(calls, "StreamContainers");
  for (const auto& piece : calls->AskStream("StreamContainers", &Stub::StreamContainers, {})) {
    containers.Add(piece.containers());
  }
  Ids container_stats(calls, "StreamContainerStats");
  for (const auto& piece :
       calls->AskStream("StreamContainerStats", &Stub::StreamContainerStats, {})) {
    container_stats.Add(piece.container_stats());
  }
  Ids pod_stats(calls, "StreamPodSandboxStats");
  for (const auto& piece :
       calls->AskStream("StreamPodSandboxStats", &Stub::StreamPodSandboxStats, {})) {
    pod_stats.Add(piece.pod_sandbox_stats());
  }
  Ids metrics(calls, "StreamPodSandboxMetrics");
  for (const auto& piece :
       calls->AskStream("StreamPodSandboxMetrics", &Stub::StreamPodSandboxMetrics, {})) {
    metrics.Add(piece.pod_sandbox_metrics());
  }
}

}  // namespace

void ListAll(Node& node, Journal& journal) {
  Calls calls(&node, &journal, "the list of all");
  ListWhole(&calls);
  ListByStreams(&calls);
}

}  // namespace plimsoll::testing
