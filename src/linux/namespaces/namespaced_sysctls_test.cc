#include "linux/namespaces/namespaced_sysctls.h"

#include <sched.h>
#include <unistd.h>

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/other_namespaces_for_test.h"

namespace plimsoll::linux {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// A process has network and IPC namespaces of its own, and the host's UTS namespace.
class NamespacedSysctlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "namespaces need root";
    other_ = std::make_unique<OtherNamespaces>(CLONE_NEWNET | CLONE_NEWIPC);
    files_ = {other_->file("net"), other_->file("ipc"), other_->file("uts")};
  }

  std::unique_ptr<OtherNamespaces> other_;
  NamespaceFiles files_;
};

TEST_F(NamespacedSysctlsTest, ReadsAndWritesThoseOfTheOthers) {
  const SysctlValues values = {{"net.core.somaxconn", "77"}, {"kernel.msgmax", "4321"}};
  const auto former = ReadSysctls(files_, values);
  ASSERT_TRUE(former.ok()) << former.status();
  ASSERT_THAT(*former, SizeIs(2));
  EXPECT_EQ(former->at("kernel.msgmax"), "8192");
  EXPECT_NE(former->at("net.core.somaxconn"), "77");
  const absl::Status set = SetSysctls(files_, values, 0);
  ASSERT_TRUE(set.ok()) << set;
  EXPECT_EQ(ReadSysctls(files_, values).value(), values);
  ASSERT_TRUE(SetSysctls(files_, *former, 0).ok());
  EXPECT_EQ(ReadSysctls(files_, values).value(), *former);
}

TEST_F(NamespacedSysctlsTest, NeverTouchesTheHosts) {
  const SysctlValues hosts = {{"kernel.domainname", "x"}, {"net.core.somaxconn", "77"}};
  absl::Status refused = SetSysctls(files_, hosts, 0);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("kernel.domainname would become the host's"));
  EXPECT_EQ(ReadSysctls(files_, hosts).status(), refused);
  EXPECT_NE(ReadSysctls(files_, {{"net.core.somaxconn", ""}})->at("net.core.somaxconn"), "77");
  files_.network.clear();
  refused = SetSysctls(files_, {{"net.core.somaxconn", "77"}}, 0);
  EXPECT_THAT(refused.message(), HasSubstr("net.core.somaxconn would become the host's"));
  refused = SetSysctls(files_, {{"vm.swappiness", "1"}}, 0);
  EXPECT_THAT(refused.message(), HasSubstr("belongs to the whole machine"));
}

TEST_F(NamespacedSysctlsTest, AFailureNamesTheParameter) {
  const SysctlValues values = {{"net.core.somaxconn", "77"}, {"net.core.somaxconn_x", "1"}};
  const absl::Status failed = SetSysctls(files_, values, 0);
  EXPECT_TRUE(absl::IsInvalidArgument(failed)) << failed;
  EXPECT_THAT(failed.message(), HasSubstr("somaxconn_x"));
  EXPECT_THAT(ReadSysctls(files_, values).value(), SizeIs(1)) << "one can't be read";
}

}  // namespace
}  // namespace plimsoll::linux
