#include "cri/calls/lanes.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "linux/thread_limit.h"

namespace plimsoll::cri {
namespace {

absl::Status NoThread(const FsRoot& host) {
  return absl::ResourceExhaustedError(
      absl::StrCat("no thread can be made for the call: ", linux::ThreadLimitReached(host),
                   "; try again later"));
}

}  // namespace

const char* LaneName(Lane lane) {
  switch (lane) {
    case Lane::kLook:
      return "look";
    case Lane::kWork:
      return "work";
    case Lane::kEnd:
      return "end";
    case Lane::kExec:
      return "exec";
    case Lane::kFetch:
      return "fetch";
    case Lane::kNetwork:
      return "network";
  }
  return "unknown";
}

Lanes::Lanes(LaneOptions options)
    : options_(std::move(options)),
      lanes_{OneLane(options_.look_threads, options_.max_queued),
             OneLane(options_.work_threads, options_.max_queued),
             OneLane(options_.waiting_threads, options_.max_queued),
             OneLane(options_.waiting_threads, options_.max_queued),
             OneLane(options_.waiting_threads, options_.max_queued),
             OneLane(options_.waiting_threads, options_.max_queued)} {}

absl::Status Lanes::Schedule(Lane lane, std::function<void()> work) {
  const size_t index = static_cast<size_t>(lane);
  OneLane& chosen = lanes_[index];
  LaneState full;
  const absl::Time since = absl::Now();
  {
    absl::MutexLock lock(&mutex_);
    if (draining_) return absl::UnavailableError("the daemon is stopping; try again later");
    if (chosen.running + static_cast<int>(chosen.waiting.size()) >= chosen.workers) {
      ++chosen.exhausted;
      full = StateOf(index);
    }
    ++accepted_;
    chosen.waiting.push_back(since);
  }
  // Scheduled without the lock: the worker that this wakes takes it at once.
  const bool scheduled =
      chosen.pool.TrySchedule([this, &chosen, work = std::move(work)] { Run(chosen, work); });
  if (!scheduled) {
    absl::MutexLock lock(&mutex_);
    --accepted_;
    // Another worker may have taken this call's time as its own meanwhile.
    const auto own = absl::c_find(chosen.waiting, since);
    chosen.waiting.erase(own != chosen.waiting.end() ? own : chosen.waiting.begin());
  }
  if (full.workers > 0 && options_.on_exhausted) options_.on_exhausted(full);
  if (scheduled) return absl::OkStatus();
  if (chosen.pool.threads() == 0) return NoThread(options_.host);
  return absl::ResourceExhaustedError(absl::StrCat("too many calls at once: ", options_.max_queued,
                                                   " are waiting already; try again later"));
}

void Lanes::Run(OneLane& lane, const std::function<void()>& work) {
  {
    absl::MutexLock lock(&mutex_);
    lane.waiting.pop_front();
    ++lane.running;
  }
  work();
  absl::MutexLock lock(&mutex_);
  --lane.running;
  --accepted_;
}

bool Lanes::Drain(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
  const auto idle = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return accepted_ == 0; };
  return mutex_.AwaitWithDeadline(absl::Condition(&idle), deadline);
}

LaneState Lanes::StateOf(size_t index) const {
  const OneLane& lane = lanes_[index];
  LaneState state;
  state.lane = static_cast<Lane>(index);
  state.workers = lane.workers;
  state.running = lane.running;
  state.waiting = static_cast<int>(lane.waiting.size());
  if (!lane.waiting.empty()) state.longest_wait = absl::Now() - lane.waiting.front();
  state.exhausted = lane.exhausted;
  return state;
}

std::vector<LaneState> Lanes::State() const {
  absl::MutexLock lock(&mutex_);
  std::vector<LaneState> all;
  for (size_t i = 0; i < lanes_.size(); ++i) all.push_back(StateOf(i));
  return all;
}

}  // namespace plimsoll::cri
