#include "agent/node/discovery.h"

#include <utility>

#include "base/status.h"
#include "base/steady_time.h"
#include "topology/discover.h"
#include "topology/make_zones.h"
#include "topology/normalise.h"

namespace plimsoll::agent {
namespace {

DiscoveryMode ModeOf(const NodeOptions& options) {
  return options.discovery_from_cri ? options.discovery : DiscoveryMode::kLocal;
}

}  // namespace

Discovery::Discovery(const NodeOptions& options, RetryDelayOptions back_off,
                     std::unique_ptr<RuntimeTopology> runtime, ReadLocal read_local,
                     DiscoveryResults* results)
    : mode_(ModeOf(options)),
      runtime_(std::move(runtime)),
      read_local_(std::move(read_local)),
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
  const absl::Status end = runtime_->Follow([this](absl::StatusOr<topology::Topology> topology) {
    was_told_ = true;
    results_->OnTopology(TopologySource::kRuntime, std::move(topology));
  });
  if (is_ending()) return false;
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

void Discovery::RunLocal() {
  back_off_.Reset();
  for (bool is_used = false; true;) {
    if (!is_used) is_used = results_->OnTopology(TopologySource::kLocal, read_local_());
    if (is_used && AskVersion().ok()) return;
    if (!Rest()) return;
  }
}

absl::StatusOr<topology::Topology> ReadLocalTopology(const FsRoot& host) {
  PLIMSOLL_ASSIGN_OR_RETURN(const topology::Machine machine, topology::Discover(host, ""));
  return topology::Normalise(topology::MakeZones(machine), nullptr);
}

}  // namespace plimsoll::agent
