// Pods' share of the node (`nodeResources`), seen by the kernel and from inside of containers.
#include <signal.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "harness/cpus.h"
#include "harness/kernel.h"
#include "harness/metrics.h"
#include "harness/node.h"
#include "harness/topology_stream.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The system keeps the first CPU.
std::string Section(const std::string& reserved, const std::string& more = "") {
  return absl::StrCat("nodeResources:\n  cpus: {reserved: \"", reserved, "\"}\n", more);
}

class PartitionTest : public NodeTest {
 protected:
  explicit PartitionTest(const std::string& more = "")
      : NodeTest(Section(absl::StrCat(UsableCpus().front()), more)) {}
  void SetUp() override {
    if (UsableCpus().size() < 2) GTEST_SKIP() << "needs two CPUs";
    NodeTest::SetUp();
  }

  std::string first() const { return absl::StrCat(UsableCpus().front()); }
  std::string last() const { return absl::StrCat(UsableCpus().back()); }
  std::string both() const { return absl::StrCat(first(), ",", last()); }

  // The CPUs on which the kernel lets the container's processes run, as they see it themselves.
  std::string AllowedIn(const std::string& id) {
    return ExecOutput(id, "grep Cpus_allowed_list /proc/self/status | cut -f2");
  }
  // NUMA nodes from which the container's first process may have memory.
  std::string MemoryOfInit(const std::string& id) {
    return ExecOutput(id, "grep Mems_allowed_list /proc/1/status | cut -f2");
  }
  std::string AllowedOfInit(const std::string& id) {
    return ExecOutput(id, "grep Cpus_allowed_list /proc/1/status | cut -f2");
  }
  cri::ContainerConfig Pinned(const std::string& cpus) {
    cri::ContainerConfig config = Shell("sleep 1000");
    config.mutable_linux()->mutable_resources()->set_cpuset_cpus(cpus);
    return config;
  }
  std::vector<std::string> Warnings(const std::string& id) {
    plimsoll::v1::ListEventsRequest request;
    grpc::ClientContext context;
    const auto reader = node_.node().ListEvents(&context, request);
    std::vector<std::string> messages;
    plimsoll::v1::Event event;
    while (reader->Read(&event)) {
      if (event.type() == "Warning" && event.container_id() == id) {
        messages.push_back(event.message());
      }
    }
    EXPECT_TRUE(reader->Finish().ok());
    return messages;
  }
  cri::RuntimeCondition NodeResourcesCondition() {
    grpc::ClientContext context;
    cri::StatusResponse response;
    EXPECT_TRUE(node_.runtime().Status(&context, {}, &response).ok());
    for (const cri::RuntimeCondition& condition : response.status().conditions()) {
      if (condition.type() == "NodeResourcesReady") return condition;
    }
    ADD_FAILURE() << response.DebugString();
    return {};
  }
  void ReloadWith(const std::string& from, const std::string& to) {
    const std::string path = node_.config_path().substr(1);
    const std::string text = *Host().Read(path);
    const std::string changed = absl::StrReplaceAll(text, {{from, to}});
    ASSERT_NE(text, changed);
    ASSERT_TRUE(Host().ReplaceFile(path, changed).ok());
    ASSERT_EQ(kill(node_.daemon_pid(), SIGHUP), 0);
  }
};

TEST_F(PartitionTest, WhoBringsNoCpusetIsConfined) {
  cri::PodSandboxConfig config = PodConfig();
  config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
      cri::POD);
  const std::string pod = RunPod(config);
  const std::string id = Start(pod, Shell("sleep 1000"));
  EXPECT_THAT(AllowedIn(id), ::testing::Not(HasSubstr(first())));
  // In a pod with its own PID namespace, process 1 is the pod's init.
  EXPECT_EQ(AllowedOfInit(id), AllowedIn(id));
  if (UsableCpus().size() == 2) {
    EXPECT_EQ(AllowedIn(id), last() + "\n");
  }
  // The status agrees with the kernel.
  EXPECT_EQ(absl::StrCat(Status(id).resources().linux().cpuset_cpus(), "\n"), AllowedIn(id));
}

TEST_F(PartitionTest, APodsOwnCpusetIsClippedOrRefusedAsAContainers) {
  cri::PodSandboxConfig config = PodConfig();
  config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
      cri::POD);
  config.mutable_linux()->mutable_resources()->set_cpuset_cpus(both());
  const std::string pod = RunPod(config);
  const std::string id = Start(pod, Shell("sleep 1000"));
  EXPECT_EQ(AllowedIn(id), last() + "\n");
  EXPECT_EQ(AllowedOfInit(id), last() + "\n");
  EXPECT_THAT(Warnings(""), ::testing::Contains(AllOf(HasSubstr("requested for the pod"),
                                                      HasSubstr("CPUs " + first()))));
  cri::UpdatePodSandboxResourcesRequest update;
  update.set_pod_sandbox_id(pod);
  update.mutable_resources()->set_cpuset_cpus(both());
  cri::UpdatePodSandboxResourcesResponse response;
  grpc::ClientContext context;
  const grpc::Status updated =
      node_.runtime().UpdatePodSandboxResources(&context, update, &response);
  EXPECT_TRUE(updated.ok()) << updated.error_message();
  EXPECT_EQ(AllowedIn(id), last() + "\n");

  config.mutable_metadata()->set_uid("outside");
  config.mutable_metadata()->set_name("outside");
  config.mutable_linux()->mutable_resources()->set_cpuset_cpus(first());
  std::string none;
  const grpc::Status refused = TryRunPod(config, &none);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(),
              AllOf(HasSubstr("outside"), HasSubstr("CPUs " + first() + " are outside of this")));
}

TEST_F(PartitionTest, ThePartitionIsWhatIsTold) {
  cri::ResourceTopology topology;
  ASSERT_TRUE(TopologyStream(node_).Next(&topology));
  for (const auto& zone : topology.zones()) {
    const auto ids = zone.attributes().find("cpu-ids");
    if (ids != zone.attributes().end()) {
      EXPECT_NE(ids->second, first()) << zone.name();
    }
  }
}

TEST_F(PartitionTest, OutsideIsClippedUntilAClientHasTakenTheTopology) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Pinned(both()));
  EXPECT_EQ(AllowedIn(id), last() + "\n");
  cri::LinuxContainerResources update;
  update.set_cpuset_cpus(both());
  ASSERT_TRUE(TryUpdate(id, update).ok());
  const auto told = RunProgram({.argv = {ProgramPath("plimsoll"), "--address", node_.address(),
                                         "update", id, "--cpuset-cpus", both()}});
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_EQ(told->exit.code, 0) << told->err;
  EXPECT_THAT(told->err,
              HasSubstr(absl::StrCat("of --cpuset-cpus ", both(), " it has ", last(), ":")));
  EXPECT_THAT(Warnings(id), ::testing::ElementsAre(HasSubstr(absl::StrCat(
                                "(nodeResources): CPUs ", first(), "; it runs on CPUs ", last()))));
  std::string other;
  const grpc::Status none = TryCreate(pod, Pinned(first()), &other);
  EXPECT_EQ(none.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  // A client that acts upon the topology.
  cri::ResourceTopology topology;
  std::optional<TopologyStream> client(node_);
  ASSERT_TRUE(client->Next(&topology));
  grpc::Status refused;
  EXPECT_TRUE(Eventually([&] {
    refused = TryUpdate(id, update);
    return !refused.ok();
  }));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(),
              HasSubstr(absl::StrCat("CPUs ", first(), " are outside of this node's share")));
  EXPECT_THAT(refused.error_message(),
              HasSubstr(absl::StrCat("reservedSystemCPUs: \"", first(), "\"")));
  EXPECT_EQ(AllowedIn(id), last() + "\n");
  // A kubelet whose gate is off from its next start on.
  client.reset();
  EXPECT_TRUE(Eventually([&] { return TryUpdate(id, update).ok(); }));
  EXPECT_EQ(AllowedIn(id), last() + "\n");
}

TEST_F(PartitionTest, ThoseThatRunFollowAReload) {
  const std::string pod = RunPod();
  const std::string all = Start(pod, Shell("sleep 1000"));
  const std::string pinned = Start(pod, Pinned(both()));
  const std::string to_last = AllowedIn(all);
  ReloadWith(absl::StrCat("{reserved: \"", first(), "\"}"),
             absl::StrCat("{list: \"", first(), "\"}"));
  EXPECT_TRUE(Eventually([&] { return AllowedIn(all) == first() + "\n"; })) << AllowedIn(all);
  EXPECT_TRUE(Eventually([&] { return AllowedIn(pinned) == first() + "\n"; }));
  ReloadWith(absl::StrCat("{list: \"", first(), "\"}"), "{}");
  EXPECT_TRUE(Eventually([&] { return AllowedOfInit(pinned) != first() + "\n"; }));
  // A container that asked for nothing has all CPUs again.
  EXPECT_TRUE(Eventually([&] {
    return AllowedOfInit(all) != first() + "\n" && AllowedOfInit(all) != to_last;
  })) << AllowedOfInit(all);
}

// The nodes of its CPUs' zones.
TEST_F(PartitionTest, MemoryNodesAreEnforced) {
  if (!Host().Exists("sys/devices/system/node/node1/cpulist")) {
    GTEST_SKIP() << "needs NUMA nodes 0 and 1";
  }
  const std::string pod = RunPod();
  const std::string before = Start(pod, Shell("sleep 1000"));
  ASSERT_EQ(MemoryOfInit(before), "0-1\n");
  ReloadWith(absl::StrCat("{reserved: \"", first(), "\"}"), "{zones: [numa-1]}");
  EXPECT_TRUE(Eventually([&] { return MemoryOfInit(before) == "1\n"; })) << MemoryOfInit(before);
  EXPECT_EQ(Status(before).resources().linux().cpuset_mems(), "1");
  const std::string after = Start(pod, Shell("sleep 1000"));
  EXPECT_EQ(MemoryOfInit(after), "1\n");
  EXPECT_EQ(ExecOutput(after, "grep Mems_allowed_list /proc/self/status | cut -f2"), "1\n");
  ReloadWith("{zones: [numa-1]}", "{zones: [numa-0]}");
  for (const std::string& id : {before, after}) {
    EXPECT_TRUE(Eventually([&] { return MemoryOfInit(id) == "0\n"; })) << MemoryOfInit(id);
  }
  ReloadWith("{zones: [numa-0]}", "{}");
  EXPECT_TRUE(Eventually([&] { return MemoryOfInit(before) == "0-1\n"; })) << MemoryOfInit(before);
}

// A v1 kernel moves processes so when the last CPU of their group goes.
TEST_F(PartitionTest, WhoWasMovedToTheGroupAboveIsBroughtBack) {
  if (Cgroups().layout() == linux::CgroupLayout::kV2) GTEST_SKIP() << "a v2 kernel moves nobody";
  const std::string pod = RunPod();
  const std::string id = Start(pod, Shell("sleep 1000"));
  const std::string group = CgroupOf(pod, id);
  const std::string above = group.substr(0, group.rfind('/'));
  const std::vector<pid_t> pids = *Cgroups().Processes(group, /*recursive=*/true);
  for (const pid_t pid : pids) {
    ASSERT_TRUE(Cgroups().WriteFile(above, "cpuset", "cgroup.procs", absl::StrCat(pid)).ok());
  }
  ASSERT_THAT(AllowedOfInit(id), HasSubstr(first())) << "it has left the partition";
  ReloadWith(absl::StrCat("{reserved: \"", first(), "\"}"),
             absl::StrCat("{list: \"", first(), "\"}"));
  EXPECT_TRUE(Eventually([&] { return AllowedOfInit(id) == first() + "\n"; })) << AllowedOfInit(id);
}

TEST_F(PartitionTest, AReloadThatDoesNotFitChangesNothing) {
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  const std::string before = AllowedIn(id);
  ReloadWith(absl::StrCat("{reserved: \"", first(), "\"}"), "{list: \"4000\"}");
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(node_.Log(), "nodeResources not reloaded");
  })) << node_.Log();
  EXPECT_EQ(AllowedIn(id), before);
  const cri::RuntimeCondition misfit = NodeResourcesCondition();
  EXPECT_FALSE(misfit.status());
  EXPECT_EQ(misfit.reason(), "LastGoodStays");
  EXPECT_THAT(misfit.message(), HasSubstr("cpus.list: CPUs 4000 are not there"));
  ReloadWith("{list: \"4000\"}", absl::StrCat("{list: \"", first(), "\"}"));
  EXPECT_TRUE(Eventually([&] { return NodeResourcesCondition().status(); }));
}

TEST_F(PartitionTest, ARestartKeepsItAndBringsItToThoseThatRun) {
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  node_.KillDaemon();
  const std::string path = node_.config_path().substr(1);
  ASSERT_TRUE(
      Host()
          .ReplaceFile(path, absl::StrReplaceAll(*Host().Read(path),
                                                 {{absl::StrCat("{reserved: \"", first(), "\"}"),
                                                   absl::StrCat("{list: \"", first(), "\"}")}}))
          .ok());
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(Eventually([&] { return AllowedIn(id) == first() + "\n"; })) << AllowedIn(id);
}

class RefusingPartitionTest : public PartitionTest {
 protected:
  RefusingPartitionTest() : PartitionTest("  outsidePartition: refuse\n") {}
};

TEST_F(RefusingPartitionTest, OutsideIsRefusedFromTheStart) {
  const std::string pod = RunPod();
  std::string id;
  const grpc::Status refused = TryCreate(pod, Pinned(both()), &id);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("(nodeResources)"));
  EXPECT_TRUE(TryCreate(pod, Pinned(last()), &id).ok());
}

class ClippingPartitionTest : public PartitionTest {
 protected:
  ClippingPartitionTest()
      : PartitionTest(absl::StrCat("  outsidePartition: clip\n", MetricsConfig())) {}
};

TEST_F(ClippingPartitionTest, OutsideIsClippedWhoeverHasTakenTheTopology) {
  cri::ResourceTopology topology;
  TopologyStream client(node_);
  ASSERT_TRUE(client.Next(&topology));
  // It counts as a client once the message has left.
  ASSERT_TRUE(Eventually([] {
    return absl::StrContains(ReadMetrics(), "\ncri_dynamic_runtime_config_responses_total 1\n");
  }));
  const std::string pod = RunPod();
  const std::string id = Start(pod, Pinned(both()));
  EXPECT_EQ(AllowedIn(id), last() + "\n");
  std::string other;
  const grpc::Status none = TryCreate(pod, Pinned(first()), &other);
  EXPECT_EQ(none.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << "nothing would be left";
}

// The gate stops the topology's publication, not its enforcement.
class GateOffPartitionTest : public PartitionTest {
 protected:
  GateOffPartitionTest()
      : PartitionTest("feature_gates: {KubeletResourceDiscoveryFromCRI: false}\n") {}
};

TEST_F(GateOffPartitionTest, ItIsEnforcedWhateverTheGateSays) {
  cri::ResourceTopology topology;
  TopologyStream stream(node_);
  ASSERT_FALSE(stream.Next(&topology));
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  const std::string pod = RunPod();
  EXPECT_THAT(AllowedIn(Start(pod, Shell("sleep 1000"))), ::testing::Not(HasSubstr(first())));
  EXPECT_EQ(AllowedIn(Start(pod, Pinned(both()))), last() + "\n");
}

// A reboot with fewer CPUs must not cost the node exec, stop and probes.
TEST_F(PartitionTest, ARestartWithOneThatDoesNotFitKeepsToWhatIsLeft) {
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  const std::string path = node_.config_path().substr(1);
  const std::string text = *Host().Read(path);
  const std::string was = absl::StrCat("{reserved: \"", first(), "\"}");
  const auto restart_with = [&](const std::string& cpus) {
    node_.KillDaemon();
    ASSERT_TRUE(Host().ReplaceFile(path, absl::StrReplaceAll(text, {{was, cpus}})).ok());
    ASSERT_TRUE(node_.StartDaemon().ok()) << node_.Log();
  };
  restart_with(absl::StrCat("{list: \"", first(), ",4000\"}"));
  EXPECT_TRUE(Eventually([&] { return AllowedIn(id) == first() + "\n"; })) << AllowedIn(id);
  cri::RuntimeCondition condition = NodeResourcesCondition();
  EXPECT_FALSE(condition.status());
  EXPECT_EQ(condition.reason(), "PartInForce");
  EXPECT_THAT(condition.message(), HasSubstr("cpus.list: CPUs 4000 are not there"));
  EXPECT_THAT(condition.message(), HasSubstr("the remaining CPUs " + first()));
  cri::ResourceTopology topology;
  EXPECT_TRUE(TopologyStream(node_).Next(&topology));
  // With nothing left no topology is published; running containers go on as before.
  restart_with("{list: \"4000\"}");
  condition = NodeResourcesCondition();
  EXPECT_EQ(condition.reason(), "NotTold");
  EXPECT_EQ(AllowedIn(id), first() + "\n");
  EXPECT_EQ(ExecOutput(Start(RunPod(), Shell("sleep 1000")), "echo here"), "here\n");
  TopologyStream stream(node_);
  EXPECT_FALSE(stream.Next(&topology));
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  // Then a reload is enough.
  ReloadWith("{list: \"4000\"}", absl::StrCat("{list: \"", last(), "\"}"));
  EXPECT_TRUE(Eventually([&] { return NodeResourcesCondition().status(); }));
  EXPECT_TRUE(Eventually([&] { return AllowedIn(id) == last() + "\n"; })) << AllowedIn(id);
}

}  // namespace
}  // namespace plimsoll::testing
