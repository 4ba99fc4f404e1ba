#include "base/programs/child_reaper.h"

#include <sys/wait.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "base/monotonic_time.h"

namespace plimsoll {
namespace {

// A start that takes longer may hang: the ends of other processes don't wait for it.
constexpr absl::Duration kHangingStart = absl::Milliseconds(10);

}  // namespace

ChildReaper& ChildReaper::Get() {
  static ChildReaper& reaper = *new ChildReaper;  // outlives every thread that may start a process
  return reaper;
}

ChildReaper::ChildReaper() {
  std::thread([this] { Loop(); }).detach();
}

pid_t ChildReaper::StartRegistered(const std::function<pid_t()>& start,
                                   const std::shared_ptr<Child::Shared>& shared) {
  uint64_t number = 0;
  {
    absl::MutexLock lock(&mutex_);
    number = starts_++;
    starting_.insert(number);
  }
  const pid_t pid = start();
  absl::MutexLock lock(&mutex_);
  starting_.erase(number);
  if (pid > 0) {
    waiting_[pid] = shared;
    may_have_children_ = true;
  }
  started_.SignalAll();
  return pid;
}

void ChildReaper::AwaitRegistration(pid_t pid) {
  const uint64_t later = starts_;  // `pid` can't come from these
  absl::Time look = MonotonicNow() + kHangingStart;
  while (!waiting_.contains(pid) && !starting_.empty() && *starting_.begin() < later) {
    started_.WaitWithTimeout(&mutex_, kHangingStart);
    if (MonotonicNow() < look) continue;
    std::vector<pid_t> others;
    for (const auto& [other, shared] : waiting_) others.push_back(other);
    for (const pid_t other : others) Collect(other);
    look = MonotonicNow() + kHangingStart;
  }
}

void ChildReaper::Collect(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return;
  const auto it = waiting_.find(pid);
  if (it == waiting_.end()) return;  // an orphan
  if (WIFSIGNALED(status)) {
    it->second->status = {128 + WTERMSIG(status), WTERMSIG(status)};
  } else {
    it->second->status = {WEXITSTATUS(status), 0};
  }
  it->second->exited.Notify();
  waiting_.erase(it);
}

void ChildReaper::Loop() {
  while (true) {
    siginfo_t info = {};
    // WNOWAIT: the zombie stays until it is registered, so that its pid can't be another's yet.
    if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      // No children. Orphans can only come to us from below a child of ours, so none can arrive
      // before the next start.
      absl::MutexLock lock(&mutex_);
      while (!may_have_children_) started_.Wait(&mutex_);
      may_have_children_ = false;
      continue;
    }
    absl::MutexLock lock(&mutex_);
    AwaitRegistration(info.si_pid);
    Collect(info.si_pid);
  }
}

}  // namespace plimsoll
