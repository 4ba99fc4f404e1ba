#include "agent/managers/node_managers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/managers/managers_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::StartsWith;

std::string ManagerFault(const ManagerOptions& options, topology::MachineMaps maps) {
  const absl::Status status =
      NodeManagers::Make(options, std::make_shared<const topology::MachineMaps>(std::move(maps)))
          .status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  return std::string(status.message());
}

TEST(NodeManagersTest, PoliciesOfNoneAreNull) {
  const auto managers = ManagersOf(ManagerOptions(), MapsOf({}));
  EXPECT_EQ(managers->cpus(), nullptr);
  EXPECT_EQ(managers->memory(), nullptr);
  EXPECT_EQ(managers->topology().options().policy, TopologyPolicy::kNone);
  EXPECT_EQ(managers->maps().cpu_count, 16);
}

TEST(NodeManagersTest, PoliciesAreMadeOfTheOptions) {
  const auto managers = ManagersOf(StaticOptions(), MapsOf({}));
  EXPECT_EQ(managers->cpus()->reserved().ToString(), "0");
  EXPECT_EQ(managers->memory()->allocatable().at(0).at("memory"), 15 * kGi);
}

TEST(NodeManagersTest, AFaultNamesItsManager) {
  ManagerOptions options = StaticOptions();
  options.reserved_cpus = {};
  EXPECT_THAT(ManagerFault(options, MapsOf({})), StartsWith("CPU manager: "));
  options = StaticOptions();
  options.reserved_memory_sum = {};
  EXPECT_THAT(ManagerFault(options, MapsOf({})), StartsWith("memory manager: "));
  options = StaticOptions();
  options.topology.policy = TopologyPolicy::kRestricted;
  EXPECT_THAT(ManagerFault(options, MapsOf({.packages = 3, .nodes = 3})),
              StartsWith("topology manager: "));
  topology::MachineMaps maps = MapsOf({});
  maps.zone_without_cpu_ids = "core3";
  EXPECT_THAT(ManagerFault(StaticOptions(), maps), StartsWith("CPU manager: "));
}

}  // namespace
}  // namespace plimsoll::agent
