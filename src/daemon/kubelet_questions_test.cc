#include "daemon/kubelet_questions.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"

namespace plimsoll::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FakeKubelet : public kubelet::Kubelet {
 public:
  explicit FakeKubelet(const absl::StatusOr<runtime::PodFacts>* answer) : answer_(answer) {}
  absl::StatusOr<runtime::PodFacts> Ask(const runtime::PodIdentity&) override { return *answer_; }
  void AskLater(const runtime::PodIdentity&, Done done) override { done(*answer_); }
  absl::StatusOr<kubelet::Grants> AskGrants() override { return kubelet::Grants(); }

 private:
  const absl::StatusOr<runtime::PodFacts>* const answer_;
};

class MovedClock : public Clock {
 public:
  absl::Time Now() const override { return now; }
  absl::Time now = absl::UnixEpoch();
};

class KubeletQuestionsTest : public ::testing::Test {
 protected:
  static runtime::PodFacts Facts(bool has_spec, bool has_grants) {
    runtime::PodFacts facts;
    facts.has_spec = has_spec;
    facts.has_grants = has_grants;
    facts.missing = {"reason"};
    return facts;
  }
  void Ask(absl::StatusOr<runtime::PodFacts> answer) {
    answer_ = std::move(answer);
    const cri::FactsSource source = questions_.Source();
    EXPECT_EQ(source.ask({}).status(), answer_.status());
    int answers = 0;
    source.ask_later({}, [&](const cri::FactsSource::Answer& later) {
      EXPECT_EQ(later.status(), answer_.status());
      ++answers;
    });
    EXPECT_EQ(answers, 1);
  }

  absl::StatusOr<runtime::PodFacts> answer_ = runtime::PodFacts();
  std::vector<std::string> lines_;
  Log log_{LogFormat::kText, LogLevel::kDebug,
           [this](LogLevel, const std::string& line) { lines_.push_back(line); }};
  Metrics metrics_{"1", [] { return StateCounts(); }};
  MovedClock clock_;
  KubeletQuestions questions_{std::make_unique<FakeKubelet>(&answer_), &log_, &metrics_, &clock_};
};

TEST_F(KubeletQuestionsTest, EachQuestionIsCountedByItsResult) {
  Ask(Facts(true, true));
  Ask(absl::DeadlineExceededError("slow"));
  Ask(absl::ResourceExhaustedError("32 questions"));
  Ask(absl::UnavailableError("no socket"));
  const std::string text = metrics_.Text();
  for (const char* result : {"answered", "late", "refused", "untold"}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("plimsoll_kubelet_questions_total{result=\"", result,
                                             "\"} 2\n")));
  }
  EXPECT_THAT(text, HasSubstr("plimsoll_kubelet_answer_duration_seconds_count 8\n"));
}

TEST_F(KubeletQuestionsTest, TheLogHasALineForEachChange) {
  for (int pods = 0; pods < 10; ++pods) Ask(Facts(false, true));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("kubelet reports pods' devices, and no resources")));
  Ask(absl::ResourceExhaustedError("32 questions"));
  EXPECT_EQ(lines_.size(), 1u) << "that says nothing of kubelet";
  for (int pods = 0; pods < 10; ++pods) Ask(absl::UnavailableError("no socket"));
  EXPECT_EQ(lines_.size(), 2u);
  EXPECT_THAT(lines_.back(), HasSubstr("kubelet reports nothing of its pods"));
  EXPECT_THAT(lines_.back(), HasSubstr("no socket"));
  // A kubelet that comes and goes fills no log, and its last state is logged.
  for (int i = 0; i < 10; ++i) {
    Ask(Facts(true, true));
    Ask(absl::UnavailableError("no socket"));
  }
  EXPECT_EQ(lines_.size(), 2u);
  Ask(Facts(true, true));
  clock_.now += absl::Minutes(2);
  Ask(Facts(true, true));
  EXPECT_EQ(lines_.size(), 3u);
  EXPECT_THAT(lines_.back(), HasSubstr("kubelet reports pods' resources and devices"));
  clock_.now += absl::Minutes(2);
  Ask(Facts(true, false));
  EXPECT_THAT(lines_.back(), HasSubstr("kubelet reports pods' resources, and no devices"));
}

TEST_F(KubeletQuestionsTest, AnotherReasonIsTold) {
  Ask(absl::UnavailableError("no socket"));
  EXPECT_EQ(lines_.size(), 1u);
  Ask(absl::UnavailableError("permission denied"));
  EXPECT_EQ(lines_.size(), 2u);
  EXPECT_THAT(lines_.back(), HasSubstr("permission denied"));
  // Reasons that differ from pod to pod fill no log.
  for (int i = 0; i < 10; ++i) Ask(absl::UnavailableError(absl::StrCat("pod ", i)));
  EXPECT_EQ(lines_.size(), 2u);
  // And keep no change from it.
  Ask(Facts(true, true));
  EXPECT_EQ(lines_.size(), 3u);
}

}  // namespace
}  // namespace plimsoll::daemon
