// An agent's pods on a machine with swap (KEP-2400). The swap is compressed memory, which
// hotplug_job makes: pages on their way to a disk count as memory and as swap, so with a slow disk
// a group runs out of both before its time. hotplug.py does what this test requests on its standard
// output.
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include "../agent_runs_fixture.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "harness/agent.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "resources/quantity.h"
#include "swap_space.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kRoot[] = "/agent-swap";
constexpr char kConfig[] = "cgroupDriver: cgroupfs\ncgroupRoot: /agent-swap\n";
constexpr char kLimited[] = "memorySwap: {swapBehavior: LimitedSwap}\n";

// "memory" may be written by such a container: more than its limit, by less than half its share of
// swap (a gibibyte of swap and 2 to 3 of memory).
constexpr char kSwaps[] = "{requests: {memory: 48Mi}, limits: {memory: 56Mi}}";
constexpr int64_t kSwapsLimit = 56 * kMiB;

// A line of /proc/meminfo, in bytes: the amounts that kubelet takes.
int64_t MemInfo(const std::string& name) {
  const std::string text = Host().Read("proc/meminfo").value_or("");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    int64_t kib = 0;
    if (absl::ConsumePrefix(&line, absl::StrCat(name, ":")) &&
        absl::SimpleAtoi(absl::StripSuffix(line, "kB"), &kib)) {
      return kib * 1024;
    }
  }
  ADD_FAILURE() << "/proc/meminfo has no " << name;
  return 0;
}

// kubelet's share of a container with this request; the kernel cuts it to pages.
int64_t ShareOf(int64_t request) {
  const double part = static_cast<double>(request) / static_cast<double>(MemInfo("MemTotal"));
  const auto bytes = static_cast<int64_t>(part * static_cast<double>(MemInfo("SwapTotal")));
  return bytes / kSwapPageBytes * kSwapPageBytes;
}

// Holds that much memory, and then has a file /full. If the process that holds it is killed, the
// container ends with exit code 1.
std::string Holding(int64_t bytes) {
  return absl::StrCat("head -c ", bytes, " /dev/zero | tail -c ", bytes,
                      " | { [ $(head -c 1 | wc -c) = 1 ] && touch /full && sleep 1000; }");
}

// In YAML's flow style.
std::string Container(const std::string& name, const std::string& resources,
                      const std::string& script = kUntilTerm) {
  return absl::StrCat("{name: ", name,
                      ", image: busybox, imagePullPolicy: Never, resources: ", resources,
                      ", command: [sh, -c, '", script, "']}");
}

class AgentSwapTest : public NodeTest {
 protected:
  AgentSwapTest() : agent_(node_.directory(), node_.address()) {}
  void SetUp() override {
    NodeTest::SetUp();
    ASSERT_TRUE(Cgroups().Create(kRoot).ok());
    const absl::Status formatted = swap_.Format();
    ASSERT_TRUE(formatted.ok()) << formatted;
    const absl::Status on = swap_.On();
    ASSERT_TRUE(on.ok()) << on;
  }
  void TearDown() override {
    agent_.Kill();
    RemoveAllPods();
    const absl::Status off = swap_.Off();
    EXPECT_TRUE(off.ok()) << off;
    EXPECT_TRUE(Cgroups().Remove(kRoot).ok());
    NodeTest::TearDown();
  }

  void Begin(const std::string& swap = kLimited) { agent_.Begin(absl::StrCat(kConfig, swap)); }
  void Apply(const std::string& name, const std::string& containers, const std::string& spec = "") {
    agent_.Apply(absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name, "}, spec: {",
                              spec, "terminationGracePeriodSeconds: 0, containers: [", containers,
                              "]}}"));
  }
  void Run(const std::string& name, const std::string& containers, const std::string& spec = "") {
    Apply(name, containers, spec);
    ASSERT_TRUE(agent_->Await(name, IsReady)) << agent_->Log();
  }
  void Resize(const std::string& pod, const Json& resources) {
    const auto resized = agent_->client().Resize(
        "default", pod,
        {{"spec", {{"containers", {{{"name", "main"}, {"resources", resources}}}}}}});
    ASSERT_TRUE(resized.ok()) << resized.status();
  }
  // By container.
  std::map<std::string, std::string> Ids(const std::string& pod) {
    std::map<std::string, std::string> ids;
    const Json now = agent_->Pod(pod);
    for (const Json& each : now["status"]["containerStatuses"]) ids[each["name"]] = CriId(each);
    return ids;
  }
  // A file of the container's group, as the container sees it; -1: no number, "max" for instance.
  int64_t InGroup(const std::string& id, const std::string& file) {
    int64_t bytes = -1;
    const std::string text = ExecOutput(id, absl::StrCat("cat /sys/fs/cgroup/", file));
    return absl::SimpleAtoi(text, &bytes) ? bytes : -1;
  }
  std::map<std::string, int64_t> SwapMax(const std::string& pod) {
    std::map<std::string, int64_t> limits;
    for (const auto& [name, id] : Ids(pod)) limits[name] = InGroup(id, "memory.swap.max");
    return limits;
  }
  // Waits until the pod's container "main" may swap that much.
  ::testing::AssertionResult MaySwap(const std::string& pod, int64_t bytes) {
    if (Eventually([&] { return SwapMax(pod)["main"] == bytes; })) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure()
           << pod << " may swap " << SwapMax(pod)["main"] << " and not " << bytes << "\n"
           << agent_->Log();
  }
  // Waits until the container holds its memory.
  bool Holds(const std::string& id) {
    return Eventually([&] {
      cri::ExecSyncResponse response;
      return Exec(id, {"ls", "/full"}, &response).ok() && response.exit_code() == 0;
    });
  }
  // Waits for the end of the pod, and gives its container's reason.
  std::string ReasonOfTheEnd(const std::string& pod) {
    EXPECT_TRUE(agent_->AwaitPhase(pod, "Failed")) << agent_->Log();
    const Json now = agent_->Pod(pod);
    return ContainerStatus(now)["state"]["terminated"].value("reason", "");
  }
  std::string NodeEvent(const std::string& reason) {
    for (const Json& each : agent_->client().Events("", "").value_or(std::vector<Json>())) {
      if (each["reason"] == reason && each["involvedObject"]["kind"] == "Node") {
        return each["message"];
      }
    }
    return "";
  }

  SwapSpace swap_{"/dev/zram0"};
  AgentRuns agent_;
};

// Containers of one Burstable pod, for each of kubelet's rules.
std::string Mixed() {
  return absl::StrCat(Container("limited", "{requests: {memory: 96Mi}, limits: {memory: 128Mi}}"),
                      ", ", Container("unlimited", "{requests: {memory: 16Mi}}"), ", ",
                      Container("equal", "{requests: {cpu: 10m}, limits: {memory: 32Mi}}"), ", ",
                      Container("without", "{requests: {cpu: 10m}}"));
}

TEST_F(AgentSwapTest, AContainerMaySwapTheShareOfItsMemoryRequest) {
  Begin();
  Run("mixed", Mixed());
  Run("guaranteed", Container("main", "{limits: {cpu: 100m, memory: 32Mi}}"));
  Run("best-effort", Container("main", "{}"));
  Run("critical", Container("main", kSwaps), "priorityClassName: system-node-critical, ");
  const std::map<std::string, int64_t> shares = {{"limited", ShareOf(96 * kMiB)},
                                                 {"unlimited", ShareOf(16 * kMiB)},
                                                 {"equal", 0},
                                                 {"without", 0}};
  ASSERT_GT(ShareOf(16 * kMiB), kMiB);
  EXPECT_EQ(SwapMax("mixed"), shares);
  for (const char* pod : {"guaranteed", "best-effort", "critical"}) {
    EXPECT_EQ(SwapMax(pod)["main"], 0) << pod;
  }
  const auto node = agent_->client().Node();
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ((*node)["status"]["nodeInfo"]["swap"]["capacity"], MemInfo("SwapTotal"));
  EXPECT_THAT(NodeEvent("PossibleMemoryBackedVolumesOnDisk"), HasSubstr("noswap"))
      << "this kernel's tmpfs can't do without swap";
}

TEST_F(AgentSwapTest, ItSwapsUpToItsShareAndNoFurther) {
  Begin();
  Run("fits", Container("main", kSwaps, Holding(kSwapsLimit + 10 * kMiB)));
  const std::string id = Ids("fits")["main"];
  ASSERT_TRUE(Holds(id)) << agent_->Pod("fits") << agent_->Log();
  const int64_t swapped = InGroup(id, "memory.swap.current");
  EXPECT_GE(swapped, 10 * kMiB);
  EXPECT_LE(swapped, ShareOf(48 * kMiB));
  EXPECT_LE(InGroup(id, "memory.current"), kSwapsLimit);
  const int64_t more = ShareOf(48 * kMiB) + 10 * kMiB;
  Apply("does-not", Container("main", kSwaps, Holding(kSwapsLimit + more)),
        "restartPolicy: Never, ");
  EXPECT_EQ(ReasonOfTheEnd("does-not"), "OOMKilled");
  EXPECT_EQ(Ids("fits")["main"], id);
}

TEST_F(AgentSwapTest, WithNoSwapNothingIsSwapped) {
  Begin("");
  Run("mixed", Mixed());
  for (const auto& [name, bytes] : SwapMax("mixed")) EXPECT_EQ(bytes, 0) << name;
  Apply("fits", Container("main", kSwaps, Holding(kSwapsLimit + 10 * kMiB)),
        "restartPolicy: Never, ");
  EXPECT_EQ(ReasonOfTheEnd("fits"), "OOMKilled");
}

// Kubelet's behaviour.
TEST_F(AgentSwapTest, AResizeOfMemoryNeedsARestart) {
  constexpr char kResources[] =
      "{requests: {cpu: 50m, memory: 64Mi}, limits: {cpu: 100m, memory: 128Mi}}";
  Begin();
  Run("stays", Container("main", kResources));
  Run("restarts",
      Container("main", absl::StrCat(kResources, ", resizePolicy: [{resourceName: memory, ",
                                     "restartPolicy: RestartContainer}]")));
  const Json stays = agent_->Pod("stays");
  const Json restarts = agent_->Pod("restarts");
  const int64_t share = ShareOf(64 * kMiB);
  EXPECT_TRUE(MaySwap("restarts", share));
  const std::string id = MainId(stays);
  const auto memory_is = [&](int64_t bytes) {
    return Eventually([&] { return InGroup(id, "memory.max") == bytes; });
  };
  Resize("stays", {{"limits", {{"cpu", "200m"}, {"memory", "160Mi"}}}});
  EXPECT_TRUE(memory_is(160 * kMiB)) << "the limit alone changes in place";
  EXPECT_EQ(InGroup(id, "memory.swap.max"), share);
  const Json more = {{"requests", {{"memory", "96Mi"}}}, {"limits", {{"memory", "192Mi"}}}};
  Resize("stays", more);
  EXPECT_TRUE(Eventually([&] { return agent_.HasEvent("stays", "ResizeInfeasible"); }));
  EXPECT_THAT(agent_->Event("stays", "ResizeInfeasible").value("message", ""), HasSubstr("swap"));
  EXPECT_EQ(InGroup(id, "memory.max"), 160 * kMiB);
  EXPECT_EQ(InGroup(id, "memory.swap.max"), share);
  Resize("stays", {{"requests", {{"memory", "64Mi"}}}, {"limits", {{"memory", "64Mi"}}}});
  EXPECT_TRUE(memory_is(64 * kMiB));
  EXPECT_TRUE(MaySwap("stays", 0)) << "the limit is the request";
  agent_.ExpectUntouched("stays", stays);

  Resize("restarts", more);
  ASSERT_TRUE(agent_->Await("restarts", [&](const Json& now) {
    return IsReady(now) && MainId(now) != MainId(restarts);
  }));
  EXPECT_TRUE(MaySwap("restarts", ShareOf(96 * kMiB)));
  EXPECT_EQ(InGroup(MainId(agent_->Pod("restarts")), "memory.max"), 192 * kMiB);
}

TEST_F(AgentSwapTest, SharesFollowMemoryAndSwapOfTheMachine) {
  Begin();
  Run("web", Container("main", kSwaps));
  Run("guaranteed", Container("main", "{limits: {cpu: 100m, memory: 32Mi}}"));
  const Json before = agent_->Pod("web");
  const int64_t memory = MemInfo("MemTotal");
  const int64_t share = ShareOf(48 * kMiB);
  EXPECT_TRUE(MaySwap("web", share));

  std::printf("give the swapping node memory\n");
  std::fflush(stdout);
  ASSERT_TRUE(Eventually([&] { return MemInfo("MemTotal") == memory + 256 * kMiB; }));
  ASSERT_LT(ShareOf(48 * kMiB), share);
  EXPECT_TRUE(MaySwap("web", ShareOf(48 * kMiB))) << "of more memory a smaller part";

  TestDir directory;
  ASSERT_TRUE(directory.root().ReplaceFile("swap", std::string(64 * kMiB, '\0'), 0600).ok());
  SwapSpace more(directory.path() + "/swap");
  ASSERT_TRUE(more.Format().ok());
  const int64_t of_one = ShareOf(48 * kMiB);
  ASSERT_TRUE(more.On().ok());
  ASSERT_GT(ShareOf(48 * kMiB), of_one);
  EXPECT_TRUE(MaySwap("web", ShareOf(48 * kMiB))) << "the same part of more swap";
  ASSERT_TRUE(more.Off().ok());
  EXPECT_TRUE(MaySwap("web", of_one));
  EXPECT_TRUE(MaySwap("guaranteed", 0));
  agent_.ExpectUntouched("web", before);
}

TEST_F(AgentSwapTest, AnAgentThatShallNotSeeSwapDoesNotStart) {
  AgentProcess agent(node_.directory(), node_.address(),
                     absl::StrCat(kConfig, "failSwapOn: true\n"));
  const absl::Status refused = agent.Start();
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.message()), HasSubstr("failSwapOn"));
}

}  // namespace
}  // namespace plimsoll::testing
