// What the daemon counts, for Prometheus. docs/metrics.md has the list, with labels and units, and
// is held against this by metrics_doc_test.cc.
#ifndef PLIMSOLL_DAEMON_METRICS_H_
#define PLIMSOLL_DAEMON_METRICS_H_

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

namespace plimsoll::daemon {

// How many there are by the name of their state.
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

// How the start of this daemon went.
struct RecoveryCounts {
  absl::Duration duration;
  uint64_t sandboxes = 0;  // that were found again
  uint64_t containers = 0;
  uint64_t troubles = 0;  // that could not be put in order
};

// Thread-safe, but for the Set functions, which come before Text is called for the first time.
//
// Each different value of a label is kept for ever: none may come from a client or a registry.
class Metrics {
 public:
  // `count` is called once for each Text, in its thread.
  Metrics(const std::string& version, std::function<StateCounts()> count);
  ~Metrics();

  // Has the QoS classes shown from now on; `registry` must outlive this.
  void SetClasses(const qos::Registry* registry);
  // `lanes` gives them by name, for each Text.
  void SetLanes(std::function<std::map<std::string, LaneCounts>()> lanes);
  // Has this process shown, by /proc below `host`.
  void SetHost(const FsRoot& host);

  // A call that has ended. `service` and `method` are names from the contract ("RuntimeService",
  // "RunPodSandbox"), `code` is that of the status ("OK").
  void ObserveRpc(absl::string_view service, absl::string_view method, absl::string_view code,
                  absl::Duration duration);
  void ObserveEvent(const std::string& type);
  // `to_client`: to one that acts upon it, not to one that only looks.
  void ObserveTopologySent(bool to_client);
  void ObservePhase(const std::string& phase, absl::Duration duration);

  // That one was started. `attempt`: Kubernetes' count of those that it stands in for.
  void ObserveSandboxStart(uint32_t attempt);
  void ObserveContainerStart(uint32_t attempt);
  // `reason` as in ContainerStatus; one that isn't known is counted as "Other".
  void ObserveContainerExit(const std::string& reason);

  // Each pull under way is told of twice, in any thread. `bytes` is what came from the registry.
  void ObservePullStart();
  void ObservePullEnd(const absl::Status& result, absl::Duration duration, uint64_t bytes);

  // Once.
  void ObserveRecovery(const RecoveryCounts& recovery);

  // The exposition format's text.
  std::string Text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_METRICS_H_
