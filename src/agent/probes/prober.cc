#include "agent/probes/prober.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/steady_time.h"
#include "base/steady_wait.h"

namespace plimsoll::agent {
namespace {

// The scheduler tries again after this when the pool has no thread for a probe.
constexpr absl::Duration kNoProbeThread = absl::Milliseconds(100);
// Probes that fell due together leave threads behind for as long.
constexpr absl::Duration kIdleProbeThread = absl::Seconds(5);

}  // namespace

// The queue is short: a probe that waits in it would be late, and its time is set again instead.
Prober::Prober(Options options)
    : options_(std::move(options)),
      pool_(options_.max_threads, static_cast<size_t>(options_.max_threads), kIdleProbeThread),
      scheduler_([this] { Schedule(); }) {}

Prober::~Prober() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  scheduler_.join();
}

std::map<std::string, ContainerHealth> Prober::Sync(const ProbedPod& pod,
                                                    const pod::Manifest& manifest) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const SteadyTime before = table_.NextDue();
  auto health = table_.Sync(pod, manifest, SteadyNow());
  if (table_.NextDue() < before) changed_.notify_all();
  return health;
}

void Prober::Forget(const std::string& uid) {
  const std::lock_guard<std::mutex> lock(mutex_);
  table_.Forget(uid);
}

std::vector<ProbeCount> Prober::Counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return table_.Counts();
}

void Prober::Schedule() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_ending_) {
    for (ProbeJob& job : table_.TakeDue(SteadyNow())) {
      if (!pool_.TrySchedule([this, job] { Run(job); })) {
        table_.Postpone(job, SteadyAfter(kNoProbeThread));
      }
    }
    AwaitChange(changed_, lock, table_.NextDue());
  }
}

void Prober::Run(const ProbeJob& job) {
  const auto given_up = [this, &job] {
    if (*job.given_up) return true;
    const std::lock_guard<std::mutex> lock(mutex_);
    return is_ending_;
  };
  const ProbeOutcome outcome =
      given_up() ? ProbeOutcome()
                 : RunProbe(*job.probe, {.container_id = job.container_id, .address = job.address},
                            options_.command, given_up);
  ProbeTable::News news;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_ending_) return;
    news = table_.Finish(job, outcome, SteadyNow());
    changed_.notify_all();
  }
  if (news.counts) Tell(job, outcome);
  if (news.changed) options_.wake(job.uid);
}

void Prober::Tell(const ProbeJob& job, const ProbeOutcome& outcome) const {
  ProbeEvent event{.uid = job.uid,
                   .pod_namespace = job.pod_namespace,
                   .pod = job.pod,
                   .container = job.container,
                   .reason = "Unhealthy",
                   .message = ""};
  const char* verb = "failed";
  switch (outcome.result) {
    case ProbeOutcome::Result::kSuccess:
      return;
    case ProbeOutcome::Result::kWarning:
      event.reason = "ProbeWarning";
      verb = "warning";
      break;
    case ProbeOutcome::Result::kFailure:
      break;
    case ProbeOutcome::Result::kUnknown:
      verb = "errored";
      break;
  }
  event.message = absl::StrCat(ProbeKindName(job.kind), " probe ", verb, ": ", outcome.words);
  options_.tell(event);
}

}  // namespace plimsoll::agent
