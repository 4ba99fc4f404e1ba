#include "agent/chores.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/monotonic_time.h"
#include "base/status.h"
#include "pod_runner/pod_files/dir.h"

namespace plimsoll::agent {
namespace {

constexpr absl::Duration kLongestTick = absl::Seconds(10);

}  // namespace

Chores::Chores(const AgentConfig& config, Surroundings around)
    : around_(std::move(around)),
      log_interval_(config.container_log_monitor_interval),
      tick_(std::min(log_interval_, kLongestTick)),
      next_logs_(MonotonicNow() + log_interval_),
      capacity_(around_.events, config.evict_after_capacity_shrinks) {
  if (config.container_log_max_bytes < 0) return;
  logs_ = std::make_unique<LogKeeper>(
      around_.client, around_.root,
      LogKeeper::Options{.limits = {.max_bytes = config.container_log_max_bytes,
                                    .max_files = config.container_log_max_files},
                         .pods_directory = pod::PodsDirectory(config.state_directory),
                         .note = around_.note});
}

Chores::~Chores() = default;

absl::StatusOr<std::unique_ptr<Chores>> Chores::Start(const AgentConfig& config,
                                                      Surroundings around) {
  auto chores = std::unique_ptr<Chores>(new Chores(config, std::move(around)));
  Chores* const self = chores.get();
  const absl::Duration interval = self->tick_;
  PLIMSOLL_ASSIGN_OR_RETURN(
      chores->ticker_,
      linux::QuietWatch::Start({.first = absl::Now() + interval}, {}, [self, interval] {
        self->Do();
        return absl::Now() + interval;
      }));
  return chores;
}

void Chores::Do() {
  const std::vector<PodTable::Worker> pods = around_.pods.Workers();
  // Half a tick early is nearer than half a tick late.
  if (logs_ != nullptr && MonotonicNow() + tick_ / 2 >= next_logs_) {
    next_logs_ = MonotonicNow() + log_interval_;
    logs_->Look(pods);
  }
  around_.enforce();
  const CapacityCheck::Outcome outcome = capacity_.Look(pods, around_.allocatable());
  for (const std::string& uid : outcome.evicted) around_.pods.Wake(uid);
  if (!outcome.status.ok()) {
    around_.note(
        absl::StrCat("a pod is not evicted, which is tried again: ", outcome.status.message()));
  }
}

}  // namespace plimsoll::agent
