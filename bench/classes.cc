// bench_classes: the cost of changing a running container's QoS class beyond the kernel's own work
// for it, with a hundred processes.
//
// Classes of type oom, on this machine's kernel, in a group of its own that it removes. Each round
// changes a class, and then does the same by hand: freeze, write each process's file, thaw.
// (bench_rdt measures the type rdt.)
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "bench/beside_kernel.h"
#include "linux/cgroup/cgroup.h"
#include "linux/process.h"
#include "qos/oom.h"

namespace plimsoll::bench {
namespace {

constexpr int kProcesses = 100;
constexpr int kRounds = 200;

absl::Status ByHand(const FsRoot& host, linux::CgroupManager& cgroups, const std::string& group,
                    int value) {
  PLIMSOLL_RETURN_IF_ERROR(cgroups.Freeze(group, absl::Now() + absl::Seconds(1)).status());
  absl::Cleanup thaw = [&] { cgroups.Thaw(group).IgnoreError(); };
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pids, cgroups.Processes(group, /*recursive=*/true));
  for (const pid_t pid : pids) {
    PLIMSOLL_RETURN_IF_ERROR(
        host.Write(absl::StrCat("proc/", pid, "/oom_score_adj"), absl::StrCat(value)));
  }
  return absl::OkStatus();
}

absl::Status Measure() {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto cgroups, linux::CgroupManager::Detect(host));
  const std::string group = absl::StrCat("/plimsoll-bench-classes-", getpid());
  PLIMSOLL_RETURN_IF_ERROR(cgroups->Create(group).status());
  std::vector<Child> children;
  const absl::Cleanup remove = [&] {
    cgroups->KillAll(group, absl::Now() + absl::Seconds(20)).IgnoreError();
    for (Child& child : children) child.Wait().IgnoreError();
    cgroups->Remove(group).IgnoreError();
  };
  for (int i = 0; i < kProcesses; ++i) {
    PLIMSOLL_ASSIGN_OR_RETURN(Child child, Spawn({.argv = {"/bin/sleep", "600"}}));
    PLIMSOLL_RETURN_IF_ERROR(cgroups->AddProcess(group, child.pid()));
    children.push_back(std::move(child));
  }
  qos::ContainerFreezer freezer(cgroups.get(), nullptr);
  // Not below this process's own score, which is the floor here.
  PLIMSOLL_ASSIGN_OR_RETURN(
      auto type, qos::OomType::Create(host, cgroups.get(), &freezer,
                                      {.classes = {{"soon", 900}, {"first", 1000}}}, std::nullopt));
  qos::Target target;
  target.id = "bench";
  target.name = "the benchmark's container";
  target.cgroup_path = group;
  Series whole{.name = absl::StrCat("oom, ", kProcesses, " processes")};
  Series kernel{.name = "the kernel's part"};
  std::string from;
  for (int i = 0; i < kRounds; ++i) {
    const std::string to = i % 2 == 0 ? "first" : "soon";
    absl::Time start = absl::Now();
    PLIMSOLL_RETURN_IF_ERROR(type->Assign(target, from, to));
    whole.Add(absl::Now() - start);
    start = absl::Now();
    PLIMSOLL_RETURN_IF_ERROR(ByHand(host, *cgroups, group, i % 2 == 0 ? 1000 : 900));
    kernel.Add(absl::Now() - start);
    from = to;
  }
  PrintBesideKernel(whole, kernel);
  return absl::OkStatus();
}

}  // namespace
}  // namespace plimsoll::bench

int main() {
  const absl::Status status = plimsoll::bench::Measure();
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_classes: %s\n", status.ToString().c_str());
  return 2;
}
