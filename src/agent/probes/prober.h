// Probes the containers of all pods of an agent.
#ifndef PLIMSOLL_AGENT_PROBES_PROBER_H_
#define PLIMSOLL_AGENT_PROBES_PROBER_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agent/probes/probe_kind.h"
#include "agent/probes/probe_table.h"
#include "agent/probes/run_probe.h"
#include "base/worker_pool.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// Something to tell people of a probe, in kubelet's words.
struct ProbeEvent {
  std::string uid, pod_namespace, pod, container;
  std::string reason;  // "Unhealthy", "ProbeWarning"
  std::string message;
};

// Thread-safe. A probe under way holds a thread of a pool; the pool has more threads than a node
// has probes, so that hanging commands hold up no others. Without probes there is one thread,
// asleep.
class Prober {
 public:
  struct Options {
    RunProbeCommand command;
    // A pod's health has changed. As the next, called from threads of the pool, without a lock.
    std::function<void(const std::string& uid)> wake;
    std::function<void(const ProbeEvent& event)> tell;
    int max_threads = 512;
  };
  explicit Prober(Options options);
  // Waits for the probes under way: those by network end soon, the owner ends commands.
  ~Prober();
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  // ProbeTable's Sync.
  std::map<std::string, ContainerHealth> Sync(const ProbedPod& pod, const pod::Manifest& manifest);
  void Forget(const std::string& uid);
  std::vector<ProbeCount> Counts() const;

 private:
  void Schedule();
  void Run(const ProbeJob& job);
  void Tell(const ProbeJob& job, const ProbeOutcome& outcome) const;

  const Options options_;
  mutable std::mutex mutex_;
  // The standard library's: its waits use the monotonic clock.
  std::condition_variable changed_;
  ProbeTable table_;
  bool is_ending_ = false;
  WorkerPool pool_;
  std::thread scheduler_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PROBES_PROBER_H_
