// Pods that come from a kubelet to plimsoll-agent, over a real plimsolld: they keep their CPUs.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/node_agent.h"
#include "resources/cpu_set.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The CPU of the wish is the machine's last one: by itself the agent would choose the first.
class AgentImportTest : public NodeAgentTest {
 protected:
  AgentImportTest()
      : NodeAgentTest(
            "cgroupsPerQOS: false\ncpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\n") {}
  void SetUp() override {
    NodeTest::SetUp();
    const auto online =
        resources::CpuSet::Parse(Host().Read("sys/devices/system/cpu/online").value_or(""));
    ASSERT_TRUE(online.ok()) << online.status();
    if (online->Size() < 2) GTEST_SKIP() << "the machine has one CPU";
    last_ = online->ToVector().back();
  }

  // A sandbox as kubelet makes it, which has ended.
  void RunKubeletsPod(const std::string& uid, const std::string& name) {
    cri::RunPodSandboxRequest request;
    cri::PodSandboxConfig* config = request.mutable_config();
    config->mutable_metadata()->set_name(name);
    config->mutable_metadata()->set_namespace_("default");
    config->mutable_metadata()->set_uid(uid);
    (*config->mutable_labels())["io.kubernetes.pod.name"] = name;
    (*config->mutable_labels())["io.kubernetes.pod.namespace"] = "default";
    (*config->mutable_labels())["io.kubernetes.pod.uid"] = uid;
    config->mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_network(
        cri::NODE);
    cri::RunPodSandboxResponse response;
    grpc::ClientContext context;
    const grpc::Status status = node_.runtime().RunPodSandbox(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    sandbox_ = response.pod_sandbox_id();
  }
  void RemoveKubeletsPod() {
    cri::RemovePodSandboxRequest request;
    request.set_pod_sandbox_id(sandbox_);
    cri::RemovePodSandboxResponse response;
    grpc::ClientContext context;
    const grpc::Status status = node_.runtime().RemovePodSandbox(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  void WriteCheckpoint(const std::string& uid) {
    ASSERT_TRUE(kubelet_.root()
                    .ReplaceFile("cpu_manager_state",
                                 absl::StrCat(R"({"policyName":"static","defaultCpuSet":"0",)",
                                              R"("entries":{")", uid, R"(":{"main":")", last_,
                                              R"("}},"checksum":1})"))
                    .ok());
  }
  // The command's output and exit code.
  std::pair<std::string, int> Import(std::vector<std::string> flags = {}) {
    Command command;
    command.argv = {ProgramPath("plimsoll-agent"),
                    "import-kubelet-state",
                    "--state-directory",
                    agent_.state_directory(),
                    "--runtime-endpoint",
                    node_.address(),
                    "--kubelet-root",
                    kubelet_.path()};
    command.argv.insert(command.argv.end(), flags.begin(), flags.end());
    const auto result = RunProgram(command);
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return {"", -1};
    return {result->out + result->err, result->exit.code};
  }

  TestDir kubelet_;
  std::string sandbox_;
  uint32_t last_ = 0;
};

TEST_F(AgentImportTest, APodKeepsItsCpu) {
  RunKubeletsPod("kubelets-uid", "web");
  WriteCheckpoint("kubelets-uid");
  const std::string line = absl::StrCat("default/web  imported  main CPUs ", last_, "\n");
  EXPECT_EQ(Import({"--dry-run"}), std::pair(line + "nothing was written\n", 0));
  EXPECT_EQ(Import(), std::pair(line, 0));
  RemoveKubeletsPod();
  const absl::Status started = agent_.Start();
  ASSERT_TRUE(started.ok()) << started;
  const auto [refused, code] = Import({"--pod", "kubelets-uid=default/web"});
  EXPECT_EQ(code, 1);
  EXPECT_THAT(refused, AllOf(HasSubstr("uses the state directory"), HasSubstr("stop it")));
  const auto applied = agent_.client().Apply(absl::StrCat(
      "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: main, image: "
      "busybox, imagePullPolicy: Never, command: [sh, -c, '",
      kUntilTerm, "'], resources: {limits: {cpu: 1, memory: 64Mi}}}]}}"));
  ASSERT_TRUE(applied.ok()) << applied.status();
  ASSERT_TRUE(agent_.Await("web", IsReady));
  const std::string id = CriId(agent_.Pod("web")["status"]["containerStatuses"][0]);
  EXPECT_THAT(ExecOutput(id, "grep Cpus_allowed_list /proc/self/status"),
              HasSubstr(absl::StrCat("\t", last_, "\n")));
}

TEST_F(AgentImportTest, APodThatTheRuntimeDoesNotKnowIsNamedByAFlag) {
  WriteCheckpoint("gone");
  const auto [text, code] = Import();
  EXPECT_EQ(code, 1);
  EXPECT_THAT(text, HasSubstr("give it by --pod gone=NAMESPACE/NAME"));
  EXPECT_EQ(Import({"--pod", "gone=default/web"}).second, 0);
}

}  // namespace
}  // namespace plimsoll::testing
