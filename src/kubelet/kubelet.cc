#include "kubelet/kubelet.h"

#include <atomic>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "base/status.h"
#include "base/steady_time.h"
#include "kubelet/caller.h"
#include "kubelet/combine.h"
#include "kubelet/podresources/v1/api.pb.h"
#include "kubelet/pods/v1alpha1/api.pb.h"
#include "kubelet/read_grants.h"
#include "kubelet/read_pod.h"

namespace plimsoll::kubelet {
namespace {

// A question about one pod: two calls, and an answer once both have ended or time is up.
// Thread-safe.
class Question {
 public:
  // `under_way` counts the questions that hold memory.
  Question(runtime::PodIdentity pod, Kubelet::Done done, std::atomic<int>* under_way)
      : pod_(std::move(pod)), under_way_(under_way), done_(std::move(done)) {}
  ~Question() { --*under_way_; }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  const runtime::PodIdentity& pod() const { return pod_; }

  void TakeSpec(absl::StatusOr<ToldPod> told) {
    {
      const absl::MutexLock lock(&mutex_);
      if (!spec_.has_value()) spec_ = std::move(told);
    }
    AnswerIfKnown();
  }
  void TakeGrants(absl::StatusOr<ToldGrants> told) {
    {
      const absl::MutexLock lock(&mutex_);
      if (!grants_.has_value()) grants_ = std::move(told);
    }
    AnswerIfKnown();
  }
  // A socket that has told nothing by now is taken for silent.
  void TimeIsUp() {
    const absl::Status silent = absl::DeadlineExceededError("no answer in time");
    TakeSpec(silent);
    TakeGrants(silent);
  }

 private:
  void AnswerIfKnown() {
    Kubelet::Done done;
    absl::StatusOr<runtime::PodFacts> facts = runtime::PodFacts();
    {
      const absl::MutexLock lock(&mutex_);
      if (!spec_.has_value() || !grants_.has_value() || done_ == nullptr) return;
      done = std::exchange(done_, nullptr);
      facts = Combine(*spec_, *grants_);
    }
    done(std::move(facts));
  }

  const runtime::PodIdentity pod_;
  std::atomic<int>* const under_way_;
  absl::Mutex mutex_;
  std::optional<absl::StatusOr<ToldPod>> spec_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::StatusOr<ToldGrants>> grants_ ABSL_GUARDED_BY(mutex_);
  Kubelet::Done done_ ABSL_GUARDED_BY(mutex_);
};

// Returns what `read` makes of an answer.
template <typename Read>
auto Reading(const absl::StatusOr<std::string>& answer, const Read& read)
    -> decltype(read(std::string())) {
  if (!answer.ok()) return answer.status();
  auto told = read(*answer);
  if (!told.ok()) return Annotate(told.status(), "its answer is refused");
  return told;
}

class Client : public Kubelet {
 public:
  explicit Client(Options options) : options_(std::move(options)) {}

  absl::StatusOr<runtime::PodFacts> Ask(const runtime::PodIdentity& pod) override {
    struct Waiter {
      absl::Notification told;
      absl::StatusOr<runtime::PodFacts> facts = runtime::PodFacts();
    };
    const SteadyTime end = SteadyAfter(options_.patience);
    auto waiter = std::make_shared<Waiter>();
    const auto question = Begin(pod, end, [waiter](absl::StatusOr<runtime::PodFacts> facts) {
      waiter->facts = std::move(facts);
      waiter->told.Notify();
    });
    // The calls' own ends come late where reading other answers takes long.
    if (question != nullptr && !waiter->told.WaitForNotificationWithTimeout(TimeUntil(end))) {
      question->TimeIsUp();
    }
    waiter->told.WaitForNotification();
    return std::move(waiter->facts);
  }

  void AskLater(const runtime::PodIdentity& pod, Done done) override {
    Begin(pod, SteadyAfter(options_.patience), std::move(done));
  }

  absl::StatusOr<Grants> AskGrants() override {
    const SteadyTime end = SteadyAfter(options_.patience);
    const auto given = AskNode("List", ReadAllGrants, end);
    const auto all = AskNode("GetAllocatableResources", ReadDeviceTotals, end);
    given->told.WaitForNotification();
    all->told.WaitForNotification();
    if (!given->answer.ok()) {
      return absl::UnavailableError(
          absl::StrCat("PodResources: ", given->answer.status().message()));
    }
    Grants grants = *std::move(given->answer);
    if (all->answer.ok()) grants.device_totals = *std::move(all->answer);
    return grants;
  }

 private:
  std::string SocketOfGrants() const {
    return absl::StrCat(options_.root, "/pod-resources/kubelet.sock");
  }

  template <typename T>
  struct Waited {
    absl::Notification told;
    absl::StatusOr<T> answer = T();
  };
  // Calls a method about the whole node.
  template <typename T>
  std::shared_ptr<Waited<T>> AskNode(const char* method,
                                     absl::StatusOr<T> (*read)(absl::string_view), SteadyTime end) {
    auto waited = std::make_shared<Waited<T>>();
    Call call{.socket = SocketOfGrants(),
              .method = absl::StrCat("/v1.PodResourcesLister/", method),
              .most_bytes = kMostAllGrantBytes,
              .end = end};
    caller_.Start(std::move(call), [waited, read](const absl::StatusOr<std::string>& answer) {
      waited->answer = Reading(answer, read);
      waited->told.Notify();
    });
    return waited;
  }

  // Null: there are too many questions, and `done` has been called.
  std::shared_ptr<Question> Begin(const runtime::PodIdentity& pod, SteadyTime end, Done done) {
    if (++under_way_ > options_.most_questions) {
      --under_way_;
      done(absl::ResourceExhaustedError(absl::StrCat(
          "kubelet isn't asked: ", options_.most_questions, " questions are under way")));
      return nullptr;
    }
    auto question = std::make_shared<Question>(pod, std::move(done), &under_way_);
    AskPods(question, end);
    AskPodResources(question, end);
    return question;
  }

  void AskPods(const std::shared_ptr<Question>& question, SteadyTime end) {
    ::v1alpha1::GetPodRequest request;
    request.set_poduid(question->pod().uid);
    Call call{.socket = absl::StrCat(options_.root, "/pods-api/pods-api.sock"),
              .method = "/v1alpha1.Pods/GetPod",
              .request = request.SerializeAsString(),
              .most_bytes = kMostPodBytes,
              .end = end};
    caller_.Start(std::move(call), [question](const absl::StatusOr<std::string>& answer) {
      question->TakeSpec(Reading(
          answer, [&](const std::string& bytes) { return ReadPod(bytes, question->pod()); }));
    });
  }

  void AskPodResources(const std::shared_ptr<Question>& question, SteadyTime end) {
    ::v1::GetPodResourcesRequest request;
    request.set_pod_name(question->pod().name);
    request.set_pod_namespace(question->pod().pod_namespace);
    Call call{.socket = SocketOfGrants(),
              .method = "/v1.PodResourcesLister/Get",
              .request = request.SerializeAsString(),
              .most_bytes = kMostGrantBytes,
              .end = end};
    caller_.Start(std::move(call), [question](const absl::StatusOr<std::string>& answer) {
      question->TakeGrants(Reading(
          answer, [&](const std::string& bytes) { return ReadGrants(bytes, question->pod()); }));
    });
  }

  const Options options_;
  std::atomic<int> under_way_ = 0;
  Caller caller_;  // its end waits for the questions
};

}  // namespace

std::unique_ptr<Kubelet> Kubelet::Make(Options options) {
  return std::make_unique<Client>(std::move(options));
}

}  // namespace plimsoll::kubelet
