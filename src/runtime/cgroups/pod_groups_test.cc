#include "runtime/cgroups/pod_groups.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/cgroups/group_paths.h"
#include "runtime/objects/parts_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

class PodGroupsTest : public PartsTest {
 protected:
  static SandboxRecord In(const std::string& parent, const std::string& id) {
    SandboxRecord record = SandboxOf(id);
    record.state = SandboxState::kCreating;
    record.spec.cgroup_parent = parent;
    return record;
  }
  // Made, and among the objects.
  std::shared_ptr<Sandbox> MakeWhole(SandboxRecord record) {
    EXPECT_TRUE(groups_.Make(&record).ok());
    std::shared_ptr<Sandbox> sandbox;
    const auto add = [&] {
      record.state = SandboxState::kReady;
      sandbox = Add(record);
      return absl::OkStatus();
    };
    EXPECT_TRUE(groups_.Finish(&record, add).ok());
    return sandbox;
  }

  const NodeConfinement confinement_{options_, &objects_};
  PodGroups groups_{options_, &objects_, &confinement_};
};

TEST_F(PodGroupsTest, APodWithoutAParentHasItsGroupBelowOurs) {
  const auto sandbox = MakeWhole(In("", "pod"));
  EXPECT_EQ(sandbox->Snapshot().cgroup_path, "/plimsoll/pod");
  EXPECT_THAT(sandbox->Snapshot().owned_cgroups, ElementsAre("/plimsoll/pod"));
  EXPECT_THAT(cgroups_.groups(), Contains("/plimsoll/pod"));
  EXPECT_TRUE(groups_.RemoveAll(*sandbox).ok());
  EXPECT_THAT(cgroups_.groups(), ElementsAre("/plimsoll"));  // kept for the next pod
  EXPECT_EQ(sandbox->Snapshot().cgroup_path, "");
  EXPECT_THAT(sandbox->Snapshot().owned_cgroups, IsEmpty());
}

TEST_F(PodGroupsTest, TheRowIsWrittenBeforeAnythingIsMade) {
  store_.faults.FailNext("PutSandbox", absl::ResourceExhaustedError("full"));
  SandboxRecord record = In("", "pod");
  EXPECT_TRUE(absl::IsResourceExhausted(groups_.Make(&record)));
  EXPECT_THAT(cgroups_.groups(), IsEmpty());
  cgroups_.on_create = [this] { EXPECT_EQ(store_.LoadSandboxes()->size(), 1u); };
  EXPECT_TRUE(groups_.Make(&record).ok());
  groups_.Forget(&record);
}

TEST_F(PodGroupsTest, AGroupThatWasThereIsNobodysToRemove) {
  cgroups_.AddGroup("/kubepods");
  cgroups_.AddGroup("/kubepods/pod1");
  const auto sandbox = MakeWhole(In("/kubepods/pod1", "pod"));
  EXPECT_THAT(sandbox->Snapshot().owned_cgroups, IsEmpty());
  EXPECT_FALSE(OwnsItsGroup(sandbox->Snapshot()));
  EXPECT_TRUE(groups_.RemoveAll(*sandbox).ok());
  EXPECT_THAT(cgroups_.groups(), ElementsAre("/kubepods", "/kubepods/pod1"));
}

TEST_F(PodGroupsTest, AnotherPodOfTheGroupInheritsIt) {
  const auto first = MakeWhole(In("/shared", "first"));
  const auto second = MakeWhole(In("/shared/inner", "second"));
  EXPECT_THAT(second->Snapshot().owned_cgroups, ElementsAre("/shared/inner"));
  EXPECT_TRUE(groups_.RemoveAll(*first).ok());
  EXPECT_THAT(second->Snapshot().owned_cgroups, ElementsAre("/shared", "/shared/inner"));
  EXPECT_THAT(cgroups_.groups(), Contains("/shared"));
  objects_.RemoveSandbox("first", [] {});
  EXPECT_TRUE(groups_.RemoveAll(*second).ok());
  EXPECT_THAT(cgroups_.groups(), IsEmpty());
}

TEST_F(PodGroupsTest, SoDoesAPodInTheMakingUntilItIsForgotten) {
  const auto first = MakeWhole(In("/shared", "first"));
  SandboxRecord making = In("/shared", "making");
  ASSERT_TRUE(groups_.Make(&making).ok());
  EXPECT_TRUE(groups_.RemoveAll(*first).ok());
  EXPECT_THAT(making.owned_cgroups, ElementsAre("/shared"));
  groups_.Forget(&making);
  EXPECT_TRUE(groups_.Remove(making).ok());
  EXPECT_THAT(cgroups_.groups(), Not(Contains("/shared")));
}

TEST_F(PodGroupsTest, AnInheritanceThatCannotBeSavedIsAnErrorAndKeepsTheGroup) {
  const auto first = MakeWhole(In("/shared", "first"));
  MakeWhole(In("/shared", "second"));
  store_.faults.FailNext("PutSandbox", absl::ResourceExhaustedError("full"));
  EXPECT_TRUE(absl::IsResourceExhausted(groups_.RemoveAll(*first)));
  EXPECT_THAT(cgroups_.groups(), Contains("/shared"));
}

TEST_F(PodGroupsTest, AFinishThatFailsLeavesTheRecordInTheMaking) {
  const auto first = MakeWhole(In("/shared", "first"));
  SandboxRecord making = In("/shared", "making");
  ASSERT_TRUE(groups_.Make(&making).ok());
  EXPECT_FALSE(groups_.Finish(&making, [] { return absl::InternalError("no"); }).ok());
  EXPECT_TRUE(groups_.RemoveAll(*first).ok());
  EXPECT_THAT(making.owned_cgroups, ElementsAre("/shared"));
  groups_.Forget(&making);
}

TEST_F(PodGroupsTest, ASliceHasAKeeper) {
  const auto sandbox = MakeWhole(In("plimsoll-test.slice", "pod"));
  EXPECT_EQ(KeeperOf(sandbox->Snapshot()), "/plimsoll.slice/plimsoll-test.slice/plimsoll-keep-pod");
  EXPECT_THAT(cgroups_.groups(), Contains(KeeperOf(sandbox->Snapshot())));
  EXPECT_TRUE(groups_.RemoveAll(*sandbox).ok());
  EXPECT_THAT(cgroups_.groups(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::runtime
