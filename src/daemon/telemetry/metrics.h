// The daemon's metrics for Prometheus. docs/metrics.md lists them with labels and units;
// metrics_doc_test.cc compares the two.
#ifndef PLIMSOLL_DAEMON_TELEMETRY_METRICS_H_
#define PLIMSOLL_DAEMON_TELEMETRY_METRICS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "qos/registry.h"
#include "service/metric_family.h"

namespace plimsoll::daemon {

// Counts by the name of the state.
struct StateCounts {
  std::map<std::string, uint64_t> sandboxes;
  std::map<std::string, uint64_t> containers;
};

// One lane of cri::Lanes.
struct LaneCounts {
  int workers = 0;
  int running = 0;
  int waiting = 0;
  uint64_t exhausted = 0;
};

// The daemon's side towards plimsoll-kube.
struct ClusterCounts {
  uint64_t watchers = 0;      // open streams of WatchNode
  uint64_t reports_sent = 0;  // to all of them
  uint64_t told_claims = 0;   // with pod-level classes
};

// The result of this daemon's recovery.
struct RecoveryCounts {
  absl::Duration duration;
  uint64_t sandboxes = 0;  // found again
  uint64_t containers = 0;
  uint64_t troubles = 0;  // not repaired
};

// Thread-safe, except the Set functions, which come before the first call of Text.
//
// Each label value is kept for ever: none may come from a client or a registry.
class Metrics {
 public:
  // `count` is called once for each Text, in its thread.
  Metrics(const std::string& version, std::function<StateCounts()> count);
  ~Metrics();

  // Shows the QoS classes from now on; `registry` must outlive this.
  void SetClasses(const qos::Registry* registry);
  // `lanes` gives them by name, for each Text.
  void SetLanes(std::function<std::map<std::string, LaneCounts>()> lanes);
  void SetCluster(std::function<ClusterCounts()> cluster);
  // `nri` gives the metrics of plugins, for each Text.
  void SetNri(std::function<MetricFamilies()> nri);
  // Shows this process, from /proc below `host`.
  void SetHost(const FsRoot& host);

  // A finished call. `service` and `method` are names of the contract ("RuntimeService",
  // "RunPodSandbox"), `code` is the status's name ("OK").
  void ObserveRpc(absl::string_view service, absl::string_view method, absl::string_view code,
                  absl::Duration duration);
  void ObserveEvent(const std::string& type);
  // `to_client`: the receiver acts upon it, rather than only observing.
  void ObserveTopologySent(bool to_client);
  void ObservePhase(const std::string& phase, absl::Duration duration);

  // A started sandbox. `attempt`: Kubernetes' count of the ones it replaces.
  void ObserveSandboxStart(uint32_t attempt);
  void ObserveContainerStart(uint32_t attempt);
  // `reason` as in ContainerStatus; an unknown one counts as "Other".
  void ObserveContainerExit(const std::string& reason);

  // Both are called for each pull, from any thread. `bytes` is the number of bytes from the
  // registry.
  void ObservePullStart();
  void ObservePullEnd(const absl::Status& result, absl::Duration duration, uint64_t bytes);

  // A question to kubelet's sockets about a pod; the result is "answered", "late", "refused" or
  // "untold".
  void ObserveKubelet(const std::string& result, absl::Duration duration);

  // Call once.
  void ObserveRecovery(const RecoveryCounts& recovery);

  // The text in the exposition format.
  std::string Text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_TELEMETRY_METRICS_H_
