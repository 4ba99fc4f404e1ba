#include "kube/publish/node_publisher.h"

#include <utility>

#include "absl/time/clock.h"
#include "base/steady_wait.h"

namespace plimsoll::kube {

NodePublisher::NodePublisher(ApiClient* client, const std::string& node_name, RoundOptions options)
    : round_(*client, node_name, std::move(options)), thread_([this] { Publish(); }) {}

NodePublisher::~NodePublisher() {
  Stop();
}

void NodePublisher::Report(std::shared_ptr<const NodeReport> report) {
  const std::lock_guard<std::mutex> lock(mutex_);
  report_ = std::move(report);
  changed_.notify_all();
}

void NodePublisher::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void NodePublisher::Publish() {
  SteadyTime next = kNever;
  while (Await(next)) {
    const absl::StatusOr<SteadyTime> moment = round_.Run({SteadyNow(), absl::Now()});
    if (!moment.ok()) return;
    next = *moment;
  }
}

bool NodePublisher::Await(SteadyTime next) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_stopping_ && !report_ && SteadyNow() < next) AwaitChange(changed_, lock, next);
  if (report_) round_.Take(*std::exchange(report_, std::nullopt), SteadyNow());
  return !is_stopping_;
}

}  // namespace plimsoll::kube
