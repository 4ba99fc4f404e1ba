// For tests: a link whose reports a test gives, to a plimsolld that is a map in memory.
#ifndef PLIMSOLL_KUBE_LINK_FAKE_LINK_FOR_TEST_H_
#define PLIMSOLL_KUBE_LINK_FAKE_LINK_FOR_TEST_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "kube/link/runtime_link.h"

namespace plimsoll::kube {

//   FakeLink link([&](auto report) { driver.OnReport(report); });
//   link.Tell(report);
//   EXPECT_THAT(link.calls(), ElementsAre("SetPodClasses pod-1 claim-1 rdt=gold"));
//
// Thread-safe, but Tell and Lose call back in the caller's thread.
class FakeLink final : public RuntimeLink {
 public:
  FakeLink() = default;
  explicit FakeLink(OnReport on_report) : on_report_(std::move(on_report)) {}

  void Tell(NodeReport report) {
    on_report_(std::make_shared<const NodeReport>(std::move(report)));
  }
  void Lose() { on_report_(nullptr); }
  // The answer to each call from now on. An error: the call changes nothing.
  void Answer(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    answer_ = std::move(status);
  }

  // Sets the answer to SetPodClasses alone.
  void AnswerToSets(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    answer_to_sets_ = std::move(status);
  }

  // In their order, also those that failed.
  std::vector<std::string> calls() const {
    absl::MutexLock lock(&mutex_);
    return calls_;
  }
  void ForgetCalls() {
    absl::MutexLock lock(&mutex_);
    calls_.clear();
  }
  // Told and not dropped, by the claim's uid.
  std::map<std::string, PodClasses> told() const {
    absl::MutexLock lock(&mutex_);
    return told_;
  }
  bool scheduled() const {
    absl::MutexLock lock(&mutex_);
    return scheduled_;
  }

  absl::Status SetPodClasses(const PodClasses& pod) override {
    absl::MutexLock lock(&mutex_);
    calls_.push_back(absl::StrCat("SetPodClasses ", pod.pod_uid, " ", pod.claim_uid, " ",
                                  absl::StrJoin(pod.classes, ",", absl::PairFormatter("="))));
    const absl::Status answer = answer_.ok() ? answer_to_sets_ : answer_;
    if (answer.ok()) told_[pod.claim_uid] = pod;
    return answer;
  }
  absl::Status DropPodClasses(const std::string& claim_uid) override {
    absl::MutexLock lock(&mutex_);
    calls_.push_back(absl::StrCat("DropPodClasses ", claim_uid));
    if (answer_.ok()) told_.erase(claim_uid);
    return answer_;
  }
  absl::StatusOr<std::vector<PodClasses>> ListPodClasses() override {
    absl::MutexLock lock(&mutex_);
    calls_.emplace_back("ListPodClasses");
    if (!answer_.ok()) return answer_;
    std::vector<PodClasses> pods;
    for (const auto& [claim, pod] : told_) pods.push_back(pod);
    return pods;
  }
  absl::Status SetScheduled(bool scheduled) override {
    absl::MutexLock lock(&mutex_);
    calls_.push_back(absl::StrCat("SetScheduled ", scheduled ? "true" : "false"));
    if (answer_.ok()) scheduled_ = scheduled;
    return answer_;
  }

 private:
  const OnReport on_report_ = [](const std::shared_ptr<const NodeReport>&) {};
  mutable absl::Mutex mutex_;
  absl::Status answer_ ABSL_GUARDED_BY(mutex_);
  absl::Status answer_to_sets_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, PodClasses> told_ ABSL_GUARDED_BY(mutex_);
  bool scheduled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_LINK_FAKE_LINK_FOR_TEST_H_
