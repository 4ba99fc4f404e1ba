// The times of probes, and the meaning of their outcomes for containers: kubelet's rules
// (pkg/kubelet/prober, "worker"), without threads and clocks.
#ifndef PLIMSOLL_AGENT_PROBES_PROBE_TABLE_H_
#define PLIMSOLL_AGENT_PROBES_PROBE_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/probes/probe_kind.h"
#include "base/steady_time.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// A running container.
struct ProbedContainer {
  std::string name;
  std::string id;
  absl::Duration age;    // since its start
  bool started = false;  // its startup probe is known to have succeeded
};

struct ProbedPod {
  std::string uid;
  std::string pod_namespace;
  std::string name;
  std::string address;  // of its network, or the host's; empty: it has none
  std::vector<ProbedContainer> running;
  bool is_ending = false;  // only readiness is probed
};

// One probe that is to run now.
struct ProbeJob {
  std::string uid, pod_namespace, pod;
  std::string container;     // its name
  std::string container_id;  // the run that is meant
  std::string address;
  ProbeKind kind = ProbeKind::kLiveness;
  std::shared_ptr<const pod::Probe> probe;
  std::shared_ptr<const std::atomic<bool>> given_up;  // nobody waits for the outcome any more
};

// How often a container's probe has had a result, since the agent began to probe it.
struct ProbeCount {
  std::string uid, pod_namespace, pod, container;
  ProbeKind kind = ProbeKind::kLiveness;
  uint64_t successful = 0, failed = 0, unknown = 0;
};

// Used by one thread at a time. `now` never goes back.
class ProbeTable {
 public:
  // Takes the pod's present state: containers that are new, have restarted or gone, its address.
  // The manifest has the probes at the first call for a pod, and is not kept. Returns the health
  // of all running containers by id, those without probes too.
  std::map<std::string, ContainerHealth> Sync(const ProbedPod& pod, const pod::Manifest& manifest,
                                              SteadyTime now);
  void Forget(const std::string& uid);

  // The probes that are due. Each is settled by one call of Finish or Postpone, and doesn't fall
  // due until then.
  std::vector<ProbeJob> TakeDue(SteadyTime now);
  // The next time at which one is due; kNever.
  SteadyTime NextDue() const;

  struct News {
    bool counts = false;   // false: the container has ended or restarted meanwhile
    bool changed = false;  // the container's health is another
  };
  News Finish(const ProbeJob& job, const ProbeOutcome& outcome, SteadyTime now);
  void Postpone(const ProbeJob& job, SteadyTime until);

  std::vector<ProbeCount> Counts() const;

 private:
  static constexpr size_t kKinds = 3;  // of ProbeKind

  struct Entry {
    std::shared_ptr<const pod::Probe> probe;
    SteadyTime due = kNever;
    bool is_running = false;
    std::optional<bool> result;  // by the thresholds; nullopt: none yet
    bool last = false;           // the last outcome that counted
    int64_t run = 0;             // outcomes like it, one after the other
    std::shared_ptr<std::atomic<bool>> given_up;
    ProbeCount count;
  };
  struct Container {
    std::string id;  // empty: it doesn't run
    SteadyTime start;
    SteadyTime earliest;                               // of its first probe
    std::array<std::optional<Entry>, kKinds> entries;  // by ProbeKind
  };
  struct Pod {
    std::string pod_namespace, name, address;
    bool is_ending = false;
    std::map<std::string, Container> containers;  // by name; those with probes
  };

  static Pod NewPod(const ProbedPod& pod, const pod::Manifest& manifest);
  static void Reset(Entry& entry);
  // The container began a new run, or ended: `running` null.
  static void Begin(Container& container, const ProbedContainer* running, SteadyTime now);
  // Lets the probes run whose turn it is: those of liveness and readiness once it has started.
  static void Arm(Container& container, bool is_ending, SteadyTime now);
  static bool HasStarted(const Container& container);
  static ContainerHealth HealthOf(const Container& container);
  // Null: the job's container has ended or restarted.
  Entry* Find(const ProbeJob& job);

  std::map<std::string, Pod> pods_;  // by uid
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PROBES_PROBE_TABLE_H_
