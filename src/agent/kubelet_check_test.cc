#include "agent/kubelet_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/pods/pod_host.h"
#include "pod_runner/to_cri.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;

::runtime::v1::PodSandbox Sandbox(const std::string& name) {
  ::runtime::v1::PodSandbox sandbox;
  sandbox.mutable_metadata()->set_name(name);
  sandbox.mutable_metadata()->set_namespace_("default");
  return sandbox;
}

TEST(KubeletCheckTest, PodsOfPlimsollAndOfBareClientsAreNoKubelets) {
  auto agents = Sandbox("agents");
  (*agents.mutable_labels())[pod::kPodUidLabel] = "1";
  (*agents.mutable_labels())[kAgentLabel] = "node";
  auto runs = Sandbox("runs");
  (*runs.mutable_labels())[pod::kPodUidLabel] = "2";
  (*runs.mutable_annotations())[pod::kGraceAnnotation] = "30";
  EXPECT_TRUE(CheckNoKubeletsPods({agents, runs, Sandbox("crictls")}).ok());
}

TEST(KubeletCheckTest, AKubeletsPodIsNamed) {
  auto kubelets = Sandbox("web");
  (*kubelets.mutable_labels())[pod::kPodUidLabel] = "3";
  const absl::Status status = CheckNoKubeletsPods({Sandbox("crictls"), kubelets});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("default/web"));
}

}  // namespace
}  // namespace plimsoll::agent
