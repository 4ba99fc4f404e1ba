#include "agent/groups/reserved_groups.h"

#include <string>

#include "agent/groups/groups_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;

class ReservedGroupsTest : public ::testing::TestWithParam<bool> {
 protected:
  ReservedGroupsTest() : machine_(GetParam()), groups_(*machine_.Open({})) {
    EXPECT_TRUE(machine_.Cgroups()->Create("/system").ok());
  }
  FakeMachine machine_;
  std::unique_ptr<PodGroups> groups_;
  ReservedGroup system_ = {.key = "system-reserved",
                           .path = "/system",
                           .amounts = {.cpu_milli = 500,
                                       .memory_bytes = 64 * kMi,
                                       .pids = 100,
                                       .hugepages = {{"2MB", 4 * kMi}}}};
};

TEST_P(ReservedGroupsTest, AGroupGetsWhatIsReservedForIt) {
  const absl::Status limited = groups_->LimitReserved(system_);
  ASSERT_TRUE(limited.ok()) << limited;
  const linux::CgroupSettings now = machine_.Read("/system");
  EXPECT_EQ(now.memory_limit_bytes, 64 * kMi);
  EXPECT_EQ(now.pids_limit, 100);
  EXPECT_EQ(now.hugetlb_limits.at("2MB"), uint64_t{4 * kMi});
  const linux::CgroupSettings shares = machine_.Read("/system");
  EXPECT_NEAR(static_cast<double>(*shares.cpu_shares), 512, 30) << "v2 has weights";
}

TEST_P(ReservedGroupsTest, TheCompressibleFormSetsCpuAlone) {
  system_.only_cpu = true;
  const linux::CgroupSettings before = machine_.Read("/system");
  ASSERT_TRUE(groups_->LimitReserved(system_).ok());
  const linux::CgroupSettings now = machine_.Read("/system");
  EXPECT_NE(now.cpu_shares, before.cpu_shares);
  EXPECT_EQ(now.memory_limit_bytes, before.memory_limit_bytes);
  EXPECT_EQ(now.pids_limit, before.pids_limit);
}

TEST_P(ReservedGroupsTest, AnAmountThatIsNotReservedLeavesItsLimit) {
  ASSERT_TRUE(groups_->LimitReserved(system_).ok());
  system_.amounts = {.cpu_milli = 1000};
  ASSERT_TRUE(groups_->LimitReserved(system_).ok());
  EXPECT_EQ(machine_.Read("/system").memory_limit_bytes, 64 * kMi);
  system_.amounts = {};
  EXPECT_THAT(groups_->LimitReserved(system_).message(), HasSubstr("nothing is reserved"));
}

TEST_P(ReservedGroupsTest, AMissingGroupIsNotMade) {
  system_.path = "/other";
  EXPECT_TRUE(absl::IsNotFound(groups_->LimitReserved(system_)));
  EXPECT_FALSE(*machine_.Cgroups()->Exists("/other"));
}

INSTANTIATE_TEST_SUITE_P(Layouts, ReservedGroupsTest, ::testing::Bool());

TEST(ReservedGroupTest, OneThatTheMachineLacksIsNamed) {
  const auto host = FsRoot::Open("/");
  ASSERT_TRUE(host.ok());
  const absl::Status status =
      CheckReservedGroup(*host, {.key = "kube-reserved", .path = "/plimsoll-no-such-group"});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("kube-reserved"));
}

}  // namespace
}  // namespace plimsoll::agent
