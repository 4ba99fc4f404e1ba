#include "cli/agent_commands/agent_pod_summary.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/terminal/object_fields.h"

namespace plimsoll::cli {
namespace {

std::string EndOf(const KubeObject& terminated) {
  const std::string reason = TextOf(terminated, {"reason"});
  if (!reason.empty()) return reason;
  const int64_t signal = NumberOf(terminated, {"signal"});
  if (signal != 0) return absl::StrCat("Signal:", signal);
  return absl::StrCat("ExitCode:", NumberOf(terminated, {"exitCode"}));
}

bool Has(const KubeObject& object, std::initializer_list<const char*> path) {
  return !FieldOf(object, path).is_null();
}

class Summary {
 public:
  explicit Summary(const KubeObject& pod) : pod_(pod) {
    const std::vector<KubeObject> init = ItemsOf(pod, {"spec", "initContainers"});
    for (const KubeObject& container : init) {
      if (TextOf(container, {"restartPolicy"}) == "Always") {
        sidecars_.insert(TextOf(container, {"name"}));
      }
    }
    init_count_ = init.size();
    summary_.containers =
        static_cast<int>(ItemsOf(pod, {"spec", "containers"}).size() + sidecars_.size());
  }

  PodSummary Make() {
    summary_.status = TextOf(pod_, {"status", "phase"});
    if (Has(pod_, {"status", "reason"})) summary_.status = TextOf(pod_, {"status", "reason"});
    const bool initializing = TakeInitContainers();
    if (!initializing || ConditionOf(pod_, "Initialized") == "True") TakeContainers();
    const std::string phase = TextOf(pod_, {"status", "phase"});
    if (Has(pod_, {"metadata", "deletionTimestamp"}) && phase != "Succeeded" && phase != "Failed") {
      summary_.status = "Terminating";
    }
    if (summary_.status.empty()) summary_.status = "Unknown";
    return summary_;
  }

 private:
  // True: one hasn't ended yet; it gives the status.
  bool TakeInitContainers() {
    size_t index = 0;
    for (const KubeObject& status : ItemsOf(pod_, {"status", "initContainerStatuses"})) {
      Count(status);
      const bool sidecar = sidecars_.contains(TextOf(status, {"name"}));
      const std::string blocked = sidecar ? BlockedSidecar(status, index) : Blocked(status, index);
      ++index;
      if (blocked.empty()) continue;
      summary_.status = absl::StrCat("Init:", blocked);
      return true;
    }
    return false;
  }

  std::string BlockedSidecar(const KubeObject& status, size_t index) {
    if (!FlagOf(status, {"started"})) return Blocked(status, index);
    if (FlagOf(status, {"ready"})) ++summary_.ready;
    return "";
  }

  // Empty: the container has done its part.
  std::string Blocked(const KubeObject& status, size_t index) const {
    const KubeObject& terminated = FieldOf(status, {"state", "terminated"});
    if (!terminated.is_null()) {
      return NumberOf(terminated, {"exitCode"}) == 0 ? "" : EndOf(terminated);
    }
    const std::string waiting = TextOf(status, {"state", "waiting", "reason"});
    if (!waiting.empty() && waiting != "PodInitializing") return waiting;
    return absl::StrCat(index, "/", init_count_);
  }

  // The first container with something to say gives the status.
  void TakeContainers() {
    std::string reason;
    bool has_running = false;
    for (const KubeObject& status : ItemsOf(pod_, {"status", "containerStatuses"})) {
      Count(status);
      const std::string waiting = TextOf(status, {"state", "waiting", "reason"});
      const KubeObject& terminated = FieldOf(status, {"state", "terminated"});
      const std::string said = !waiting.empty()        ? waiting
                               : !terminated.is_null() ? EndOf(terminated)
                                                       : "";
      if (reason.empty()) reason = said;
      const bool ready = FlagOf(status, {"ready"}) && Has(status, {"state", "running"});
      if (ready) ++summary_.ready;
      has_running = has_running || ready;
    }
    if (!reason.empty()) summary_.status = reason;
    if (summary_.status == "Completed" && has_running) {
      summary_.status = ConditionOf(pod_, "Ready") == "True" ? "Running" : "NotReady";
    }
  }

  void Count(const KubeObject& status) {
    summary_.restarts += NumberOf(status, {"restartCount"});
    summary_.last_restart =
        std::max(summary_.last_restart, TimeOf(status, {"lastState", "terminated", "finishedAt"}));
  }

  const KubeObject& pod_;
  std::set<std::string> sidecars_;
  size_t init_count_ = 0;
  PodSummary summary_;
};

}  // namespace

PodSummary Summarize(const KubeObject& pod) {
  return Summary(pod).Make();
}

}  // namespace plimsoll::cli
