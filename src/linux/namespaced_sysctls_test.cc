#include "linux/namespaced_sysctls.h"

#include <sched.h>
#include <unistd.h>

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/other_namespaces_for_test.h"

namespace plimsoll::linux {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST_F(NamespacedSysctlsTest, TellsTheFormerValuesAndTakesThemBack) {
  SysctlValues former;
  const SysctlValues values = {{"net.core.somaxconn", "77"}, {"kernel.msgmax", "4321"}};
  const absl::Status set = SetSysctls(files_, values, 0, &former);
  ASSERT_TRUE(set.ok()) << set;
  EXPECT_EQ(former["kernel.msgmax"], "8192");
  EXPECT_NE(former["net.core.somaxconn"], "77");
  SysctlValues meanwhile;
  ASSERT_TRUE(SetSysctls(files_, former, 0, &meanwhile).ok());
  EXPECT_EQ(meanwhile, values);
}

TEST_F(NamespacedSysctlsTest, NeverWritesTheHosts) {
  SysctlValues former;
  absl::Status refused =
      SetSysctls(files_, {{"kernel.domainname", "x"}, {"net.core.somaxconn", "77"}}, 0, &former);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("kernel.domainname would become the host's"));
  EXPECT_THAT(former, IsEmpty());
  files_.network.clear();
  refused = SetSysctls(files_, {{"net.core.somaxconn", "77"}}, 0, &former);
  EXPECT_THAT(refused.message(), HasSubstr("net.core.somaxconn would become the host's"));
  refused = SetSysctls(files_, {{"vm.swappiness", "1"}}, 0, &former);
  EXPECT_THAT(refused.message(), HasSubstr("belongs to the whole machine"));
}

TEST_F(NamespacedSysctlsTest, TellsWhatWasWrittenBeforeAFailure) {
  SysctlValues former;
  const absl::Status failed =
      SetSysctls(files_, {{"net.core.somaxconn", "77"}, {"net.core.somaxconn_x", "1"}}, 0, &former);
  EXPECT_TRUE(absl::IsInvalidArgument(failed)) << failed;
  EXPECT_THAT(failed.message(), HasSubstr("somaxconn_x"));
  EXPECT_EQ(former.size(), 1u);
}

}  // namespace
}  // namespace plimsoll::linux
