// For tests: a node view of a runtime, a machine and managers that a test plays.
#ifndef PLIMSOLL_AGENT_NODE_NODE_VIEW_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_AGENT_NODE_NODE_VIEW_FIXTURE_FOR_TEST_H_

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "agent/node/fake_runtime_for_test.h"
#include "agent/node/node_view.h"
#include "base/dir_for_test.h"
#include "base/wait_until_for_test.h"
#include "gtest/gtest.h"
#include "topology/topology_file.h"

namespace plimsoll::agent {

inline topology::Topology ParseNode(const std::string& zones) {
  const auto topology = topology::ParseTopology(zones, "t.yaml");
  EXPECT_TRUE(topology.ok()) << topology.status();
  return topology.ok() ? *topology : topology::Topology();
}

// One node of one core.
inline topology::Topology WithMemory(const std::string& memory) {
  return ParseNode(absl::StrCat(
      "zones:\n- {name: root, attributes: {tier: fast, boot-id: B}}\n- {name: n0, type: NUMANode, "
      "parent: root, resources: [{name: memory, capacity: ",
      memory,
      "}]}\n- {name: c, type: Core, parent: n0, attributes: {cpu-ids: 0-3}, resources: [{name: "
      "cpu, capacity: 4}]}\n"));
}

// The cores of no node.
inline topology::Topology NoClientCanRead() {
  return ParseNode("zones: [{name: east, type: NUMANode}]");
}

class ViewClock : public Clock {
 public:
  absl::Time Now() const override { return absl::FromUnixSeconds(seconds_); }
  std::atomic<int64_t> seconds_ = 1'000'000'000;
};

class NodeViewTest : public ::testing::Test {
 protected:
  NodeViewTest() {
    options_.name = "edge";
    options_.state_directory = dir_.path();
    options_.first_topology_limit = absl::Milliseconds(20);
  }
  void TearDown() override { view_.reset(); }

  void StartView() {
    NodeView::Parts parts = {
        .host = dir_.root(),
        .runtime = std::make_unique<FakeRuntime>(streams_),
        .hooks = {
            .on_change = [this] { ++changes_; },
            .adopt = [this](const NodeNumbers& now, bool is_first) { return Adopt(now, is_first); },
            .on_event = [this](const NodeStatusEvent& event) { Add(event); },
            .on_log = [this](const std::string& line) { Add(line); }},
        .back_off = {.first = absl::Milliseconds(1), .longest = absl::Milliseconds(2)},
        .clock = &clock_,
        .local = {.read = [this] { return ReadLocal(); },
                  .watch = [this](std::function<void()> changed) { return Watch(changed); }}};
    auto view = NodeView::Start(options_, std::move(parts));
    ASSERT_TRUE(view.ok()) << view.status();
    view_ = *std::move(view);
  }
  absl::StatusOr<topology::Topology> ReadLocal() {
    if (local_failures_-- > 0) return absl::ResourceExhaustedError("no descriptors");
    return WithMemory(is_local_large_ ? "8Gi" : "2Gi");
  }
  std::shared_ptr<void> Watch(std::function<void()> changed) {
    absl::MutexLock lock(&mutex_);
    machine_changed_ = std::move(changed);
    return std::shared_ptr<void>(this, [this](void*) {
      absl::MutexLock ends(&mutex_);
      machine_changed_ = nullptr;
    });
  }
  bool IsWatched() {
    absl::MutexLock lock(&mutex_);
    return machine_changed_ != nullptr;
  }
  void ChangeMachine() {
    absl::MutexLock lock(&mutex_);
    machine_changed_();
  }
  // The managers' answers, in order; each further one is OK.
  void AnswerAdoptions(std::vector<absl::Status> answers) {
    absl::MutexLock lock(&mutex_);
    answers_.assign(answers.begin(), answers.end());
  }
  // "first 8Gi", "8Gi": those asked for, refused ones too.
  std::vector<std::string> Adoptions() {
    absl::MutexLock lock(&mutex_);
    return adoptions_;
  }
  absl::Status Adopt(const NodeNumbers& now, bool is_first) {
    absl::MutexLock lock(&mutex_);
    adoptions_.push_back(
        absl::StrCat(is_first ? "first " : "", now.capacity.at("memory").Canonical()));
    if (answers_.empty()) return absl::OkStatus();
    const absl::Status answer = answers_.front();
    answers_.pop_front();
    return answer;
  }
  bool Is(const std::string& reason) {
    return WaitUntil([&] { return view_->State().reason == reason; });
  }
  std::string Memory() {
    const ResourceList capacity = view_->State().capacity;
    const auto memory = capacity.find("memory");
    return memory == capacity.end() ? "none" : memory->second.Canonical();
  }
  bool HasLogged(const std::string& text) {
    return WaitUntil([&] { return CountOf(text) > 0; });
  }
  int CountOf(const std::string& text) {
    absl::MutexLock lock(&mutex_);
    int count = 0;
    for (const std::string& line : lines_) count += line.find(text) != std::string::npos ? 1 : 0;
    return count;
  }
  bool HasEvents(size_t count) {
    return WaitUntil([&] { return Events().size() >= count; });
  }
  std::vector<std::string> Events() {
    absl::MutexLock lock(&mutex_);
    return events_;
  }

  TestDir dir_;
  NodeOptions options_;
  ViewClock clock_;
  std::shared_ptr<FakeStreams> streams_ = std::make_shared<FakeStreams>();
  std::atomic<int> changes_ = 0;
  std::atomic<int> local_failures_ = 0;
  std::atomic<bool> is_local_large_ = false;
  std::unique_ptr<NodeView> view_;

 private:
  void Add(const NodeStatusEvent& event) {
    absl::MutexLock lock(&mutex_);
    events_.push_back(
        absl::StrCat(event.is_warning ? "Warning " : "Normal ", event.reason, " ", event.message));
  }
  void Add(const std::string& line) {
    absl::MutexLock lock(&mutex_);
    lines_.push_back(line);
  }
  absl::Mutex mutex_;
  std::vector<std::string> events_;
  std::vector<std::string> lines_;
  std::vector<std::string> adoptions_;
  std::deque<absl::Status> answers_;
  std::function<void()> machine_changed_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_NODE_NODE_VIEW_FIXTURE_FOR_TEST_H_
