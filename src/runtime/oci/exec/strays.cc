#include "runtime/oci/exec/strays.h"

#include <signal.h>
#include <unistd.h>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/monotonic_time.h"
#include "base/status.h"
#include "linux/process.h"
#include "linux/process_tree.h"
#include "runtime/oci/exec/group.h"

namespace plimsoll::runtime {
namespace {

// The container's id is an argument of crun's and plimsoll-exec's command line; the following words
// are the command.
void Describe(const FsRoot& host, const std::vector<ContainerGroup>& containers, StrayExec* stray) {
  const std::vector<std::string> words =
      linux::ReadWords(host, stray->process.pid, "cmdline").value_or(std::vector<std::string>());
  for (const ContainerGroup& container : containers) {
    const auto id = absl::c_find(words, container.id);
    if (id == words.end()) continue;
    stray->container_id = container.id;
    stray->command = absl::StrJoin(id + 1, words.end(), " ").substr(0, 200);
    return;
  }
  stray->command = absl::StrJoin(words, " ").substr(0, 200);
}

std::string CarrierMark(pid_t carrier) {
  return absl::StrCat("PLIMSOLL_EXEC_BY=", carrier);
}

std::string PidNamespaceLink(pid_t pid) {
  return absl::StrCat("proc/", pid, "/ns/pid");
}

// The environment of a process in this PID namespace; empty for another's. In a container the mark
// may be that of a Plimsoll in there, and an environment may have any size.
absl::StatusOr<std::vector<std::string>> EnvironmentIn(const FsRoot& host,
                                                       const std::string& pid_namespace,
                                                       pid_t pid) {
  const absl::StatusOr<std::string> link = host.ReadLink(PidNamespaceLink(pid));
  if (link.ok() && *link != pid_namespace) return std::vector<std::string>();
  return linux::ReadWords(host, pid, "environ");
}

// The root is stopped first, so that it starts nothing while its children are being killed. crun
// and plimsoll-exec are child subreapers, so they adopt their children's orphans.
absl::Status EndTree(const FsRoot& host, const linux::ProcessId& root, absl::Time deadline) {
  const absl::StatusOr<UniqueFd> pidfd = linux::OpenProcess(host, root);
  if (absl::IsNotFound(pidfd.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(pidfd.status());
  linux::SignalProcess(*pidfd, SIGSTOP).IgnoreError();  // if that fails, it only takes longer
  // Whatever fails, it must not stay stopped.
  const absl::Cleanup end_root = [&] { linux::SignalProcess(*pidfd, SIGKILL).IgnoreError(); };
  while (true) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool any, linux::KillDescendants(host, root.pid));
    if (!any || linux::HasExited(*pidfd)) break;
    if (MonotonicNow() > deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("processes that process ", root.pid, " started survive SIGKILL"));
    }
    absl::SleepFor(absl::Milliseconds(1));
  }
  return absl::OkStatus();
}

}  // namespace

std::string ExecMark(const FsRoot& crun_state) {
  return absl::StrCat("PLIMSOLL_EXEC=", crun_state.path());
}

void MarkCarrier(Command* command) {
  command->environment.push_back(CarrierMark(getpid()));
}

absl::StatusOr<std::vector<StrayExec>> FindExecStrays(
    const FsRoot& host, linux::CgroupLayout layout, const FsRoot& crun_state,
    const std::vector<ContainerGroup>& containers) {
  const std::string mark = ExecMark(crun_state);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto table, linux::ListProcessTable(host));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string pid_namespace,
                            host.ReadLink(PidNamespaceLink(getpid())));
  absl::flat_hash_set<pid_t> own;      // below this process
  absl::flat_hash_set<pid_t> carried;  // by another
  for (const linux::ProcessEntry& each : linux::DescendantsOf(table, getpid())) {
    own.insert(each.id.pid);
  }
  std::vector<linux::ProcessId> marked;
  for (const linux::ProcessEntry& entry : table) {
    constexpr pid_t kKernelThreads = 2;
    if (entry.zombie || entry.parent == kKernelThreads) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const auto words, EnvironmentIn(host, pid_namespace, entry.id.pid));
    if (!absl::c_linear_search(words, mark)) continue;
    marked.push_back(entry.id);
    // If the carrier has ended, another process has adopted this one.
    if (!absl::c_linear_search(words, CarrierMark(entry.parent))) continue;
    carried.insert(entry.id.pid);
    for (const linux::ProcessEntry& each : linux::DescendantsOf(table, entry.id.pid)) {
      carried.insert(each.id.pid);
    }
  }
  std::vector<StrayExec> strays;
  absl::flat_hash_set<std::string> busy;  // containers with a command of this process
  for (const linux::ProcessId& id : marked) {
    StrayExec stray;
    stray.process = id;
    Describe(host, containers, &stray);
    if (own.contains(id.pid)) {
      busy.insert(stray.container_id);
    } else if (!carried.contains(id.pid)) {
      strays.push_back(std::move(stray));
    }
  }
  for (const ContainerGroup& container : containers) {
    if (busy.contains(container.id)) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const auto groups,
                              ExecGroup::FindAll(host, layout, container.cgroup_path));
    for (const ExecGroup& group : groups) {
      StrayExec stray;
      stray.container_id = container.id;
      stray.container_group = container.cgroup_path;
      stray.group = group.name();
      strays.push_back(std::move(stray));
    }
  }
  // A child of a marked process has the mark too, until it becomes the command.
  std::erase_if(strays, [&](const StrayExec& stray) {
    return stray.process.pid != 0 && absl::c_any_of(strays, [&](const StrayExec& other) {
             return other.process.pid != 0 &&
                    absl::c_any_of(linux::DescendantsOf(table, other.process.pid),
                                   [&](const auto& each) { return each.id == stray.process; });
           });
  });
  return strays;
}

absl::Status EndExecStray(const FsRoot& host, linux::CgroupLayout layout, const StrayExec& stray,
                          absl::Time deadline) {
  if (stray.process.pid != 0) return EndTree(host, stray.process, deadline);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto groups,
                            ExecGroup::FindAll(host, layout, stray.container_group));
  for (const ExecGroup& group : groups) {
    if (group.name() != stray.group) continue;
    PLIMSOLL_RETURN_IF_ERROR(group.Kill(deadline));
    group.Remove();
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::runtime
