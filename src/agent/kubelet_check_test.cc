#include "agent/kubelet_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/pods/life/pod_host.h"
#include "base/dir_for_test.h"
#include "base/socket_file.h"
#include "pod_runner/runtime_client/labels.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;

::runtime::v1::PodSandbox Sandbox(const std::string& name) {
  ::runtime::v1::PodSandbox sandbox;
  sandbox.mutable_metadata()->set_name(name);
  sandbox.mutable_metadata()->set_namespace_("default");
  return sandbox;
}

// Listens in the directory, which is made.
UniqueFd ListenIn(const TestDir& dir, const std::string& path) {
  EXPECT_TRUE(dir.root().MakeDirs(path).ok());
  auto listener = ListenAt({dir.path() + path + "/kubelet.sock", 0600, std::nullopt});
  EXPECT_TRUE(listener.ok()) << listener.status();
  return listener.ok() ? *std::move(listener) : UniqueFd();
}

constexpr char kDefault[] = "/var/lib/kubelet/pod-resources";

TEST(KubeletCheckTest, AKubeletOfTheDefaultPathKeepsEveryAgentAway) {
  const TestDir dir;
  const UniqueFd kubelet = ListenIn(dir, kDefault);
  for (const char* own : {kDefault, "/own/pod-resources", ""}) {
    const absl::Status status = CheckNoKubelet(dir.root(), own);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << own;
    EXPECT_TRUE(IsAKubeletsNode(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(kDefault, "/kubelet.sock")));
  }
}

TEST(KubeletCheckTest, AKubeletOfTheAgentsPathKeepsThatAgentAway) {
  const TestDir dir;
  const UniqueFd kubelet = ListenIn(dir, "/k/pod-resources");
  const absl::Status status = CheckNoKubelet(dir.root(), "/k/pod-resources");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/k/pod-resources/kubelet.sock"));
  EXPECT_TRUE(CheckNoKubelet(dir.root(), kDefault).ok()) << "none is known to be there";
  EXPECT_TRUE(CheckNoKubelet(dir.root(), "").ok());
}

TEST(KubeletCheckTest, ASocketThatAKubeletLeftBehindIsNone) {
  const TestDir dir;
  ListenIn(dir, kDefault);
  ListenIn(dir, "/own");
  ASSERT_TRUE(dir.root().Exists("/own/kubelet.sock"));
  EXPECT_TRUE(CheckNoKubelet(dir.root(), "/own").ok());
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
  EXPECT_TRUE(IsAKubeletsNode(status));
  EXPECT_FALSE(IsAKubeletsNode(absl::FailedPreconditionError("another reason")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("default/web"));
}

}  // namespace
}  // namespace plimsoll::agent
