#include "runtime/objects/pod_sysctls.h"

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kPorts[] = "net.ipv4.ip_unprivileged_port_start";
constexpr char kPing[] = "net.ipv4.ping_group_range";

class PodSysctlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(dir_.root().MakeDirs("proc/sys/net/ipv4").ok());
    for (const char* name : {"ip_unprivileged_port_start", "ping_group_range"}) {
      ASSERT_TRUE(dir_.root().ReplaceFile(std::string("proc/sys/net/ipv4/") + name, "").ok());
    }
  }
  linux::SysctlValues Values(const NetworkRights& rights = {}) {
    return PodSysctls(dir_.root(), spec_, rights);
  }
  void UseIds(std::vector<IdMapping> mappings) {
    spec_.namespaces.uid_mappings = mappings;
    spec_.namespaces.gid_mappings = std::move(mappings);
  }

  TestDir dir_;
  SandboxSpec spec_;
};

TEST_F(PodSysctlsTest, EveryUserMayListenAndPing) {
  EXPECT_THAT(Values(), UnorderedElementsAre(Pair(kPorts, "0"), Pair(kPing, "0 2147483647")));
  EXPECT_THAT(Values({.ports = false}), UnorderedElementsAre(Pair(kPing, "0 2147483647")));
  EXPECT_THAT(Values({.ping = false}), UnorderedElementsAre(Pair(kPorts, "0")));
}

TEST_F(PodSysctlsTest, TheHostsNetworkStaysAsItIs) {
  spec_.namespaces.network = NamespaceMode::kNode;
  EXPECT_THAT(Values(), IsEmpty());
}

TEST_F(PodSysctlsTest, AnOldKernelsAreLeftOut) {
  ASSERT_TRUE(dir_.root().RemoveFile("proc/sys/net/ipv4/ip_unprivileged_port_start").ok());
  EXPECT_THAT(Values(), UnorderedElementsAre(Pair(kPing, "0 2147483647")));
}

TEST_F(PodSysctlsTest, TheClientsValuesCount) {
  spec_.sysctls = {{"net/ipv4/ip_unprivileged_port_start", "1024"}, {kPing, "1 0"}};
  EXPECT_EQ(Values(), spec_.sysctls);
}

TEST_F(PodSysctlsTest, GroupsAreThoseOfThePodsUserNamespace) {
  UseIds({{.host_id = 200000, .container_id = 0, .length = 65536}});
  EXPECT_EQ(Values()[kPing], "200000 265535");
  UseIds({{.host_id = 400000, .container_id = 0, .length = 1000},
          {.host_id = 300000, .container_id = 1000, .length = 10}});
  EXPECT_EQ(Values()[kPing], "300000 400999");
  UseIds({{.host_id = 2147483000, .container_id = 0, .length = 65536}});
  EXPECT_EQ(Values()[kPing], "2147483000 2147483647") << "the kernel takes no more";
}

TEST_F(PodSysctlsTest, SoAreTheClientsOwn) {
  UseIds({{.host_id = 200000, .container_id = 0, .length = 65536}});
  const auto range = [&](const std::string& asked) {
    spec_.sysctls = {{kPing, asked}};
    return Values()[kPing];
  };
  EXPECT_EQ(range("0 100"), "200000 200100");
  EXPECT_EQ(range("1000\t2000"), "201000 202000");
  EXPECT_EQ(range("0 2147483647"), "200000 265535");
  EXPECT_EQ(range("1 0"), "1 0") << "nobody";
  EXPECT_EQ(range("all"), "all") << "the kernel refuses it";
}

}  // namespace
}  // namespace plimsoll::runtime
