// What the daemon counts, for Prometheus.
//
//   plimsoll_build_info{version}             1
//   plimsoll_rpc_total{method,code}          calls that have ended
//   plimsoll_rpc_duration_seconds{method}    histogram
//   plimsoll_start_phase_duration_seconds{phase}
//                                            histogram of each part of a start, see StartPhase in
//                                            runtime/start_phase.h
//   plimsoll_sandboxes{state}                now
//   plimsoll_containers{state}               now
//   plimsoll_call_workers{calls}             threads that calls of a kind may have: look, work, end
//                                            (stop and remove), exec, fetch (images)
//   plimsoll_calls_running{calls}            now
//   plimsoll_calls_waiting{calls}            for a thread, now
//   plimsoll_calls_delayed_total{calls}      that came when all threads of their kind were taken
//   plimsoll_events_total{type}              entries of the event log
//   cri_dynamic_runtime_config_responses_total
//                                            topologies that clients of GetDynamicRuntimeConfig
//                                            were sent (KEP-5224 names it)
//   plimsoll_class_holders{level,type,class}     pods or containers that hold a QoS class now
//   plimsoll_class_capacity{level,type,class}    how many may; absent: any number
//   plimsoll_class_refusals_total{type,reason}   requests for a class that were refused
//   plimsoll_class_drift{level,type,class}       holders that were not in their class when looked
//   at
//                                                last, twice; some are looked at in each scrape
//   plimsoll_class_<metric>{type,class,id}       what a type measures, of a holder or, without id,
//                                                of a class as a whole
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

// Thread-safe.
class Metrics {
 public:
  // `count` is called once for each request of the endpoint, in a thread of its own.
  // `health`: asked for each request of /healthz; null is always healthy.
  Metrics(const std::string& version, std::function<StateCounts()> count,
          std::function<absl::Status()> health = nullptr);
  ~Metrics();

  // Has the QoS classes shown from now on; `registry` must outlive this. Before Serve.
  void SetClasses(const qos::Registry* registry);

  // `lanes` gives them by name, for each request of the endpoint. Before Serve.
  void SetLanes(std::function<std::map<std::string, LaneCounts>()> lanes);

  // `method` is a name from the contract ("RunPodSandbox"), `code` that of the status ("OK").
  // Neither may come from a client: each different one is kept.
  void ObserveRpc(const std::string& method, const std::string& code, absl::Duration duration);
  void ObserveEvent(const std::string& type);
  void ObserveTopologySent();
  void ObservePhase(const std::string& phase, absl::Duration duration);

  // The exposition format's text.
  std::string Text() const;

  // Serves Text at http://<address>/metrics until destruction, and at /healthz "ok", or 503 and
  // what is wrong. "127.0.0.1:0" takes a free port. UNAVAILABLE.
  absl::Status Serve(const std::string& address);
  // Where it is served; 0 before Serve.
  int port() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_METRICS_H_
