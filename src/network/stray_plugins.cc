#include "network/stray_plugins.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/monotonic_time.h"
#include "base/status.h"
#include "linux/process_tree.h"

namespace plimsoll::network {
namespace {

constexpr pid_t kKernelThreads = 2;  // the parent of all kernel threads

bool IsFor(const std::vector<std::string>& environment, const std::set<std::string>& ids) {
  return absl::c_any_of(environment, [&](absl::string_view variable) {
    return absl::ConsumePrefix(&variable, "CNI_CONTAINERID=") &&
           ids.contains(std::string(variable));
  });
}

}  // namespace

absl::Status EndStrayPlugins(const FsRoot& host, const std::set<std::string>& ids,
                             absl::Time deadline) {
  if (ids.empty()) return absl::OkStatus();
  // Repeats: a process may have started another just before it was killed.
  while (true) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto table, linux::ListProcessTable(host));
    pid_t found = 0;
    for (const linux::ProcessEntry& entry : table) {
      if (entry.zombie || entry.parent == kKernelThreads) continue;
      PLIMSOLL_ASSIGN_OR_RETURN(const auto environment,
                                linux::ReadWords(host, entry.id.pid, "environ"));
      if (!IsFor(environment, ids)) continue;
      found = entry.id.pid;
      PLIMSOLL_RETURN_IF_ERROR(linux::KillProcess(host, entry.id));
    }
    if (found == 0) return absl::OkStatus();
    if (MonotonicNow() > deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("a network plugin of the previous daemon, process ", found,
                       ", survives SIGKILL: it may undo later changes"));
    }
    absl::SleepFor(absl::Milliseconds(1));
  }
}

}  // namespace plimsoll::network
