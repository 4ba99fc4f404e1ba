// Measurements of one CRI runtime through its socket.
#ifndef PLIMSOLL_BENCH_ENDPOINT_H_
#define PLIMSOLL_BENCH_ENDPOINT_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "bench/cri_client.h"
#include "bench/series.h"

namespace plimsoll::bench {

struct Workload {
  int pods = 30;       // one after the other, and again at once
  int parallel = 10;   // at once
  int resident = 100;  // pods kept for the figures of memory and the short list
  int listed = 1000;   // containers of the long list; fewer than `resident`: not measured
  int lists = 100;     // calls for each list
};

struct Memory {
  int64_t daemon_idle_kib = 0;      // resident
  int64_t daemon_resident_kib = 0;  // with Workload::resident pods
  int64_t monitors_kib = 0;         // PSS of all monitors or shims of these pods
  int monitors = 0;
  int64_t available_fall_kib = 0;  // fall of the machine's MemAvailable
};

struct Figures {
  std::string name;
  Series sandbox{"RunPodSandbox", {}};
  Series create{"CreateContainer", {}};
  Series start{"StartContainer", {}};
  Series exec{"ExecSync", {}};
  Series stop{"StopContainer", {}};
  Series remove{"RemoveContainer", {}};
  Series remove_sandbox{"Stop+RemovePodSandbox", {}};
  Series pod{"sandbox+create+start", {}};  // sums of the first three
  // Lists: with Workload::resident pods, the last two with Workload::listed containers.
  Series list_short{"ListContainers, short", {}};
  Series list_pods{"ListPodSandbox", {}};
  Series list_stats{"ListContainerStats", {}};
  Series list_pod_stats{"ListPodSandboxStats", {}};
  Series list_long{"ListContainers, long", {}};
  Series list_pods_long{"ListPodSandbox, with long", {}};
  double pods_per_second = 0;
  double cpu_milliseconds_per_pod = 0;  // of the whole machine while pods start in parallel
  Memory memory;

  std::vector<const Series*> calls() const {
    return {&sandbox, &create, &start, &exec, &stop, &remove, &remove_sandbox, &pod};
  }
  std::vector<const Series*> lists() const {
    return {&list_short, &list_pods, &list_stats, &list_pod_stats, &list_long, &list_pods_long};
  }
};

class Endpoint {
 public:
  // `daemon`: the process that serves the socket. `host` holds proc/.
  Endpoint(std::string name, CriClient* client, pid_t daemon, FsRoot host)
      : client_(client), daemon_(daemon), host_(std::move(host)) {
    figures_.name = std::move(name);
  }

  // Measures the daemon before it is given work.
  absl::Status Idle();
  // Runs one pod's whole life and adds it to the figures. `running` is called with the running
  // container between start and exec.
  absl::Status OnePod(const std::function<absl::Status(const std::string& container)>& running);
  // Measures the rates of pods that are started at once, and removes them.
  absl::Status InParallel(const Workload& workload);
  // Measures memory with many pods, and lists of them, and removes all.
  absl::Status Resident(const Workload& workload);

  const Figures& figures() const { return figures_; }

 private:
  absl::StatusOr<Sandbox> StartPod(const std::string& name, absl::Duration* took);
  // A list's call, which returns the number of entries.
  using ListCall = absl::StatusOr<int> (CriClient::*)(absl::Duration* took);
  absl::Status MeasureList(ListCall call, int calls, int expected, Series* series);
  absl::Status MeasureLists(const Workload& workload);
  absl::Status FillList(const std::vector<Sandbox>& sandboxes, const Workload& workload);
  std::map<pid_t, int64_t> MonitorPss() const;
  absl::StatusOr<int64_t> DaemonResidentKib() const;
  std::string NextName();

  CriClient* const client_;
  const pid_t daemon_;
  const FsRoot host_;
  Figures figures_;
  int number_ = 0;
};

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_ENDPOINT_H_
