// For tests: a runtime whose streams a test writes.
#ifndef PLIMSOLL_AGENT_NODE_FAKE_RUNTIME_FOR_TEST_H_
#define PLIMSOLL_AGENT_NODE_FAKE_RUNTIME_FOR_TEST_H_

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/synchronization/mutex.h"
#include "agent/node/runtime_topology.h"

namespace plimsoll::agent {

// The test's side of a FakeRuntime. Thread-safe.
class FakeStreams {
 public:
  // The next message, or the end of the stream.
  void Tell(absl::StatusOr<topology::Topology> topology) { Add(std::move(topology)); }
  void End(absl::Status status) { Add(std::move(status)); }
  void SetVersion(absl::StatusOr<std::string> version) {
    absl::MutexLock lock(&mutex_);
    version_ = std::move(version);
  }
  // How often the runtime was asked for its topology.
  int asked() const {
    absl::MutexLock lock(&mutex_);
    return asked_;
  }

 private:
  friend class FakeRuntime;
  using Item = std::variant<absl::StatusOr<topology::Topology>, absl::Status>;

  void Add(Item item) {
    absl::MutexLock lock(&mutex_);
    items_.push_back(std::move(item));
  }
  bool HasNext() const { return stopped_ || !items_.empty(); }

  mutable absl::Mutex mutex_;
  std::deque<Item> items_;
  absl::StatusOr<std::string> version_ = "fake://1";
  int asked_ = 0;
  bool stopped_ = false;
};

class FakeRuntime : public RuntimeTopology {
 public:
  explicit FakeRuntime(std::shared_ptr<FakeStreams> streams) : streams_(std::move(streams)) {}

  absl::StatusOr<std::string> Version() override {
    absl::MutexLock lock(&streams_->mutex_);
    return streams_->version_;
  }
  absl::Status Follow(const OnTold& told) override {
    {
      absl::MutexLock lock(&streams_->mutex_);
      ++streams_->asked_;
    }
    while (true) {
      FakeStreams::Item item = Next();
      if (auto* end = std::get_if<absl::Status>(&item)) return *end;
      if (!told(std::get<absl::StatusOr<topology::Topology>>(std::move(item)))) {
        return absl::OkStatus();
      }
    }
  }
  void Stop() override {
    absl::MutexLock lock(&streams_->mutex_);
    streams_->stopped_ = true;
  }

 private:
  FakeStreams::Item Next() {
    absl::MutexLock lock(&streams_->mutex_);
    streams_->mutex_.Await(absl::Condition(streams_.get(), &FakeStreams::HasNext));
    if (streams_->stopped_) return absl::CancelledError("stopped");
    FakeStreams::Item item = std::move(streams_->items_.front());
    streams_->items_.pop_front();
    return item;
  }

  const std::shared_ptr<FakeStreams> streams_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_NODE_FAKE_RUNTIME_FOR_TEST_H_
