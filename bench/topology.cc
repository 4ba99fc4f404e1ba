// bench_topology: the cost of reading the topology of a machine of 512 CPUs, and of noticing that
// it hasn't changed; the delay of a change from the kernel's event to its waiters.
//
// The machine is a tree of files. hwloc finds it by this process's environment, so that it takes
// the same path as in a daemon that reads "/"; a captured machine is read by plimsoll-hwloc, which
// adds the start of a process and an exchange of XML.
#include <stdlib.h>
#include <sys/socket.h>

#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/programs/own_program.h"
#include "base/status.h"
#include "bench/series.h"
#include "topology/machine/discover.h"
#include "topology/machine/hwloc_reader.h"
#include "topology/machine/machine_files_for_test.h"
#include "topology/make_zones.h"
#include "topology/tracker.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::bench {
namespace {

constexpr int kDiscoveries = 20;
constexpr int kScans = 500;
constexpr int kEvents = 50;

template <typename Work>
absl::Status Run(const char* name, const char* goal, int rounds, const Work& work) {
  Series series{.name = name};
  for (int i = 0; i < rounds; ++i) {
    const absl::Time start = absl::Now();
    PLIMSOLL_RETURN_IF_ERROR(work());
    series.Add(absl::Now() - start);
  }
  std::printf("%-28s p50 %7.3f ms   least %7.3f ms   %s\n", name, series.Quantile(0.5),
              series.Least(), goal);
  return absl::OkStatus();
}

absl::Status CheckZones(const topology::Machine& machine) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto tree,
                            topology::ZoneTree::Build(topology::MakeZones(machine)));
  if (tree.Cpus().Size() == 512) return absl::OkStatus();
  return absl::InternalError("not all CPUs were found");
}

// A socket in the kernel's place reports that a CPU went or came, as its file then shows. The
// machine is a captured one, whose topology another program reads: that takes longer than the own
// machine's.
absl::Status MeasureEvents(const std::string& hwloc) {
  topology::MachineFiles files;
  topology::AddCpus(files, 2, 4, 2);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return ErrnoStatus(errno, "socketpair");
  }
  const UniqueFd kernel(ends[0]);
  topology::TrackerOptions options = {.host = files.root(), .hwloc_program = hwloc};
  options.events = std::make_shared<linux::UeventSocket>(
      linux::UeventSocket::Adopt(UniqueFd(ends[1]), {.subsystems = {"cpu"}}));
  topology::Publisher publisher;
  absl::Mutex mutex;
  uint64_t newest = 0;
  const int reader = publisher.Subscribe([&](const topology::Edition& edition) {
    absl::MutexLock lock(&mutex);
    newest = edition.number;
  });
  const auto tracker = topology::Tracker::Start(options, &publisher, nullptr);
  uint64_t awaited = 1;
  const auto change = [&]() -> absl::Status {
    const bool goes = ++awaited % 2 == 0;
    files.Put("sys/devices/system/cpu/online", goes ? "0-14\n" : "0-15\n");
    const char* action = goes ? "offline" : "online";
    const std::string event = absl::StrCat(
        action, "@/devices/system/cpu/cpu15", absl::string_view("\0", 1), "ACTION=", action,
        absl::string_view("\0", 1), "DEVPATH=/devices/system/cpu/cpu15", absl::string_view("\0", 1),
        "SUBSYSTEM=cpu", absl::string_view("\0", 1));
    if (send(kernel.get(), event.data(), event.size(), 0) < 0) return ErrnoStatus(errno, "send");
    const auto is_there = [&] { return newest >= awaited; };
    absl::MutexLock lock(&mutex);
    if (mutex.AwaitWithTimeout(absl::Condition(&is_there), absl::Seconds(10))) {
      return absl::OkStatus();
    }
    return absl::DeadlineExceededError("an event was followed by no topology");
  };
  const absl::Status status =
      Run("from event to message", "(the goal: below 50 ms)", kEvents, change);
  publisher.Unsubscribe(reader);
  return status;
}

absl::Status Measure() {
  topology::MachineFiles files;
  topology::AddMachineOf512Cpus(files);
  const FsRoot root = files.root();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string hwloc, FindOwnProgram("plimsoll-hwloc"));
  const auto captured = [&]() -> absl::Status {
    PLIMSOLL_ASSIGN_OR_RETURN(const topology::Machine machine, topology::Discover(root, hwloc));
    return CheckZones(machine);
  };
  const auto whole = [&]() -> absl::Status {
    PLIMSOLL_ASSIGN_OR_RETURN(topology::Machine machine, topology::ReadWithHwloc());
    PLIMSOLL_RETURN_IF_ERROR(topology::CompleteFromFiles(root, machine));
    return CheckZones(machine);
  };
  const auto hwlocs_part = [] { return topology::ReadWithHwloc().status(); };
  PLIMSOLL_RETURN_IF_ERROR(MeasureEvents(hwloc));
  PLIMSOLL_RETURN_IF_ERROR(Run("512 CPUs, captured", "", kDiscoveries, captured));
  setenv("HWLOC_FSROOT", root.path().c_str(), 1);
  setenv("HWLOC_COMPONENTS", "linux,stop", 1);
  PLIMSOLL_RETURN_IF_ERROR(Run("hwloc's part of 512 CPUs", "", kDiscoveries, hwlocs_part));
  PLIMSOLL_RETURN_IF_ERROR(Run("512 CPUs", "(the goal: below 80 ms)", kDiscoveries, whole));
  return Run("a look that finds no change", "(the goal: below 2 ms)", kScans,
             [&] { return topology::Signature(root).status(); });
}

}  // namespace
}  // namespace plimsoll::bench

int main() {
  const absl::Status status = plimsoll::bench::Measure();
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_topology: %s\n", status.ToString().c_str());
  return 2;
}
