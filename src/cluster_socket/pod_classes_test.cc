#include "cluster_socket/pod_classes.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "qos/fake_type_for_test.h"
#include "qos/pod_qos.h"

namespace plimsoll::cluster {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class SettableClock : public Clock {
 public:
  absl::Time Now() const override { return now; }
  absl::Time now = absl::FromUnixSeconds(1790000000);
};

class PodClassesTest : public ::testing::Test {
 protected:
  PodClassesTest() {
    std::vector<std::unique_ptr<qos::ClassType>> types;
    types.push_back(std::make_unique<qos::FakeType>(
        &kernel_, qos::FakeType::Options{.name = "lane",
                                         .level = qos::Level::kPod,
                                         .classes = {{"fast", 1, ""}, {"slow", 0, ""}},
                                         .default_class = "slow"}));
    types.push_back(std::make_unique<qos::FakeType>(
        &kernel_, qos::FakeType::Options{
                      .name = "tide", .level = qos::Level::kPod, .classes = {{"low", 0, ""}}}));
    types.push_back(std::make_unique<qos::FakeType>(&kernel_, qos::FakeType::Options{}));
    types.push_back(std::make_unique<qos::PodQosType>());
    registry_ = *qos::Registry::Create(std::move(types), {{qos::Level::kPod, "moon", "no moon"}});
    Open();
  }
  // Opens the file like after a restart.
  void Open() {
    PodClassesOptions options{.directory = dir_.root(), .registry = registry_.get()};
    options.held_by = [this](const std::string& uid) -> std::optional<qos::HeldClasses> {
      const auto at = sandboxes_.find(uid);
      if (at == sandboxes_.end()) return std::nullopt;
      return at->second;
    };
    options.clock = &clock_;
    options.most = 3;
    classes_.reset();
    classes_ = std::make_unique<PodClasses>(std::move(options));
  }
  absl::Status Set(const std::string& pod, const std::string& claim, qos::ClassNames classes) {
    return classes_->Set({.claim_uid = claim,
                          .pod_uid = pod,
                          .classes = std::move(classes),
                          .told_unix_seconds = 0});
  }

  TestDir dir_;
  SettableClock clock_;
  qos::FakeKernel kernel_;
  std::unique_ptr<qos::Registry> registry_;
  std::map<std::string, qos::HeldClasses> sandboxes_;  // that live, by the pod's uid
  std::unique_ptr<PodClasses> classes_;
};

TEST_F(PodClassesTest, AClassThatOnlyInformsIsNoClaims) {
  const absl::Status set = Set("pod-1", "claim-1", {{"pod-qos", "Guaranteed"}});
  EXPECT_EQ(set.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(set.message(), HasSubstr("type \"pod-qos\" only shows what follows from the pod's"));
  EXPECT_THAT(*classes_->OfPod("pod-1"), IsEmpty());
}

TEST_F(PodClassesTest, APodHasTheClassesOfAllItsClaims) {
  ASSERT_TRUE(Set("pod-1", "claim-1", {{"lane", "fast"}}).ok());
  ASSERT_TRUE(Set("pod-1", "claim-2", {{"tide", "low"}, {"lane", "fast"}}).ok());
  ASSERT_TRUE(Set("pod-2", "claim-3", {{"lane", "slow"}}).ok());
  EXPECT_THAT(*classes_->OfPod("pod-1"), ElementsAre(Pair("lane", "fast"), Pair("tide", "low")));
  EXPECT_THAT(*classes_->OfPod("pod-3"), IsEmpty());
  EXPECT_EQ(classes_->size(), 3u);
}

TEST_F(PodClassesTest, TheySurviveARestart) {
  ASSERT_TRUE(Set("pod-1", "claim-1", {{"lane", "fast"}}).ok());
  ASSERT_TRUE(classes_->SetScheduled(true).ok());
  Open();
  EXPECT_THAT(*classes_->OfPod("pod-1"), ElementsAre(Pair("lane", "fast")));
  EXPECT_TRUE(classes_->scheduled());
  ASSERT_TRUE(classes_->SetScheduled(false).ok());
  ASSERT_TRUE(classes_->Drop("claim-1").ok());
  Open();
  EXPECT_THAT(*classes_->OfPod("pod-1"), IsEmpty());
  EXPECT_FALSE(classes_->scheduled());
}

TEST_F(PodClassesTest, TheSecondWordOfAClaimCounts) {
  ASSERT_TRUE(Set("pod-1", "claim-1", {{"lane", "fast"}}).ok());
  ASSERT_TRUE(Set("pod-1", "claim-1", {{"lane", "slow"}}).ok());
  EXPECT_THAT(*classes_->OfPod("pod-1"), ElementsAre(Pair("lane", "slow")));
  ASSERT_TRUE(Set("pod-2", "claim-1", {{"tide", "low"}}).ok());
  EXPECT_THAT(*classes_->OfPod("pod-1"), IsEmpty());
  EXPECT_EQ(classes_->List()->size(), 1u);
}

TEST_F(PodClassesTest, DropOfNothingIsOk) {
  EXPECT_TRUE(classes_->Drop("claim-9").ok());
}

TEST_F(PodClassesTest, TwoClaimsMustNotDiffer) {
  ASSERT_TRUE(Set("pod-1", "claim-1", {{"lane", "fast"}}).ok());
  const absl::Status status = Set("pod-1", "claim-2", {{"lane", "slow"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("claim claim-2 gives pod pod-1 class \"slow\" of type \"lane\""),
                    HasSubstr("claim claim-1 gives it class \"fast\"")));
  EXPECT_THAT(*classes_->OfPod("pod-1"), ElementsAre(Pair("lane", "fast")));
}

TEST_F(PodClassesTest, AClassComesBeforeTheSandbox) {
  sandboxes_["pod-1"] = {{"lane", {.name = "slow"}}};
  const absl::Status other = Set("pod-1", "claim-1", {{"lane", "fast"}});
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other.message()),
              HasSubstr("pod pod-1 runs without class \"fast\" of type \"lane\", with class "
                        "\"slow\""));
  const absl::Status none = Set("pod-1", "claim-1", {{"tide", "low"}});
  EXPECT_THAT(std::string(none.message()),
              HasSubstr("runs without class \"low\" of type \"tide\":"));
  // A started plimsoll-kube sets all that it knows.
  EXPECT_TRUE(Set("pod-1", "claim-1", {{"lane", "slow"}}).ok());
}

TEST_F(PodClassesTest, UnknownNamesAreAnsweredWithThoseThereAre) {
  const absl::Status type = Set("pod-1", "claim-1", {{"lake", "fast"}});
  EXPECT_EQ(type.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(type.message()), AllOf(HasSubstr("lake"), HasSubstr("lane")));
  EXPECT_THAT(std::string(Set("pod-1", "claim-1", {{"lane", "fat"}}).message()),
              AllOf(HasSubstr("\"fat\""), HasSubstr("\"fast\"")));
  EXPECT_THAT(std::string(Set("pod-1", "claim-1", {{"moon", "full"}}).message()),
              HasSubstr("no moon"));
  // A class of containers isn't one of pods.
  EXPECT_EQ(Set("pod-1", "claim-1", {{"rdt", "gold"}}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(classes_->size(), 0u);
}

TEST_F(PodClassesTest, MalformedWordsAreRefused) {
  const qos::ClassNames good = {{"lane", "fast"}};
  for (const std::string& uid :
       {std::string(), std::string("a/b"), std::string("a b"), std::string("\x1b[2J"),
        std::string("a\0b", 3), std::string(129, 'a'), std::string("\xc3\xa9")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Set(uid, "claim-1", good))) << uid;
    EXPECT_TRUE(absl::IsInvalidArgument(Set("pod-1", uid, good))) << uid;
    EXPECT_TRUE(absl::IsInvalidArgument(classes_->Drop(uid))) << uid;
  }
  EXPECT_THAT(std::string(Set("\x1b[2J", "c", good).message()), HasSubstr("\"\\x1b[2J\""));
  EXPECT_TRUE(absl::IsInvalidArgument(Set("pod-1", "claim-1", {})));
  EXPECT_TRUE(absl::IsInvalidArgument(Set("pod-1", "claim-1", {{"lane", ""}})));
  EXPECT_TRUE(absl::IsInvalidArgument(Set("pod-1", "claim-1", {{"", "fast"}})));
  EXPECT_TRUE(absl::IsInvalidArgument(Set("pod-1", "claim-1", {{"lane", std::string(318, 'x')}})));
  qos::ClassNames many;
  for (int i = 0; i < 33; ++i) many[absl::StrCat("type-", i)] = "x";
  EXPECT_TRUE(absl::IsInvalidArgument(Set("pod-1", "claim-1", many)));
  EXPECT_TRUE(Set(std::string(128, 'a'), "0a1B-c_d.e", good).ok());
}

TEST_F(PodClassesTest, AFullTableRefusesUntilOneIsForgotten) {
  const qos::ClassNames slow = {{"lane", "slow"}};
  for (const char* number : {"1", "2", "3"}) {
    ASSERT_TRUE(Set(absl::StrCat("pod-", number), absl::StrCat("claim-", number), slow).ok());
    clock_.now += absl::Hours(1);
  }
  const absl::Status full = Set("pod-4", "claim-4", slow);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), HasSubstr("3 claims already"));
  EXPECT_TRUE(Set("pod-3", "claim-3", slow).ok());  // it takes no further place
  clock_.now += absl::Hours(22);
  sandboxes_["pod-1"] = {{"lane", {.name = "slow"}}};  // the oldest is in use
  EXPECT_TRUE(Set("pod-4", "claim-4", slow).ok());
  EXPECT_THAT(*classes_->OfPod("pod-1"), ElementsAre(Pair("lane", "slow")));
  EXPECT_THAT(*classes_->OfPod("pod-2"), IsEmpty());
  Open();
  EXPECT_EQ(classes_->size(), 3u);
  EXPECT_THAT(*classes_->OfPod("pod-2"), IsEmpty());
}

TEST_F(PodClassesTest, AllWordsTogetherHaveALimit) {
  PodClasses small({.directory = dir_.root(),
                    .registry = registry_.get(),
                    .held_by = [](const std::string&) { return std::nullopt; },
                    .most_bytes = 30});
  const Claim claim{.claim_uid = "claim-1", .pod_uid = "pod-1", .classes = {{"lane", "fast"}}};
  EXPECT_TRUE(small.Set(claim).ok());
  EXPECT_TRUE(small.Set(claim).ok());
  Claim other = claim;
  other.claim_uid = "claim-2";
  EXPECT_EQ(small.Set(other).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(PodClassesTest, ADamagedTableFailsAllThatNeedIt) {
  classes_.reset();
  ASSERT_TRUE(dir_.root().ReplaceFile(ClaimTable::kFileName, std::string(4096, 'x')).ok());
  Open();
  EXPECT_EQ(classes_->readable().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(classes_->OfPod("pod-1").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(classes_->List().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Set("pod-1", "claim-1", {{"lane", "fast"}}).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(classes_->Drop("claim-1").code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(classes_->SetScheduled(true).code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(classes_->scheduled());
}

TEST_F(PodClassesTest, WithoutClassesNoneIsTaken) {
  PodClasses off({.directory = dir_.root(), .registry = nullptr});
  EXPECT_EQ(off.Set({.claim_uid = "c", .pod_uid = "p", .classes = {{"lane", "fast"}}}).code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace plimsoll::cluster
