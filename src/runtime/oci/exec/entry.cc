#include "runtime/oci/exec/entry.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "base/status.h"

namespace plimsoll::runtime {
namespace {

constexpr absl::Duration kEntryPatience = absl::Seconds(1);

}  // namespace

std::vector<pid_t> EnteringProcesses::Of(absl::string_view container_id) const {
  std::vector<pid_t> pids;
  absl::MutexLock lock(&mutex_);
  const auto [begin, end] = processes_.equal_range(std::string(container_id));
  for (auto at = begin; at != end; ++at) {
    // The pid of an ended process is reused sooner or later.
    const auto now = linux::IdentifyProcess(host_, at->second.pid);
    if (now.ok() && *now == at->second) pids.push_back(now->pid);
  }
  return pids;
}

EnteringProcesses::Entry::Entry(EnteringProcesses* all, absl::string_view container_id, pid_t pid)
    : all_(*all) {
  const auto process = linux::IdentifyProcess(all_.host_, pid);
  absl::MutexLock lock(&all_.mutex_);
  at_ = all_.processes_.emplace(std::string(container_id),
                                process.ok() ? *process : linux::ProcessId());
}

EnteringProcesses::Entry::~Entry() {
  absl::MutexLock lock(&all_.mutex_);
  all_.processes_.erase(at_);
}

absl::Status LaunchSignal::Open() {
  PLIMSOLL_ASSIGN_OR_RETURN(pipe_, MakePipe());
  return absl::OkStatus();
}

bool LaunchSignal::Await(absl::Span<const int> cancel_fds, SteadyTime deadline) {
  pipe_.writer.Reset();
  std::vector<pollfd> polls = {{pipe_.reader.get(), POLLIN, 0}};
  for (const int fd : cancel_fds) polls.push_back({fd, POLLIN, 0});
  const SteadyTime end = std::min(SteadyAfter(kEntryPatience), deadline);
  while (pipe_.reader.valid()) {
    const int64_t wait = std::max<int64_t>(absl::ToInt64Milliseconds(TimeUntil(end)), 0);
    if (poll(polls.data(), polls.size(), static_cast<int>(wait)) < 0 && errno == EINTR) continue;
    if (polls[0].revents == 0) return false;
    pipe_.reader.Reset();
  }
  return true;
}

}  // namespace plimsoll::runtime
