// bench_rdt: the cost of changing a running container's rdt class beyond the kernel's own work for
// it, with a hundred threads.
//
// On resctrl's stand-in (tests/resctrlfs), in a cgroup of its own that it removes. Each round
// changes a class, and then does the same by hand: freeze, write each thread to the class's group
// and to the container's monitoring group in it, thaw.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "bench/beside_kernel.h"
#include "linux/cgroup/cgroup.h"
#include "linux/resctrl.h"
#include "qos/container_freezer.h"
#include "qos/owned_in_memory_for_test.h"
#include "qos/rdt/rdt.h"
#include "resctrlfs/fixture.h"
#include "resctrlfs/member.h"

namespace plimsoll::bench {
namespace {

constexpr int kThreads = 100;
constexpr int kRounds = 50;
constexpr char kClasses[] = R"(
partitions:
  all:
    l3Allocation: 100%
    classes:
      gold: {}
      silver: {l3Allocation: 50%}
)";

absl::StatusOr<std::unique_ptr<resctrlfs::ResctrlFsFixture>> StartResctrl() {
  if (const std::string why = resctrlfs::ResctrlFsFixture::WhyNot(); !why.empty()) {
    return absl::FailedPreconditionError(why);
  }
  resctrlfs::Layout layout;
  layout.monitoring = resctrlfs::MonitoringLayout();
  return resctrlfs::ResctrlFsFixture::Start(layout);
}

absl::Status ByHand(const linux::Resctrl& resctrl, linux::CgroupManager& cgroups,
                    const qos::Target& target, const std::string& to) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto control, resctrl.OpenTasks(to));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto monitor, resctrl.OpenTasks(linux::MonitoringGroupPath(
                                                    to, absl::StrCat("plimsoll-", target.id))));
  PLIMSOLL_RETURN_IF_ERROR(
      cgroups.Freeze(target.cgroup_path, absl::Now() + absl::Seconds(1)).status());
  const absl::Cleanup thaw = [&] { cgroups.Thaw(target.cgroup_path).IgnoreError(); };
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<pid_t> threads, cgroups.Threads(target.cgroup_path));
  for (const pid_t thread : threads) PLIMSOLL_RETURN_IF_ERROR(control.Add(thread));
  for (const pid_t thread : threads) PLIMSOLL_RETURN_IF_ERROR(monitor.Add(thread));
  return absl::OkStatus();
}

absl::Status MeasureChanges(qos::ClassType& type, const qos::Target& target,
                            const linux::Resctrl& resctrl, linux::CgroupManager& cgroups) {
  Series whole{.name = absl::StrCat("rdt, ", kThreads, " threads")};
  Series kernel{.name = "the part of resctrl's stand-in and the kernel"};
  std::string from;
  for (int i = 0; i < kRounds; ++i) {
    const std::string to = i % 2 == 0 ? "gold" : "silver";
    absl::Time start = absl::Now();
    PLIMSOLL_RETURN_IF_ERROR(type.Assign(target, from, to));
    whole.Add(absl::Now() - start);
    start = absl::Now();
    PLIMSOLL_RETURN_IF_ERROR(ByHand(resctrl, cgroups, target, to));
    kernel.Add(absl::Now() - start);
    from = to;
  }
  PrintBesideKernel(whole, kernel);
  return type.Release(target, from);
}

absl::Status Measure() {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto cgroups, linux::CgroupManager::Detect(host));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto machine, StartResctrl());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto resctrl, linux::Resctrl::Open(machine->root()));
  const TestDir directory;
  PLIMSOLL_RETURN_IF_ERROR(directory.root().ReplaceFile("rdt.yaml", kClasses));

  qos::Target target;
  target.id = "bench";
  target.name = "the benchmark's container";
  target.cgroup_path = absl::StrCat("/plimsoll-bench-rdt-", getpid());
  PLIMSOLL_RETURN_IF_ERROR(cgroups->Create(target.cgroup_path).status());
  resctrlfs::Member member;
  const absl::Cleanup remove = [&] {
    cgroups->KillAll(target.cgroup_path, absl::Now() + absl::Seconds(20)).IgnoreError();
    cgroups->Remove(target.cgroup_path).IgnoreError();
  };
  PLIMSOLL_RETURN_IF_ERROR(cgroups->AddProcess(target.cgroup_path, member.pid()));
  for (int i = 1; i < kThreads; ++i) member.NewThread();

  qos::OwnedInMemory owned;
  qos::ContainerFreezer freezer(cgroups.get(), &owned);
  qos::RdtOptions options;
  options.config_file = directory.path() + "/rdt.yaml";
  PLIMSOLL_ASSIGN_OR_RETURN(
      const auto type,
      qos::MakeRdtType(options, {host, machine->root(), cgroups.get(), &owned, &freezer}));
  return MeasureChanges(*type, target, *resctrl, *cgroups);
}

}  // namespace
}  // namespace plimsoll::bench

int main() {
  const absl::Status status = plimsoll::bench::Measure();
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_rdt: %s\n", status.ToString().c_str());
  return 2;
}
