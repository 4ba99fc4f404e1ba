// One pod's control group, without the pod's worker and without control groups.
#include "agent/pods/life/group_keeper.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "agent/pods/life/pod_host_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Guaranteed, so that CPUs on its record are its alone.
constexpr char kWholeCpu[] = "resources: {limits: {cpu: 1, memory: 1Mi}}, ";

class GroupKeeperTest : public PodsTest {
 protected:
  GroupKeeperTest() {
    host_.resize_group = [this](const PodRecord&, const pod::Manifest&, GroupStep step,
                                const std::function<absl::Status()>& announce) {
      EXPECT_EQ(step, GroupStep::kSettle);
      EXPECT_TRUE(announce().ok());
      ++writes_;
      return written_;
    };
    host_.remove_group = [this](const PodRecord&) {
      ++removals_;
      return removed_;
    };
    observed_.sandboxes.push_back({.id = "s1", .attempt = 0, .ready = true, .ips = {}});
  }
  void Give(const std::string& cpus) {
    record_.grant.containers["main"] = {
        .cpus = *resources::CpuSet::Parse(cpus), .cpu_count = 1, .memory = {}};
  }
  absl::Duration Keep() { return keeper_.KeepQuota(host_, record_, pod_, observed_); }
  absl::Status Remove() { return keeper_.RemoveOnce(host_, record_, observed_); }
  void EndSandbox() { observed_.sandboxes.front().ready = false; }

  const pod::Manifest pod_ = Parsed(OnePod("web", "", kWholeCpu));
  PodRecord record_ = Record("web", OnePod("web", "", kWholeCpu));
  ObservedPod observed_;
  absl::Status written_, removed_;  // of the next calls
  int writes_ = 0;
  int removals_ = 0;
  GroupKeeper keeper_{PodGrant()};
};

TEST_F(GroupKeeperTest, TheQuotaFollowsExclusiveCpusThatComeAndGo) {
  EXPECT_EQ(Keep(), absl::InfiniteDuration());
  EXPECT_EQ(writes_, 0) << "the pod began without, and has none";
  Give("1");
  EXPECT_EQ(Keep(), absl::InfiniteDuration());
  EXPECT_EQ(writes_, 1);
  Keep();
  EXPECT_EQ(writes_, 1) << "its group knows";
  record_.grant = {};
  Keep();
  EXPECT_EQ(writes_, 2);
}

TEST_F(GroupKeeperTest, TheGroupOfAPodThatHadCpusBeforeThisAgentIsWrittenOnce) {
  Give("1");
  keeper_ = GroupKeeper(record_.grant);
  Keep();
  Keep();
  EXPECT_EQ(writes_, 1) << "the agent before may have been killed in between";
}

TEST_F(GroupKeeperTest, NothingIsWrittenWithoutASandboxOrDuringAResize) {
  Give("1");
  EndSandbox();
  Keep();
  observed_.sandboxes.front().ready = true;
  record_.actuated = {{"spec", {}}};
  Keep();
  EXPECT_EQ(writes_, 0);
  record_.actuated = nullptr;
  host_.resize_group = nullptr;
  EXPECT_EQ(Keep(), absl::InfiniteDuration()) << "a runtime's own group is not the agent's";
}

TEST_F(GroupKeeperTest, AFailureIsToldAndRetriedAfterAPause) {
  Give("1");
  written_ = absl::InternalError("cpu.max: EINVAL");
  EXPECT_EQ(Keep(), BackOff::kFirst);
  EXPECT_EQ(EventOf("web", "FailedUpdateResources"),
            "The pod's group can't lose its CPU quota: cpu.max: EINVAL");
  clock_.Advance(absl::Seconds(3));
  EXPECT_EQ(Keep(), BackOff::kFirst - absl::Seconds(3));
  EXPECT_EQ(writes_, 1) << "not before the pause has passed";
  clock_.Advance(BackOff::kFirst);
  written_ = absl::OkStatus();
  EXPECT_EQ(Keep(), absl::InfiniteDuration());
  EXPECT_EQ(writes_, 2);
  record_.grant = {};
  written_ = absl::InternalError("cpu.max: EINVAL");
  EXPECT_EQ(Keep(), BackOff::kFirst) << "a success ends the growth of pauses";
  std::vector<std::string> told;
  for (const nlohmann::json& each : events_.List(record_.key)) told.push_back(each["message"]);
  EXPECT_THAT(told, ElementsAre(HasSubstr("can't lose"), HasSubstr("can't get")));
}

TEST_F(GroupKeeperTest, AFailureThatPassesIsRetriedSoonWithoutAWord) {
  Give("1");
  written_ = absl::UnavailableError("the bus is away");
  EXPECT_EQ(Keep(), absl::Seconds(1));
  EXPECT_EQ(EventOf("web", "FailedUpdateResources"), "");
  EXPECT_EQ(Keep(), absl::Seconds(1));
  EXPECT_EQ(writes_, 2);
}

TEST_F(GroupKeeperTest, TheGroupOfAnEndedPodGoesOnce) {
  EXPECT_TRUE(Remove().ok());
  EXPECT_EQ(removals_, 0) << "its sandbox is ready";
  EndSandbox();
  observed_.containers.push_back({.id = "c1", .name = "main"});
  observed_.containers.back().state = ObservedState::kRunning;
  EXPECT_TRUE(Remove().ok());
  EXPECT_EQ(removals_, 0) << "its container runs";
  observed_.containers.back().state = ObservedState::kExited;
  removed_ = absl::FailedPreconditionError("process 7 is in the group");
  EXPECT_EQ(Remove(), removed_);
  removed_ = absl::OkStatus();
  EXPECT_TRUE(Remove().ok());
  EXPECT_TRUE(Remove().ok());
  EXPECT_EQ(removals_, 2);
}

TEST_F(GroupKeeperTest, AnEndedPodThatRunsAgainLosesItsGroupAtItsNextEnd) {
  EndSandbox();
  EXPECT_TRUE(Remove().ok());
  keeper_.OnLife();
  EXPECT_TRUE(Remove().ok());
  EXPECT_EQ(removals_, 2);
}

TEST_F(GroupKeeperTest, WithoutGroupsOfTheAgentThereIsNothingToRemove) {
  host_.remove_group = nullptr;
  EndSandbox();
  EXPECT_TRUE(Remove().ok());
}

}  // namespace
}  // namespace plimsoll::agent
