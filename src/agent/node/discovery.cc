#include "agent/node/discovery.h"

#include <utility>

#include "base/status.h"
#include "base/steady_time.h"
#include "topology/machine/discover.h"
#include "topology/make_zones.h"
#include "topology/normalise.h"
#include "topology/publisher.h"
#include "topology/tracker.h"

namespace plimsoll::agent {
namespace {

DiscoveryMode ModeOf(const NodeOptions& options) {
  return options.discovery_from_cri ? options.discovery : DiscoveryMode::kLocal;
}

// A tracker of the whole machine; what it publishes is read by ReadLocalTopology.
class LocalWatch {
 public:
  LocalWatch(const FsRoot& host, std::function<void()> changed) {
    publisher_.Subscribe([changed = std::move(changed)](const topology::Edition&) { changed(); });
    topology::TrackerOptions options{.host = host};
    tracker_ = topology::Tracker::Start(std::move(options), &publisher_, nullptr);
  }

 private:
  topology::Publisher publisher_;
  std::unique_ptr<topology::Tracker> tracker_;
};

}  // namespace

Discovery::Discovery(const NodeOptions& options, RetryDelayOptions back_off,
                     std::unique_ptr<RuntimeTopology> runtime, Local local,
                     DiscoveryResults* results)
    : mode_(ModeOf(options)),
      hot_plug_(options.hot_plug),
      runtime_(std::move(runtime)),
      local_(std::move(local)),
      results_(results),
      back_off_(std::move(back_off)),
      thread_([this] { Run(); }) {}

Discovery::~Discovery() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  runtime_->Stop();
  thread_.join();
}

bool Discovery::is_ending() const {
  absl::MutexLock lock(&mutex_);
  return ending_;
}

bool Discovery::Rest() {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&ending_), back_off_.Next());
  return !ending_;
}

void Discovery::Run() {
  if (mode_ != DiscoveryMode::kLocal) RunRemote();
  if (!is_ending()) RunLocal();
}

void Discovery::RunRemote() {
  while (!FollowOnce()) {
    if (!Rest()) return;
  }
}

bool Discovery::FollowOnce() {
  // A runtime that has not begun to serve may answer UNIMPLEMENTED to every call.
  if (const absl::Status answered = AskVersion(); !answered.ok()) {
    if (!is_ending()) results_->OnLost(answered);
    return false;
  }
  const SteadyTime begun = SteadyNow();
  bool has_failed = false;
  const absl::Status end = runtime_->Follow([&](absl::StatusOr<topology::Topology> topology) {
    was_told_ = true;
    has_failed =
        results_->OnTopology(TopologySource::kRuntime, std::move(topology)) == TopologyUse::kFailed;
    return !has_failed;  // another stream begins with the same topology
  });
  if (is_ending() || has_failed) return false;
  // A runtime that ends each stream soon is asked ever less often.
  if (TimeUntil(begun) < -back_off_.longest()) back_off_.Reset();
  if (!absl::IsUnimplemented(end) || was_told_) {
    results_->OnLost(end.ok() ? absl::UnavailableError("the runtime ended the stream") : end);
    return false;
  }
  if (mode_ == DiscoveryMode::kCri) {
    results_->OnUnsupported(end);
    return false;
  }
  results_->OnFallBack(end);
  return true;
}

absl::Status Discovery::AskVersion() {
  const absl::StatusOr<std::string> version = runtime_->Version();
  if (version.ok()) results_->OnRuntime(*version);
  return version.status();
}

bool Discovery::AwaitChange(absl::Duration at_most) {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(this, &Discovery::HasNews), at_most);
  return !ending_;
}

void Discovery::RunLocal() {
  std::shared_ptr<void> watch;  // before the first look, so that no change is missed
  if (hot_plug_) {
    watch = local_.watch([this] {
      absl::MutexLock lock(&mutex_);
      has_changed_ = true;
    });
  }
  back_off_.Reset();
  bool is_used = false;
  bool knows_version = false;
  while (true) {
    bool has_changed = false;
    {
      absl::MutexLock lock(&mutex_);
      has_changed = std::exchange(has_changed_, false);
    }
    if (!is_used || has_changed) {
      is_used = results_->OnTopology(TopologySource::kLocal, local_.read()) == TopologyUse::kUsed;
    }
    if (!knows_version) knows_version = AskVersion().ok();
    const bool is_done = is_used && knows_version;
    if (is_done && watch == nullptr) return;
    if (!AwaitChange(is_done ? absl::InfiniteDuration() : back_off_.Next())) return;
  }
}

absl::StatusOr<topology::Topology> ReadLocalTopology(const FsRoot& host) {
  PLIMSOLL_ASSIGN_OR_RETURN(const topology::Machine machine, topology::Discover(host, ""));
  return topology::Normalise(topology::MakeZones(machine), nullptr);
}

std::shared_ptr<void> WatchLocalTopology(const FsRoot& host, std::function<void()> changed) {
  return std::make_shared<LocalWatch>(host, std::move(changed));
}

}  // namespace plimsoll::agent
