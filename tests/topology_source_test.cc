// Topologies from sources other than the kernel (`nodeResources.source`).
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/topology_stream.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

int LastCpu() {
  cpu_set_t allowed;
  EXPECT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) last = cpu;
  }
  return last;
}

// A machine of one core with this machine's last CPU, and that much memory.
std::string OneCore(const std::string& memory, int cpu = LastCpu()) {
  return absl::StrCat(
      "zones:\n- {name: board, type: NUMANode, attributes: {id: 0}, resources: [{name: memory, "
      "capacity: ",
      memory, "}]}\n- {name: only, type: Core, parent: board, attributes: {cpu-ids: ", cpu,
      "}, resources: [{name: cpu, capacity: 1}]}\n");
}

std::string Limitations(Node& node) {
  plimsoll::v1::DaemonStatusResponse response;
  grpc::ClientContext context;
  EXPECT_TRUE(node.node().DaemonStatus(&context, {}, &response).ok());
  std::string all;
  for (const std::string& each : response.limitations()) absl::StrAppend(&all, each, "\n");
  return all;
}

// Constructed before the node whose configuration names it.
struct GivenSource {
  void Put(const std::string& text) {
    ASSERT_TRUE(directory.root().ReplaceFile("topology.yaml", text).ok());
  }
  TestDir directory;
};

// The board's memory.
std::string BoardMemory(const cri::ResourceTopology& topology) {
  for (const cri::ResourceTopologyZone& zone : topology.zones()) {
    if (zone.name() == "board") return zone.resources(0).capacity().string();
  }
  return "no board";
}

// The tree that the proposal's clients rely on: one zone without a parent, which has the machine's
// ids, and no unknown parent.
void ExpectOneTree(const cri::ResourceTopology& topology) {
  ASSERT_EQ(topology.zones_size(), 3);
  EXPECT_EQ(topology.zones(0).name(), "root");
  EXPECT_EQ(topology.zones(0).type(), "Machine");
  EXPECT_EQ(topology.zones(0).parent(), "");
  const std::string boot_id = *Host().Read("proc/sys/kernel/random/boot_id");
  EXPECT_EQ(topology.zones(0).attributes().at("boot-id") + "\n", boot_id);
  EXPECT_EQ(topology.zones(1).parent(), "root");
  EXPECT_EQ(topology.zones(2).parent(), "board");
}

class FileSourceTest : protected GivenSource, public NodeTest {
 protected:
  FileSourceTest()
      : NodeTest(absl::StrCat("nodeResources:\n  source: {file: ", directory.path(),
                              "/topology.yaml}\n")) {
    Put(OneCore("8Gi"));
  }
};

TEST_F(FileSourceTest, IsToldEnforcedAndWatched) {
  TopologyStream stream(node_);
  cri::ResourceTopology topology;
  ASSERT_TRUE(stream.Next(&topology));
  ExpectOneTree(topology);
  EXPECT_EQ(BoardMemory(topology), "8Gi");
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(id, "grep Cpus_allowed_list /proc/self/status | cut -f2"),
            absl::StrCat(LastCpu(), "\n"));
  Put(OneCore("4Gi"));
  ASSERT_TRUE(stream.Next(&topology));
  EXPECT_EQ(BoardMemory(topology), "4Gi");
  // A bad topology is reported, and the last good one stays.
  Put(OneCore("2Gi", 4000));
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(Limitations(node_), "topology.yaml: zone \"only\" has CPUs 4000");
  })) << Limitations(node_);
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(node_.Log(), "zone \\\"only\\\" has CPUs 4000");
  })) << node_.Log();
  ASSERT_TRUE(TopologyStream(node_).Next(&topology));
  EXPECT_EQ(BoardMemory(topology), "4Gi");
  Put(OneCore("2Gi"));
  ASSERT_TRUE(stream.Next(&topology));
  EXPECT_EQ(BoardMemory(topology), "2Gi");
}

// The daemon serves its pods all the same; clients wait for a good one.
class BadFileTest : public FileSourceTest {
 protected:
  BadFileTest() { Put("zones: [{name: a, parent: a}]\n"); }
};

TEST_F(BadFileTest, PodsRunAndClientsAreToTryAgain) {
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(id, "echo here"), "here\n");
  EXPECT_THAT(node_.Log(), HasSubstr("is its own parent"));
  EXPECT_THAT(Limitations(node_), HasSubstr("nothing is reported to clients yet"));
  TopologyStream stream(node_);
  cri::ResourceTopology topology;
  EXPECT_FALSE(stream.Next(&topology));
  const grpc::Status status = stream.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("NotTold: "));
  EXPECT_THAT(status.error_message(), HasSubstr("is its own parent"));
  // A waiting client gets it as soon as it is there.
  TopologyStream again(node_);
  Put(OneCore("8Gi"));
  ASSERT_TRUE(again.Next(&topology));
  EXPECT_EQ(BoardMemory(topology), "8Gi");
  EXPECT_TRUE(Eventually([&] {
    return ExecOutput(id, "grep Cpus_allowed_list /proc/self/status | cut -f2") ==
           absl::StrCat(LastCpu(), "\n");
  }));
}

// examples/topology-provider, which sends its input.
class ProviderTest : public NodeTest {
 protected:
  explicit ProviderTest(const std::string& hold = "1h", const std::string& more = "")
      : NodeTest(
            absl::StrCat("nodeResources: {source: {provider: {hold: ", hold, "}}", more, "}\n")) {}
  void SetUp() override {
    NodeTest::SetUp();
    OpenStream();
    StartProvider();
  }
  void OpenStream() {
    ASSERT_TRUE(stream_.emplace(node_).Next(&topology_));
    EXPECT_EQ(topology_.zones(0).type(), "Machine") << "the kernel's, until there is another";
  }
  void StartProvider() {
    int input[2];
    int output[2];
    ASSERT_EQ(pipe2(input, O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(output, O_CLOEXEC), 0);
    const UniqueFd its_input(input[0]);
    const UniqueFd its_output(output[1]);
    input_ = UniqueFd(input[1]);
    output_ = UniqueFd(output[0]);
    Command command;
    command.argv = {ProgramPath("topology-provider"), node_.run_directory() + "/topology.sock",
                    "example"};
    command.descriptors = {{its_input.get(), 0}, {its_output.get(), 1}};
    provider_ = *Spawn(command);
  }
  void TearDown() override {
    input_.Reset();
    if (provider_) {
      EXPECT_TRUE(provider_->Wait(absl::Now() + Patience(absl::Seconds(60))).ok());
    }
    NodeTest::TearDown();
  }
  // The provider's output about it.
  std::string Push(const std::string& memory, int cpu = LastCpu()) {
    const std::string line = absl::StrCat(
        R"({"zones": [{"name": "board", "type": "NUMANode", "attributes": {"id": "0"}, "resources": [{"name": "memory", )",
        R"("capacity": {"string": ")", memory,
        R"("}}]}, {"name": "only", "type": "Core", "parent": "board", "attributes": {"cpu-ids": ")",
        cpu, R"("}, "resources": [{"name": "cpu", "capacity": {"string": "1"}}]}]})", "\n");
    EXPECT_EQ(write(input_.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
    std::string answer;
    char c = 0;
    while (read(output_.get(), &c, 1) == 1 && c != '\n') answer.push_back(c);
    return answer;
  }

  std::optional<TopologyStream> stream_;
  cri::ResourceTopology topology_;
  UniqueFd input_;
  UniqueFd output_;
  std::optional<Child> provider_;
};

TEST_F(ProviderTest, WhatItPushesIsToldAndEnforcedAndOutlivesIt) {
  EXPECT_EQ(Push("8192Mi"), "accepted");
  ASSERT_TRUE(stream_->Next(&topology_));
  ExpectOneTree(topology_);
  EXPECT_EQ(BoardMemory(topology_), "8Gi") << "in canonical form";
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(id, "grep Cpus_allowed_list /proc/self/status | cut -f2"),
            absl::StrCat(LastCpu(), "\n"));
  EXPECT_THAT(Push("4Gi", 4000), HasSubstr("refused: zone \"only\" has CPUs 4000"));
  EXPECT_EQ(Push("4Gi"), "accepted");
  ASSERT_TRUE(stream_->Next(&topology_));
  EXPECT_EQ(BoardMemory(topology_), "4Gi");
  ASSERT_TRUE(provider_->Signal(SIGKILL).ok());
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(Limitations(node_), "topology provider \"example\" is gone");
  })) << Limitations(node_);
  cri::ResourceTopology now;
  ASSERT_TRUE(TopologyStream(node_).Next(&now));
  EXPECT_EQ(BoardMemory(now), "4Gi");
}

TEST_F(ProviderTest, WhatItPushedOutlivesTheDaemon) {
  EXPECT_EQ(Push("8Gi"), "accepted");
  ASSERT_TRUE(stream_->Next(&topology_));
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  ASSERT_TRUE(TopologyStream(node_).Next(&topology_));
  ExpectOneTree(topology_);
  EXPECT_EQ(BoardMemory(topology_), "8Gi");
  EXPECT_TRUE(Eventually([&] {
    return ExecOutput(id, "grep Cpus_allowed_list /proc/self/status | cut -f2") ==
           absl::StrCat(LastCpu(), "\n");
  }));
  EXPECT_TRUE(absl::StrContains(Limitations(node_), "topology provider \"example\" is gone"))
      << Limitations(node_);
}

// The partition's share of the board doesn't fit every topology.
class SharedProviderTest : public ProviderTest {
 protected:
  SharedProviderTest() : ProviderTest("1h", ", memory: {board: 6Gi}") {}
  void SetUp() override {
    NodeTest::SetUp();
    StartProvider();
  }
};

TEST_F(SharedProviderTest, ItIsToldWhatKeepsItsTopologyFromBeingInForce) {
  EXPECT_EQ(Push("8Gi"), "accepted");
  EXPECT_EQ(Push("4Gi"),
            "accepted: nodeResources: memory: 6Gi of zone \"board\", but the zone has 4Gi; the "
            "previous configuration stays in force");
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(node_.Log(), "has a topology that isn't in force: ");
  })) << node_.Log();
  EXPECT_EQ(Push("7Gi"), "accepted");
}

constexpr char kGroup[] = "tty";  // every system has it

struct PublicDirectory {
  PublicDirectory() { EXPECT_EQ(fchmod(directory.root().fd(), 0755), 0); }
  TestDir directory;
};

class ProviderGroupTest : protected PublicDirectory, public NodeTest {
 protected:
  ProviderGroupTest()
      : NodeTest(absl::StrCat("nodeResources: {source: {provider: {socket: ", directory.path(),
                              "/topology.sock, group: ", kGroup, "}}}\n")) {}
  // 0 or errno of connect(2) by a process with no rights but its groups'; -1: the test itself
  // failed.
  int ConnectAs(gid_t gid, const std::vector<gid_t>& further) const {
    int result = -1;
    // The kernel keeps the working directory and credentials per thread; only the C library does
    // not.
    std::thread([&] {
      if (unshare(CLONE_FS) != 0 || fchdir(directory.root().fd()) != 0 ||
          syscall(SYS_setgroups, further.size(), further.data()) != 0 ||
          syscall(SYS_setresgid, gid, gid, gid) != 0 ||
          syscall(SYS_setresuid, kNobody, kNobody, kNobody) != 0) {
        return;
      }
      const UniqueFd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "topology.sock"};
      const int connected =
          connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
      result = connected == 0 ? 0 : errno;
    }).join();
    return result;
  }
};

TEST_F(ProviderGroupTest, WhoIsInTheGroupMayConnectAndNobodyElse) {
  const group* found = getgrnam(kGroup);
  ASSERT_NE(found, nullptr);
  const gid_t gid = found->gr_gid;
  EXPECT_EQ(ConnectAs(gid, {}), 0);
  EXPECT_EQ(ConnectAs(kNobody, {gid}), 0);
  EXPECT_EQ(ConnectAs(kNobody, {}), EACCES);
  EXPECT_EQ(ConnectAs(0, {}), EACCES) << "root's group is not root";
}

// The kernel's topology stands in until a provider has come.
class RefusingProviderTest : public ProviderTest {
 protected:
  RefusingProviderTest() : ProviderTest("1h", ", outsidePartition: refuse") {}
  void SetUp() override {
    if (LastCpu() == 0) GTEST_SKIP() << "needs two CPUs";
    NodeTest::SetUp();
  }
  static std::string Both() { return absl::StrCat(LastCpu() - 1, "-", LastCpu()); }
  cri::ContainerConfig OnBoth() {
    cri::ContainerConfig config = Shell("sleep 1000");
    config.mutable_linux()->mutable_resources()->set_cpuset_cpus(Both());
    return config;
  }
  std::string Allowed(const std::string& id) {
    return ExecOutput(id, "grep Cpus_allowed_list /proc/1/status | cut -f2");
  }
};

TEST_F(RefusingProviderTest, WhatNobodyWasToldIsRefusedOnceOneHasCome) {
  const std::string pod = RunPod();
  const std::string before = Start(pod, OnBoth());
  StartProvider();
  EXPECT_EQ(Push("8Gi"), "accepted");
  EXPECT_TRUE(Eventually([&] { return Allowed(before) == absl::StrCat(LastCpu(), "\n"); }));
  std::string id;
  const grpc::Status refused = TryCreate(pod, OnBoth(), &id);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("are outside of this node's share for pods"));
}

TEST_F(RefusingProviderTest, WhatAClientWasToldIsClipped) {
  OpenStream();
  // The daemon counts it once the message has left. Starting a pod takes longer than that.
  const std::string pod = RunPod();
  StartProvider();
  EXPECT_EQ(Push("8Gi"), "accepted");
  ASSERT_TRUE(stream_->Next(&topology_));
  const std::string id = Start(pod, OnBoth());
  EXPECT_TRUE(Eventually([&] { return Allowed(id) == absl::StrCat(LastCpu(), "\n"); }));
}

class ForgottenProviderTest : public ProviderTest {
 protected:
  ForgottenProviderTest() : ProviderTest("0") {}
};

TEST_F(ForgottenProviderTest, TheKernelsTopologyIsBackAfterIt) {
  EXPECT_EQ(Push("8Gi"), "accepted");
  ASSERT_TRUE(stream_->Next(&topology_));
  EXPECT_EQ(BoardMemory(topology_), "8Gi");
  ASSERT_TRUE(provider_->Signal(SIGKILL).ok());
  ASSERT_TRUE(stream_->Next(&topology_));
  EXPECT_EQ(BoardMemory(topology_), "no board");
}

}  // namespace
}  // namespace plimsoll::testing
