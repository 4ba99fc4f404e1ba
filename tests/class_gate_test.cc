// QoS classes switched off and on again while containers hold some.
#include <fstream>
#include <iterator>
#include <string>

#include "classes_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

class ClassGateTest : public ClassesTest {
 protected:
  void RestartWith(bool gate) {
    ASSERT_TRUE(node_.StopDaemon().ok());
    std::ifstream before(node_.config_path());
    std::string text((std::istreambuf_iterator<char>(before)), std::istreambuf_iterator<char>());
    before.close();
    text = text.substr(0, text.find("feature_gates"));
    std::ofstream(node_.config_path())
        << text << "feature_gates: {ClassResources: " << (gate ? "true" : "false") << "}\n";
    ASSERT_TRUE(node_.StartDaemon().ok());
  }
  bool KnowsClasses() {
    cri::StatusResponse status;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().Status(&context, cri::StatusRequest(), &status).ok());
    return status.status().has_resources();
  }
  std::string ThrottleOfPod(const std::string& pod, const std::string& container) {
    const std::string group = CgroupOf(pod, container);
    return ThrottleOf(group.substr(0, group.rfind('/')));
  }
  grpc::Status AssignPod(const std::string& pod, const std::string& name) {
    cri::UpdatePodSandboxConfigRequest request;
    request.set_pod_sandbox_id(pod);
    (*request.mutable_class_resources()->mutable_class_())["blockio"] = name;
    cri::UpdatePodSandboxConfigResponse response;
    grpc::ClientContext context;
    return node_.runtime().UpdatePodSandboxConfig(&context, request, &response);
  }
};

// On, off, and on again, with a container that runs all the time.
TEST_F(ClassGateTest, SwitchedOffAndOnAgain) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("medium"));
  RestartWith(false);
  EXPECT_THAT(ThrottleOf(CgroupOf(pod, id)), HasSubstr("4194304")) << "it keeps its class";
  EXPECT_FALSE(KnowsClasses());
  const std::string plain = Start(pod, InClass("no such class"));
  EXPECT_EQ(ThrottleOf(CgroupOf(pod, plain)), "");
  RestartWith(true);
  EXPECT_EQ(ClassOf(id), "medium");
  EXPECT_EQ(ClassOf(plain), "");
  std::string other;
  EXPECT_EQ(TryCreate(pod, InClass("medium"), &other).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// Two starts without the gate: kept classes must survive restarts too.
TEST_F(ClassGateTest, ContainersLiveThroughIt) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("slow"));
  cri::PodSandboxConfig annotated = PodConfig();
  (*annotated.mutable_annotations())["blockio.resources.beta.kubernetes.io/pod"] = "none of them";
  std::string plain;
  for (int restarts = 0; restarts < 2; ++restarts) {
    RestartWith(false);
    EXPECT_FALSE(KnowsClasses());
    EXPECT_THAT(ThrottleOf(CgroupOf(pod, id)), HasSubstr("1048576"));
    EXPECT_TRUE(Assign(id, "free").ok()) << "a field that isn't read";
    EXPECT_THAT(ThrottleOf(CgroupOf(pod, id)), HasSubstr("1048576"));
    if (plain.empty()) plain = Start(RunPod(annotated), Shell("sleep 1000"));
    // Resources can still be changed.
    cri::LinuxContainerResources linux;
    linux.set_cpu_shares(512);
    EXPECT_TRUE(TryUpdate(id, linux).ok());
  }
  RestartWith(true);
  EXPECT_TRUE(KnowsClasses());
  EXPECT_EQ(ClassOf(id), "slow");
  EXPECT_EQ(ClassOf(plain), "");
  // Both can be changed again, the one made meanwhile too.
  EXPECT_TRUE(Assign(id, "free").ok());
  EXPECT_EQ(ThrottleOf(CgroupOf(pod, id)), "");
  EXPECT_TRUE(Assign(plain, "slow").ok());
  EXPECT_EQ(ClassOf(plain), "slow");
}

TEST_F(ClassGateTest, PodsLiveThroughItOnV2) {
  if (!IsV2()) GTEST_SKIP() << "blockio classes of pods need cgroup v2";
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_class_resources()->mutable_class_())["blockio"] = "medium";
  const std::string pod = RunPod(config);
  const std::string id = Start(pod, Shell("sleep 1000"));
  cri::PodSandboxConfig unknown = PodConfig();
  (*unknown.mutable_class_resources()->mutable_class_())["blockio"] = "none of them";
  for (int restarts = 0; restarts < 2; ++restarts) {
    RestartWith(false);
    EXPECT_THAT(ThrottleOfPod(pod, id), HasSubstr("4194304"));
    EXPECT_EQ(AssignPod(pod, "free").error_code(), grpc::StatusCode::UNIMPLEMENTED);
    if (restarts > 0) continue;
    const std::string other = RunPod(unknown);
    EXPECT_EQ(ThrottleOfPod(other, Start(other, Shell("sleep 1000"))), "") << "a field unread";
  }
  RestartWith(true);
  EXPECT_EQ(PodStatus(pod).class_resources().class_().at("blockio"), "medium");
  EXPECT_THAT(ThrottleOfPod(pod, id), HasSubstr("4194304"));
  EXPECT_TRUE(AssignPod(pod, "free").ok());
  EXPECT_EQ(ThrottleOfPod(pod, id), "");
}

}  // namespace
}  // namespace plimsoll::testing
