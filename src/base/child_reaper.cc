#include "base/child_reaper.h"

#include <sys/wait.h>

#include <cerrno>
#include <thread>

namespace plimsoll {

ChildReaper& ChildReaper::Get() {
  static ChildReaper& reaper = *new ChildReaper;  // outlives every thread that may start a process
  return reaper;
}

ChildReaper::ChildReaper() {
  std::thread([this] { Loop(); }).detach();
}

pid_t ChildReaper::StartRegistered(const std::function<pid_t()>& start,
                                   const std::shared_ptr<Child::Shared>& shared) {
  absl::MutexLock lock(&mutex_);
  const pid_t pid = start();
  if (pid < 0) return pid;
  waiting_[pid] = shared;
  may_have_children_ = true;
  started_.Signal();
  return pid;
}

void ChildReaper::Loop() {
  while (true) {
    siginfo_t info = {};
    // WNOWAIT: the zombie stays until the lock is held, so that its pid can't be another's yet.
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
    int status = 0;
    if (waitpid(info.si_pid, &status, 0) != info.si_pid) continue;
    const auto it = waiting_.find(info.si_pid);
    if (it == waiting_.end()) continue;  // an orphan
    if (WIFSIGNALED(status)) {
      it->second->status = {128 + WTERMSIG(status), WTERMSIG(status)};
    } else {
      it->second->status = {WEXITSTATUS(status), 0};
    }
    it->second->exited.Notify();
    waiting_.erase(it);
  }
}

}  // namespace plimsoll
