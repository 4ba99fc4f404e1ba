// The example plugins (examples/nri), started by the daemon, on real containers.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "classes_fixture.h"
#include "gmock/gmock.h"
#include "harness/cpus.h"
#include "harness/kernel.h"
#include "harness/nri.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The last CPU is to be handed out, the first one for all others.
class NriPinnerTest : public NriTest {
 protected:
  NriPinnerTest() {
    Install("40-cpu-pinner", ProgramPath("nri-cpu-pinner"));
    Configure("cpu-pinner", absl::StrCat("cpus: ", UsableCpus().back(),
                                         "\nshared: ", UsableCpus().front(), "\n"));
  }
  void SetUp() override {
    if (UsableCpus().size() < 2) GTEST_SKIP() << "needs two CPUs";
    NriTest::SetUp();
  }
  cri::ContainerConfig Asking(const std::string& cpu) {
    cri::ContainerConfig config = Shell("trap 'exit 0' TERM; while :; do sleep 0.1; done");
    (*config.mutable_kubernetes_resources()->mutable_requests())["cpu"].set_string(cpu);
    // Shares say what kubelet computes; the pinner reads the request.
    config.mutable_linux()->mutable_resources()->set_cpu_shares(1024);
    return config;
  }
  std::string CpusOf(const std::string& container) {
    return ExecOutput(container, "grep Cpus_allowed_list /proc/1/status | cut -f2");
  }
};

TEST_F(NriPinnerTest, PinsByTheTrueRequest) {
  const std::string pod = RunPod();
  const std::string pinned = Start(pod, Asking("1"));
  const std::string shared = Start(pod, Asking("999m"));
  EXPECT_EQ(CpusOf(pinned), absl::StrCat(UsableCpus().back(), "\n"));
  EXPECT_EQ(CpusOf(shared), absl::StrCat(UsableCpus().front(), "\n"));
  std::string id;
  const grpc::Status refused = TryCreate(pod, Asking("1"), &id);
  EXPECT_EQ(refused.error_code(), grpc::RESOURCE_EXHAUSTED) << refused.error_message();
  EXPECT_THAT(refused.error_message(), AllOf(HasSubstr("40-cpu-pinner"), HasSubstr("none")));
  // A container's end, its daemon's end: the pinner knows what is free.
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_FALSE(TryCreate(pod, Asking("1"), &id).ok());
  ASSERT_TRUE(StopContainer(pinned, 10).ok());
  const std::string next = Start(pod, Asking("1"));
  EXPECT_EQ(CpusOf(next), absl::StrCat(UsableCpus().back(), "\n"));
}

class NriAssignerTest : private NriDirectories, public ClassesTest {
 protected:
  NriAssignerTest() : ClassesTest(NriConfig("")) {
    Install("50-class-assigner", ProgramPath("nri-class-assigner"));
    NriDirectories::Configure("class-assigner",
                              "rules:\n- {namespace: default, label: tier=back, blockio: slow}\n");
  }
};

TEST_F(NriAssignerTest, ContainersGetTheirPodsClass) {
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_labels())["tier"] = "back";
  const std::string pod = RunPod(config);
  const std::string container = Start(pod, Shell("sleep 1000"));
  EXPECT_EQ(ClassOf(container), "slow");
  EXPECT_THAT(ThrottleOf(CgroupOf(pod, container)), HasSubstr("1048576"));
  EXPECT_EQ(ClassOf(Start(RunPod(), Shell("sleep 1000"))), "");
}

}  // namespace
}  // namespace plimsoll::testing
