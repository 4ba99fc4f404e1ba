#include "agent/probes/prober.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "base/wait_until_for_test.h"

namespace plimsoll::agent {
namespace {

// Commands whose results a test sets, by container.
class ProberTest : public testing::Test {
 protected:
  ~ProberTest() override {
    if (!release_.HasBeenNotified()) release_.Notify();
    prober_.reset();
  }
  void Begin(int max_threads = 512) {
    Prober::Options options;
    options.command = [this](const std::string& id, const auto&, int64_t) { return Command(id); };
    options.wake = [this](const std::string& uid) {
      const absl::MutexLock lock(&mutex_);
      ++woken_[uid];
    };
    options.tell = [this](const ProbeEvent& event) {
      const absl::MutexLock lock(&mutex_);
      events_.push_back(event);
    };
    options.max_threads = max_threads;
    prober_ = std::make_unique<Prober>(std::move(options));
  }
  ContainerHealth Look(const std::string& uid, const std::string& probe) {
    const auto pods = pod::ParseManifests(
        absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: "
                     "web, image: i, ",
                     probe, "}]}}"),
        "p");
    EXPECT_TRUE(pods.ok()) << pods.status();
    ProbedPod pod{.uid = uid,
                  .pod_namespace = "default",
                  .name = "p",
                  .address = "127.0.0.1",
                  .running = {{.name = "web",
                               .id = "of-" + uid,
                               .age = absl::ZeroDuration(),
                               .started = false}},
                  .is_ending = false};
    return prober_->Sync(pod, pods->front())["of-" + uid];
  }
  absl::StatusOr<ProbeCommandEnd> Command(const std::string& id) {
    if (absl::StrContains(id, "hang")) {
      ++hanging_;
      release_.WaitForNotification();
      return absl::CancelledError("released");
    }
    const absl::MutexLock lock(&mutex_);
    return ProbeCommandEnd{codes_[id], absl::StrCat("words of ", id)};
  }
  void SetCode(const std::string& uid, int code) {
    const absl::MutexLock lock(&mutex_);
    codes_["of-" + uid] = code;
  }
  int woken(const std::string& uid) {
    const absl::MutexLock lock(&mutex_);
    return woken_[uid];
  }
  std::vector<ProbeEvent> events() {
    const absl::MutexLock lock(&mutex_);
    return events_;
  }

  absl::Notification release_;
  std::atomic<int> hanging_ = 0;
  absl::Mutex mutex_;
  std::map<std::string, int> codes_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> woken_ ABSL_GUARDED_BY(mutex_);
  std::vector<ProbeEvent> events_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Prober> prober_;
};

constexpr char kReadiness[] =
    "readinessProbe: {exec: {command: [a]}, periodSeconds: 1, failureThreshold: 1}";
constexpr char kLiveness[] =
    "livenessProbe: {exec: {command: [a]}, periodSeconds: 1, failureThreshold: 1}";

TEST_F(ProberTest, NewsOfAPodWakeIt) {
  Begin();
  EXPECT_FALSE(Look("u", kReadiness).ready);
  ASSERT_TRUE(WaitUntil([&] { return woken("u") == 1; }));
  EXPECT_TRUE(Look("u", kReadiness).ready);
  SetCode("u", 3);
  ASSERT_TRUE(WaitUntil([&] { return woken("u") == 2; }));
  EXPECT_FALSE(Look("u", kReadiness).ready);
  const ProbeEvent event = events().front();
  EXPECT_EQ(event.reason, "Unhealthy");
  EXPECT_EQ(event.message, "Readiness probe failed: words of of-u");
  EXPECT_EQ(event.container, "web");
  EXPECT_GE(prober_->Counts().front().successful, 1u);
}

TEST_F(ProberTest, CommandsThatHangHoldUpNoOthers) {
  Begin();
  for (int i = 0; i < 100; ++i) Look(absl::StrCat("hang", i), kLiveness);
  ASSERT_TRUE(WaitUntil([&] { return hanging_ == 100; }));
  Look("u", kReadiness);
  EXPECT_TRUE(WaitUntil([&] { return woken("u") == 1; }));
}

TEST_F(ProberTest, AProbeWithoutAThreadWaitsForOne) {
  Begin(/*max_threads=*/1);
  Look("hang", kLiveness);
  ASSERT_TRUE(WaitUntil([&] { return hanging_ == 1; }));
  // One waits in the pool's queue, the others in the table.
  for (const char* uid : {"a", "b", "c"}) Look(uid, kReadiness);
  EXPECT_EQ(woken("a") + woken("b") + woken("c"), 0);
  release_.Notify();
  for (const char* uid : {"a", "b", "c"}) {
    EXPECT_TRUE(WaitUntil([&] { return woken(uid) == 1; })) << uid;
  }
}

TEST_F(ProberTest, AForgottenPodIsNotWoken) {
  Begin();
  Look("hang", kLiveness);
  ASSERT_TRUE(WaitUntil([&] { return hanging_ == 1; }));
  prober_->Forget("hang");
  release_.Notify();
  prober_.reset();
  EXPECT_EQ(woken("hang"), 0);
  EXPECT_TRUE(events().empty());
}

}  // namespace
}  // namespace plimsoll::agent
