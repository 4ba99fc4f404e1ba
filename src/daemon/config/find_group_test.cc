#include "daemon/config/find_group.h"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>

#include <optional>

namespace plimsoll::daemon {
namespace {

TEST(FindGroupTest, FindsGroupsOfThisMachine) {
  EXPECT_EQ(*FindGroup("root"), 0u);
  EXPECT_TRUE(absl::IsNotFound(FindGroup("plimsoll-test-none").status()));
}

TEST(FindGroupTest, AutoIsPlimsollKubesGroupIfThereIsOne) {
  const group* made = getgrnam("plimsoll-kube");
  EXPECT_EQ(*FindClusterGroup(KubeConfig()),
            made == nullptr ? std::nullopt : std::optional<gid_t>(made->gr_gid));
  EXPECT_EQ(*FindClusterGroup({.socket_group = ""}), std::nullopt);
  EXPECT_EQ(*FindClusterGroup({.socket_group = "root"}), std::optional<gid_t>(0));
  EXPECT_TRUE(absl::IsNotFound(FindClusterGroup({.socket_group = "plimsoll-test-none"}).status()));
}

}  // namespace
}  // namespace plimsoll::daemon
