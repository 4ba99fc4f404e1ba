// A pod's record and its steps' outcomes, over a database alone.
#include "agent/pods/records/pod_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "sqlite/database.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Time kThen = absl::FromUnixSeconds(1'000'000);

nlohmann::json PodOfRequest(const std::string& cpu) {
  const nlohmann::json container = {
      {"name", "main"}, {"image", "i"}, {"resources", {{"requests", {{"cpu", cpu}}}}}};
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", "web"}}},
          {"spec", {{"containers", nlohmann::json::array({container})}}}};
}

PodGrant GrantOf(const std::string& cpus) {
  PodGrant grant;
  grant.containers["main"].cpus = *resources::CpuSet::Parse(cpus);
  grant.containers["main"].cpu_count = 1;
  return grant;
}

ObservedPod Running() {
  ObservedPod observed;
  observed.containers.push_back({.id = "c1", .name = "main"});
  observed.containers.back().state = ObservedState::kRunning;
  return observed;
}

class PodStateTest : public testing::Test {
 protected:
  std::unique_ptr<PodState> Make(const std::string& name, const PodGrant& grant = {}) {
    PodRecord record;
    record.uid = "uid-" + name;
    record.key = {"default", name};
    record.object = PodOfRequest("1");
    record.created = kThen;
    record.grant = grant;
    EXPECT_TRUE(store_->Put({record}).ok());
    return std::make_unique<PodState>(*store_, record, manifest_);
  }
  // The record that the next agent finds.
  PodRecord OnDisk() {
    auto loaded = store_->Load();
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() && loaded->pods.size() == 1 ? loaded->pods.front() : PodRecord();
  }
  // No change can be written from now on.
  void BreakStore() {
    auto database = sqlite::Database::Open(absl::StrCat(dir_.path(), "/", PodStore::kFileName),
                                           sqlite::Durability::kFull);
    ASSERT_TRUE(database.ok()) << database.status();
    for (const char* change : {"INSERT", "UPDATE"}) {
      const std::string statement =
          absl::StrCat("CREATE TRIGGER broken_", change, " BEFORE ", change,
                       " ON pods BEGIN SELECT RAISE(ABORT, 'no change now'); END");
      const absl::Status status = (*database)->Execute(statement);
      ASSERT_TRUE(status.ok()) << status;
    }
  }

  const TestDir dir_;
  const std::unique_ptr<PodStore> store_ = *PodStore::Open(dir_.root());
  const std::shared_ptr<const pod::Manifest> manifest_ = std::make_shared<pod::Manifest>();
};

TEST_F(PodStateTest, ALookAtTheRecordSeesItsLastChange) {
  const auto state = Make("a", GrantOf("3"));
  ASSERT_TRUE(state->Evict({"Evicted", "no room"}).ok());
  ASSERT_TRUE(state->ReleaseGrant().ok());
  int looks = 0;
  state->Read([&](const PodRecord& record) {
    ++looks;
    EXPECT_EQ(record.uid, "uid-a");
    EXPECT_EQ(record.created, kThen);
    EXPECT_EQ(record.verdict->reason, "Evicted");
    EXPECT_TRUE(record.is_grant_released);
    EXPECT_TRUE(record.grant.Empty());
  });
  EXPECT_EQ(looks, 1);
}

TEST_F(PodStateTest, AChangeIsOnTheDiskAndOneThatFailsIsNowhere) {
  const auto pod = Make("web");
  ASSERT_TRUE(pod->Change([](PodRecord& record) { record.first_id = 7; }).ok());
  EXPECT_EQ(pod->record().first_id, 7u);
  EXPECT_EQ(OnDisk().first_id, 7u);
  const PodState::Shown shown = pod->ToShow();
  BreakStore();
  const absl::Status failed = pod->Change([](PodRecord& record) { record.first_id = 8; },
                                          std::make_shared<pod::Manifest>());
  EXPECT_THAT(std::string(failed.message()), HasSubstr("no change now"));
  EXPECT_EQ(pod->record().first_id, 7u);
  EXPECT_EQ(pod->manifest(), manifest_);
  EXPECT_TRUE(pod->IsLatest(shown));
}

TEST_F(PodStateTest, APodThatHasGoneTakesNoChange) {
  const auto pod = Make("web");
  ASSERT_TRUE(pod->Forget().ok());
  EXPECT_THAT(*store_->Uids(), IsEmpty());
  const absl::Status status = pod->Evict({"Evicted", "no room"});
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_EQ(status.message(), "pod default/web was removed");
  EXPECT_TRUE(absl::IsNotFound(pod->Delete(kThen, 1).status()));
  EXPECT_TRUE(pod->ReleaseGrant().ok()) << "it has none";
  EXPECT_THAT(*store_->Uids(), IsEmpty()) << "no change brings it back";
}

TEST_F(PodStateTest, AnEndIsOnlyShortened) {
  const auto pod = Make("web");
  EXPECT_TRUE(*pod->Delete(kThen, 60));
  EXPECT_FALSE(*pod->Delete(kThen + absl::Seconds(5), 90));
  EXPECT_EQ(pod->record().grace_s, 60);
  EXPECT_TRUE(*pod->Delete(kThen + absl::Seconds(9), 2));
  EXPECT_EQ(OnDisk().grace_s, 2);
  EXPECT_EQ(OnDisk().deleted, kThen) << "it was asked for then";
}

TEST_F(PodStateTest, AChangeWithoutRoomLeavesThePodWhatItHas) {
  const auto pod = Make("web");
  ASSERT_TRUE(
      pod->Put({PodOfRequest("2"), nullptr, PodVerdict{"Deferred", "too little cpu"}}).ok());
  PodRecord record = pod->record();
  EXPECT_EQ(record.object, PodOfRequest("2"));
  EXPECT_EQ(record.Allocated(), PodOfRequest("1"));
  EXPECT_EQ(record.generation, 2);
  EXPECT_EQ(record.allocated_generation, 1);
  EXPECT_TRUE(record.actuated.is_null());
  EXPECT_EQ(pod->manifest(), manifest_);

  const auto next = std::make_shared<const pod::Manifest>();
  ASSERT_TRUE(pod->Put({PodOfRequest("2"), next, std::nullopt}).ok());
  record = pod->record();
  EXPECT_TRUE(record.allocated.is_null());
  EXPECT_FALSE(record.pending.has_value());
  EXPECT_EQ(record.generation, 2) << "the spec is the same";
  EXPECT_EQ(record.allocated_generation, 2);
  EXPECT_EQ(record.actuated, PodOfRequest("1")) << "that is in force still";
  EXPECT_EQ(pod->manifest(), next);
  EXPECT_EQ(OnDisk().actuated, PodOfRequest("1"));
}

TEST_F(PodStateTest, TheFirstVerdictStays) {
  const auto pod = Make("web");
  EXPECT_TRUE(pod->is_active());
  ASSERT_TRUE(pod->Evict({"Evicted", "no room"}).ok());
  ASSERT_TRUE(pod->Evict({"DeadlineExceeded", "too old"}).ok());
  EXPECT_EQ(pod->record().verdict->reason, "Evicted");
  EXPECT_FALSE(pod->is_active());
}

TEST_F(PodStateTest, AGrantIsHeldUntilAStepHasSeenThatNothingUsesIt) {
  const auto pod = Make("web", GrantOf("1"));
  EXPECT_TRUE(pod->holds_grant()) << "nobody has looked";
  EXPECT_FALSE(pod->has_looked());
  pod->BeginStep();
  EXPECT_FALSE(pod->EndStep(Running(), /*has_ended=*/false));
  EXPECT_TRUE(pod->has_looked());
  EXPECT_EQ(pod->observed().containers.size(), 1u);
  pod->BeginStep();
  ASSERT_TRUE(pod->Evict({"Evicted", "no room"}).ok());
  EXPECT_TRUE(pod->holds_grant()) << "the step may start a container yet";
  EXPECT_TRUE(pod->EndStep(Running(), /*has_ended=*/true)) << "the pod has ended";
  EXPECT_TRUE(pod->holds_grant()) << "a container runs";
  pod->BeginStep();
  EXPECT_TRUE(pod->EndStep({}, /*has_ended=*/true)) << "its CPUs are free";
  EXPECT_FALSE(pod->holds_grant());
  pod->BeginStep();
  EXPECT_FALSE(pod->EndStep({}, /*has_ended=*/true)) << "they were before";
}

TEST_F(PodStateTest, AReleasedGrantIsOffTheRecord) {
  const auto pod = Make("web", GrantOf("1"));
  ASSERT_TRUE(pod->ReleaseGrant().ok());
  EXPECT_TRUE(pod->grant().Empty());
  EXPECT_TRUE(OnDisk().is_grant_released);
  EXPECT_FALSE(pod->holds_grant());
}

TEST_F(PodStateTest, GrantsAreWrittenTogetherOrNotAtAll) {
  const auto one = Make("one", GrantOf("1"));
  const auto other = Make("other", GrantOf("2"));
  const auto gone = Make("gone", GrantOf("3"));
  ASSERT_TRUE(gone->Forget().ok());
  const PodState::Shown shown = one->ToShow();
  ASSERT_TRUE(PodState::PutGrants(*store_, {{other.get(), std::nullopt},
                                            {gone.get(), GrantOf("1")},
                                            {one.get(), GrantOf("2")}})
                  .ok());
  EXPECT_EQ(one->grant(), GrantOf("2"));
  EXPECT_TRUE(other->grant().Empty());
  EXPECT_FALSE(one->IsLatest(shown));
  EXPECT_THAT(*store_->Uids(), ElementsAre("uid-one", "uid-other"));
  EXPECT_TRUE(PodState::PutGrants(*store_, {{gone.get(), std::nullopt}}).ok());
  BreakStore();
  EXPECT_FALSE(
      PodState::PutGrants(*store_, {{other.get(), GrantOf("2")}, {one.get(), std::nullopt}}).ok());
  EXPECT_EQ(one->grant(), GrantOf("2"));
  EXPECT_TRUE(other->grant().Empty());
}

TEST_F(PodStateTest, NewsOfDevicesReachesOneStep) {
  const auto pod = Make("web");
  EXPECT_FALSE(pod->BeginStep().has_device_news);
  pod->OnDevices();
  pod->OnDevices();
  const PodState::Begun begun = pod->BeginStep();
  EXPECT_TRUE(begun.has_device_news);
  EXPECT_EQ(begun.record.uid, "uid-web");
  EXPECT_EQ(begun.manifest, manifest_);
  EXPECT_FALSE(pod->BeginStep().has_device_news);
}

}  // namespace
}  // namespace plimsoll::agent
