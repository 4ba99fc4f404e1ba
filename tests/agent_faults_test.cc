// The behaviour of plimsoll-agent when the machine lets it down: a full disk, a lost database, a
// runtime that is frozen, comes late or is a kubelet's.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/unique_fd.h"
#include "harness/kernel.h"
#include "harness/network_node.h"
#include "harness/node_agent.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class AgentFaultsTest : public NodeAgentTest {
 protected:
  explicit AgentFaultsTest(const std::string& config = "cgroupsPerQOS: false\n")
      : NodeAgentTest(config) {}
  void Apply(const std::string& name) { NodeAgentTest::Apply(PodManifest(name, kUntilTerm)); }
  // The message of the pod's event with this reason, once there is one.
  std::string AwaitEvent(const std::string& pod, const std::string& reason) {
    std::string message;
    EXPECT_TRUE(Eventually([&] {
      const auto events = agent_.client().Events("default", pod);
      if (!events.ok()) return false;
      for (const Json& each : *events) {
        if (each["reason"] == reason) message = each["message"];
      }
      return !message.empty();
    })) << agent_.Log();
    return message;
  }
  std::vector<std::string> Sandboxes() {
    cri::ListPodSandboxResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ListPodSandbox(&context, {}, &response).ok());
    std::vector<std::string> ids;
    for (const auto& each : response.items()) ids.push_back(each.id());
    return ids;
  }
};

// The agent's state is on a small disk of its own, and pods have groups, which are on record too.
class AgentFullDiskTest : public AgentFaultsTest {
 protected:
  AgentFullDiskTest()
      : AgentFaultsTest(absl::StrCat("cgroupDriver: cgroupfs\ncgroupRoot: /plimsoll-agent-test-",
                                     getpid(), "\n")),
        root_(absl::StrCat("/plimsoll-agent-test-", getpid())) {}
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "mounts need root";
    const auto made = Cgroups().Create(root_);
    ASSERT_TRUE(made.ok()) << made.status();
    ASSERT_TRUE(Host().MakeDirs(agent_.state_directory(), 0700).ok());
    ASSERT_EQ(mount("tmpfs", agent_.state_directory().c_str(), "tmpfs", 0, "size=8m,mode=0700"), 0);
    NodeTest::SetUp();
    Begin();
  }
  void TearDown() override {
    unlink(Filler().c_str());
    AgentFaultsTest::TearDown();
    EXPECT_TRUE(linux::Unmount(agent_.state_directory()).ok());
    EXPECT_TRUE(Cgroups().Remove(root_).ok());
  }
  std::string Filler() const { return agent_.state_directory() + "/filler"; }
  void Fill() {
    const UniqueFd file(open(Filler().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    ASSERT_TRUE(file.valid());
    const std::string block(4096, 'x');
    while (write(file.get(), block.data(), block.size()) > 0) {
    }
    ASSERT_EQ(errno, ENOSPC);
  }
  const std::string root_;
};

TEST_F(AgentFullDiskTest, PodsAreDeletedOnAFullDisk) {
  Apply("web");
  ASSERT_TRUE(agent_.Await("web", IsReady));
  Fill();
  std::vector<std::string> pods = {"web"};
  // The database's log may have some room left.
  absl::Status full;
  for (int i = 0; i < 200 && full.ok(); ++i) {
    const std::string name = absl::StrCat("pod-", i);
    full = agent_.client().Apply(PodManifest(name, kUntilTerm)).status();
    if (full.ok()) pods.push_back(name);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  // Another agent can do it too.
  agent_.Kill();
  Begin();
  for (const std::string& name : pods) ASSERT_NO_FATAL_FAILURE(Delete(name, 0));
  for (const std::string& name : pods) ASSERT_TRUE(agent_.AwaitGone(name));
  // plimsolld removes what it was making for the killed agent.
  EXPECT_TRUE(Eventually([&] {
    return Sandboxes().empty() && Host().List(node_.run_directory() + "/sandboxes")->empty();
  }));
  ASSERT_EQ(unlink(Filler().c_str()), 0);
  ASSERT_NO_FATAL_FAILURE(Apply("after"));
  ASSERT_TRUE(agent_.Await("after", IsReady));
  Delete("after", 0);
  EXPECT_TRUE(agent_.AwaitGone("after"));
}

TEST_F(AgentFaultsTest, WithoutItsDatabaseTheAgentDoublesNoPod) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  agent_.WriteManifest("web.yaml", PodManifest("web", kUntilTerm));
  ASSERT_TRUE(agent_.Await("web", IsReady));
  const std::vector<std::string> before = Sandboxes();
  ASSERT_EQ(before.size(), 1u);
  agent_.Kill();
  for (const char* suffix : {"", "-wal", "-shm"}) {
    unlink(absl::StrCat(agent_.state_directory(), "/agent.db", suffix).c_str());
  }
  ASSERT_NO_FATAL_FAILURE(Begin());
  EXPECT_THAT(AwaitEvent("web", "FailedCreatePodSandBox"),
              AllOf(HasSubstr(before.front().substr(0, 12)), HasSubstr("`plimsoll rm --force ")));
  EXPECT_EQ(Sandboxes(), before);
  EXPECT_EQ(agent_.Phase("web"), "Pending");
  EXPECT_THAT(agent_.Log(),
              HasSubstr(absl::StrCat("runs 1 pod of this agent, and the state directory ",
                                     agent_.state_directory())));
}

// With network plugins.
class AgentNetworkFaultsTest : public NetworkNodeTest {
 protected:
  AgentNetworkFaultsTest() : agent_(node_.directory(), node_.address(), "cgroupsPerQOS: false\n") {}
  void SetUp() override {
    NetworkNodeTest::SetUp();
    if (!IsSkipped()) Begin();
  }
  void TearDown() override {
    if (agent_.runs()) agent_.Kill();
    NetworkNodeTest::TearDown();
  }
  void Begin() {
    const absl::Status started = agent_.Start();
    ASSERT_TRUE(started.ok()) << started;
  }

  AgentProcess agent_;
};

// The next agent finds nothing of a sandbox that is being made.
TEST_F(AgentNetworkFaultsTest, AKillDuringASandboxsStartLeavesNoneBehind) {
  const std::string begun = files_.path() + "/begun";
  const std::string go_on = files_.path() + "/go-on";
  // It changes nothing.
  WritePlugin("slow", absl::StrCat("input=$(cat)\nif [ $CNI_COMMAND = ADD ]; then touch ", begun,
                                   "; until [ -e ", go_on, " ]; do sleep 0.1; done; fi\n",
                                   "printf %s \"$input\" | /usr/lib/cni/tuning\n"));
  WriteConfig(Bridge() + R"(, {"type": "slow"})");
  ASSERT_TRUE(agent_.client().Apply(PodManifest("web", kUntilTerm)).ok());
  ASSERT_TRUE(Eventually([&] { return Host().Exists(begun); })) << agent_.Log();
  agent_.Kill();
  ASSERT_NO_FATAL_FAILURE(Begin());
  ASSERT_TRUE(agent_.client().Delete("default", "web", 0).ok());
  ASSERT_TRUE(agent_.AwaitGone("web"));
  ASSERT_TRUE(Host().ReplaceFile(go_on, "").ok());
  EXPECT_TRUE(Eventually([&] {
    const auto there = Host().List(node_.run_directory() + "/sandboxes");
    // The pod's record goes after its directory.
    return there.ok() && there->empty() && CountPods() == 0;
  })) << node_.Log();
}

TEST_F(AgentFaultsTest, AFrozenRuntimeHoldsUpNoApply) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  ASSERT_EQ(kill(node_.daemon_pid(), SIGSTOP), 0);
  const absl::Time begun = absl::Now();
  const auto applied = agent_.client().Apply(PodManifest("one", kUntilTerm) + "---\n" +
                                             PodManifest("two", kUntilTerm));
  EXPECT_TRUE(applied.ok()) << applied.status();
  EXPECT_LT(absl::Now() - begun, Patience(absl::Seconds(20)));
  ASSERT_EQ(kill(node_.daemon_pid(), SIGCONT), 0);
  EXPECT_TRUE(agent_.Await("one", IsReady));
  EXPECT_TRUE(agent_.Await("two", IsReady));
}

// An agent whose node is the machine's own: it waits for no runtime.
class AgentOfALocalNodeTest : public AgentFaultsTest {
 protected:
  AgentOfALocalNodeTest() : AgentFaultsTest("cgroupsPerQOS: false\nresourceDiscovery: local\n") {}
};

TEST_F(AgentOfALocalNodeTest, AKubeletsPodsAreFoundWhenTheRuntimeComesLater) {
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_labels())["io.kubernetes.pod.uid"] = config.metadata().uid();
  const std::string kubelets = RunPod(config);
  node_.KillDaemon();
  ASSERT_NO_FATAL_FAILURE(Begin());
  const absl::Status started = node_.StartDaemon();
  ASSERT_TRUE(started.ok()) << started;
  // Not before the agent has connected again.
  ASSERT_TRUE(
      Eventually([&] { return agent_.client().Apply(PodManifest("web", kUntilTerm)).ok(); }));
  EXPECT_THAT(AwaitEvent("web", "FailedCreatePodSandBox"), HasSubstr("was made by a kubelet"));
  EXPECT_EQ(Sandboxes(), std::vector<std::string>{kubelets});
}

class AgentWithoutTopologyTest : public AgentFaultsTest {
 protected:
  AgentWithoutTopologyTest()
      : AgentFaultsTest(
            "cgroupsPerQOS: false\nresourceDiscovery: cri\n"
            "resourceDiscoveryTimeoutSeconds: 3600\n") {}
};

TEST_F(AgentWithoutTopologyTest, TheApiAnswersBeforeTheFirstTopology) {
  ASSERT_EQ(kill(node_.daemon_pid(), SIGSTOP), 0);
  const absl::Status spawned = agent_.Spawn();
  ASSERT_TRUE(spawned.ok()) << spawned;
  ASSERT_TRUE(Eventually([&] { return agent_.client().Node().ok(); })) << agent_.Log();
  EXPECT_THAT(agent_.client().Node()->dump(), HasSubstr("TopologyPending"));
  const absl::Status refused = agent_.client().Apply(PodManifest("web", kUntilTerm)).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the node's topology isn't known"));
  ASSERT_EQ(kill(node_.daemon_pid(), SIGCONT), 0);
  const absl::Status ready = agent_.AwaitReady();
  ASSERT_TRUE(ready.ok()) << ready;
  ASSERT_NO_FATAL_FAILURE(Apply("web"));
  EXPECT_TRUE(agent_.Await("web", IsReady));
}

}  // namespace
}  // namespace plimsoll::testing
