// Classes of rdt in a node, from a client's request to the kernel: plimsolld on resctrl's stand-in.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "harness/kernel.h"
#include "harness/metrics.h"
#include "harness/node.h"
#include "linux/resctrl.h"
#include "resctrlfs/classes_machine.h"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kClasses[] = R"(
partitions:
  exclusive:
    l3Allocation: 60%
    classes:
      gold: {kubernetes: {denyPodAnnotation: true}}
      silver: {l3Allocation: 50%}
  shared:
    l3Allocation: 40%
    classes:
      bronze: {}
)";

resctrlfs::Layout TwoMonitoredCaches() {
  resctrlfs::Layout layout;
  layout.caches[0].ids = {0, 1};
  layout.caches[0].closids = 6;
  layout.monitoring = resctrlfs::MonitoringLayout();
  layout.monitoring->ids = {0, 1};
  return layout;
}

constexpr char kMore[] =
    "    default: bronze\n    group_prefix: node.\n    annotations: [container, default]\n"
    "    capacity: {silver: 1}\n    adopt: true\n";

class RdtNodeTest : private resctrlfs::ClassesMachine, public NodeTest {
 protected:
  RdtNodeTest()
      : ClassesMachine(TwoMonitoredCaches(), kClasses),
        NodeTest(absl::StrCat(MetricsConfig(), ClassesConfig(kMore))) {}
  void SetUp() override {
    if (!why_not_.empty()) GTEST_SKIP() << why_not_;
    NodeTest::SetUp();
  }

  cri::ContainerConfig InClass(const std::string& name,
                               const std::string& script = "sleep 1000 & sleep 1001 & wait") {
    cri::ContainerConfig config = Shell(script);
    (*config.mutable_class_resources()->mutable_classes())["rdt"] = name;
    return config;
  }
  grpc::Status Assign(const std::string& container, const std::string& name) {
    cri::UpdateContainerResourcesRequest request;
    request.set_container_id(container);
    (*request.mutable_class_resources()->mutable_classes())["rdt"] = name;
    cri::UpdateContainerResourcesResponse response;
    grpc::ClientContext context;
    return node_.runtime().UpdateContainerResources(&context, request, &response);
  }
  std::string ClassOf(const std::string& container) {
    const auto classes = Status(container).class_resources().classes();
    const auto at = classes.find("rdt");
    return at == classes.end() ? "" : at->second;
  }
  std::string Verbose(const std::string& container) {
    cri::ContainerStatusRequest request;
    request.set_container_id(container);
    request.set_verbose(true);
    cri::ContainerStatusResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ContainerStatus(&context, request, &response).ok());
    return response.info().at("classes");
  }
  // The number of threads in the container, if all of them are in the group.
  size_t ThreadsIn(const std::string& pod, const std::string& container, const std::string& group) {
    const auto threads = Cgroups().Threads(CgroupOf(pod, container));
    const auto members = fs_->Threads(group);
    if (!threads.ok() || !members.ok()) return 0;
    const bool all =
        std::includes(members->begin(), members->end(), threads->begin(), threads->end());
    return all ? threads->size() : 0;
  }
  static std::string MonitorOf(const std::string& group, const std::string& container) {
    return linux::MonitoringGroupPath(group, absl::StrCat("plimsoll-", container));
  }
  bool HasGroup(const std::string& group) const { return fs_->HasGroup(group); }

  using ClassesMachine::fs_;
  using ClassesMachine::Lines;
  using ClassesMachine::resctrl_;
  using ClassesMachine::WriteClasses;
};

TEST_F(RdtNodeTest, AClassIsInForceForEverythingThatRuns) {
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("node.bronze", "node.gold", "node.silver"));
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("gold"));
  EXPECT_EQ(ClassOf(id), "gold");
  EXPECT_TRUE(Eventually([&] { return ThreadsIn(pod, id, "node.gold") >= 3; }));
  EXPECT_TRUE(Eventually([&] { return ThreadsIn(pod, id, MonitorOf("node.gold", id)) >= 3; }));
  // A process that a command leaves running is in the class from its first instruction on.
  ExecOutput(id, "sleep 1002 > /dev/null 2>&1 &");
  EXPECT_GE(ThreadsIn(pod, id, "node.gold"), 4u);
  // A change moves all threads.
  ASSERT_TRUE(Assign(id, "silver").ok());
  EXPECT_GE(ThreadsIn(pod, id, "node.silver"), 4u);
  EXPECT_THAT(*fs_->Threads("node.gold"), IsEmpty());
  EXPECT_FALSE(HasGroup(MonitorOf("node.gold", id)));
  ExecOutput(id, "sleep 1003 > /dev/null 2>&1 &");
  EXPECT_GE(ThreadsIn(pod, id, "node.silver"), 5u);
  const grpc::Status unknown = Assign(id, "tin");
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(unknown.error_message(), HasSubstr("\"bronze\", \"gold\", \"silver\""));
  std::string full;
  EXPECT_EQ(TryCreate(pod, InClass("silver"), &full).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  // The exit gives everything back.
  ASSERT_TRUE(StopContainer(id, 0).ok());
  EXPECT_TRUE(Eventually([&] { return !HasGroup(MonitorOf("node.silver", id)); }));
  EXPECT_TRUE(Eventually([&] { return TryCreate(pod, InClass("silver"), &full).ok(); }));
}

TEST_F(RdtNodeTest, AClassThatIsRefusedLeavesNothing) {
  const std::string pod = RunPod();
  ASSERT_TRUE(resctrl_->RefuseNext("write", "node.gold/tasks", EIO).ok());
  std::string id;
  const grpc::Status refused = TryCreate(pod, InClass("gold"), &id);
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(refused.error_message(), HasSubstr("class \"gold\" of type \"rdt\""));
  EXPECT_THAT(*fs_->MonitoringGroups("node.gold"), IsEmpty());
  cri::ListContainersResponse list;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().ListContainers(&context, cri::ListContainersRequest(), &list).ok());
  EXPECT_EQ(list.containers_size(), 0);
}

TEST_F(RdtNodeTest, ClassesComeFromAnnotationsAsTheFileAllows) {
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_annotations())["rdt.resources.beta.kubernetes.io/pod"] = "silver";
  const std::string pod = RunPod(config);
  const std::string id = Start(pod, Shell("sleep 1000"));
  EXPECT_EQ(ClassOf(id), "silver");
  EXPECT_GE(ThreadsIn(pod, id, "node.silver"), 1u);
  cri::ContainerConfig own = Shell("sleep 1000");
  (*own.mutable_annotations())["io.kubernetes.cri.rdt-class"] = "gold";
  const std::string gold = Start(pod, own);
  EXPECT_EQ(ClassOf(gold), "gold");
  EXPECT_GE(ThreadsIn(pod, gold, "node.gold"), 1u);
  // The class file permits nobody to take gold by a pod's annotation.
  cri::PodSandboxConfig greedy = PodConfig();
  (*greedy.mutable_annotations())["rdt.resources.beta.kubernetes.io/pod"] = "gold";
  const std::string other = RunPod(greedy);
  std::string refused;
  const grpc::Status status = TryCreate(other, Shell("sleep 1000"), &refused);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("denyPodAnnotation"));
  // A container that names no class has the default.
  const std::string plain = RunPod();
  const std::string unnamed = Start(plain, Shell("sleep 1000"));
  EXPECT_EQ(ClassOf(unnamed), "bronze");
  EXPECT_GE(ThreadsIn(plain, unnamed, "node.bronze"), 1u);
  // The root group has a name of its own, and an empty name is the default class's.
  ASSERT_TRUE(Assign(unnamed, "system/default").ok());
  EXPECT_EQ(ClassOf(unnamed), "system/default");
  EXPECT_GE(ThreadsIn(plain, unnamed, MonitorOf("", unnamed)), 1u);
  ASSERT_TRUE(Assign(unnamed, "").ok());
  EXPECT_EQ(ClassOf(unnamed), "bronze");
  EXPECT_GE(ThreadsIn(plain, unnamed, "node.bronze"), 1u);
}

TEST_F(RdtNodeTest, WhatIsMeasuredAndWhatDriftsIsInTheMetrics) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("gold"));
  ASSERT_TRUE(resctrl_->SetCounter(MonitorOf("node.gold", id), 0, "llc_occupancy", 4096).ok());
  ASSERT_TRUE(resctrl_->SetCounter("node.gold", 1, "mbm_total_bytes", 7).ok());
  const std::string text = ReadMetrics();
  for (const std::string& line :
       {absl::StrCat(R"(plimsoll_class_llc_occupancy_bytes{type="rdt",class="gold",id=")", id,
                     R"("} 4096)"),
        std::string(R"(plimsoll_class_mbm_total_bytes{type="rdt",class="gold"} 7)"),
        std::string(R"(plimsoll_class_holders{level="container",type="rdt",class="gold"} 1)"),
        std::string(R"(plimsoll_class_capacity{level="container",type="rdt",class="silver"} 1)"),
        std::string(R"(plimsoll_class_drift{level="container",type="rdt",class="gold"} 0)")}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(Verbose(id), Not(HasSubstr("drift")));
  // Somebody moves a thread elsewhere. (A thread moved within a second of a change is moved back.)
  const auto move_away = [&] {
    const std::vector<pid_t> threads = *Cgroups().Threads(CgroupOf(pod, id));
    return fs_->OpenTasks("")->Add(threads.back()).ok();
  };
  EXPECT_TRUE(Eventually([&] {
    return move_away() &&
           absl::StrContains(
               ReadMetrics(),
               R"(plimsoll_class_drift{level="container",type="rdt",class="gold"} 1)");
  }));
  EXPECT_TRUE(Eventually(
      [&] { return move_away() && absl::StrContains(Verbose(id), "is in resctrl's root group"); }));
  EXPECT_EQ(ClassOf(id), "gold");
}

TEST_F(RdtNodeTest, ARestartChangesNothing) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("gold"));
  EXPECT_TRUE(Eventually([&] { return ThreadsIn(pod, id, MonitorOf("node.gold", id)) >= 3; }));
  node_.KillDaemon();
  EXPECT_GE(ThreadsIn(pod, id, MonitorOf("node.gold", id)), 3u);
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(ClassOf(id), "gold");
  EXPECT_GE(ThreadsIn(pod, id, MonitorOf("node.gold", id)), 3u);
  EXPECT_THAT(Verbose(id), Not(HasSubstr("drift")));
  ASSERT_TRUE(resctrl_->SetCounter(MonitorOf("node.gold", id), 0, "llc_occupancy", 4096).ok());
  EXPECT_THAT(ReadMetrics(), HasSubstr(absl::StrCat("id=\"", id, "\"} 4096")));
  ExecOutput(id, "sleep 1002 > /dev/null 2>&1 &");
  EXPECT_GE(ThreadsIn(pod, id, "node.gold"), 4u);
  EXPECT_TRUE(Eventually([&] { return ThreadsIn(pod, id, MonitorOf("node.gold", id)) >= 4; }));
  ASSERT_TRUE(Assign(id, "bronze").ok());
  EXPECT_GE(ThreadsIn(pod, id, MonitorOf("node.bronze", id)), 4u);
}

// Commands enter all the time while the class changes: processes that they leave running end up in
// the container's last class.
TEST_F(RdtNodeTest, CommandsThatEnterDuringAHundredChangesStayInTheClass) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("gold"));
  std::atomic<bool> done = false;
  std::thread entering([&] {
    for (int i = 0; i < 60 && !done; ++i) ExecOutput(id, "sleep 1002 > /dev/null 2>&1 &");
  });
  const absl::Time end = absl::Now() + absl::Seconds(40);  // on a very busy machine fewer
  std::string name = "gold";
  for (int i = 0; i < 100 && absl::Now() < end; ++i) {
    name = name == "gold" ? "bronze" : "gold";
    const grpc::Status changed = Assign(id, name);
    ASSERT_TRUE(changed.ok()) << changed.error_message();
  }
  done = true;
  entering.join();
  EXPECT_TRUE(Eventually([&] { return ThreadsIn(pod, id, "node." + name) >= 4; })) << Verbose(id);
  EXPECT_TRUE(Eventually([&] { return ThreadsIn(pod, id, MonitorOf("node." + name, id)) >= 4; }));
  EXPECT_THAT(*fs_->Threads(name == "gold" ? "node.bronze" : "node.gold"), IsEmpty());
}

// The daemon is killed in the middle of a change, with the container frozen for it: the next start
// thaws it and puts it into its class.
TEST_F(RdtNodeTest, AChangeThatIsCutOffIsFinishedAndRuns) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("gold"));
  const std::string group = CgroupOf(pod, id);
  const bool v2 = Cgroups().layout() == linux::CgroupLayout::kV2;
  bool frozen = false;
  // On a busy machine it may not freeze within 20 ms, and is moved running.
  for (int i = 0; i < 20 && !frozen; ++i) {
    ASSERT_TRUE(resctrl_->StopBeforeNext("write", "node.silver/tasks").ok());
    std::thread change([&] { Assign(id, "silver"); });
    ASSERT_TRUE(Eventually([&] {
      const auto stand_in = Host().Read(absl::StrCat("proc/", resctrl_->pid(), "/stat"));
      return stand_in.ok() && absl::StrContains(*stand_in, ") T ");  // it has stopped
    }));
    const auto state = Cgroups().ReadFile(group, "freezer", v2 ? "cgroup.freeze" : "freezer.state");
    frozen = state.ok() && (*state == "FROZEN" || *state == "1");
    // The daemon dies as soon as the write for which it waits returns.
    ASSERT_EQ(kill(node_.daemon_pid(), SIGKILL), 0);
    ASSERT_EQ(kill(resctrl_->pid(), SIGCONT), 0);
    node_.KillDaemon();
    change.join();
    const auto left = Cgroups().ReadFile(group, "freezer", v2 ? "cgroup.freeze" : "freezer.state");
    EXPECT_EQ(*left, *state) << "nobody was there to thaw it";
    ASSERT_TRUE(node_.StartDaemon().ok());
    EXPECT_EQ(ClassOf(id), "silver");
    EXPECT_EQ(ExecOutput(id, "echo alive"), "alive\n");
    EXPECT_GE(ThreadsIn(pod, id, "node.silver"), 3u);
    EXPECT_TRUE(Eventually([&] { return !absl::StrContains(Verbose(id), "drift"); }));
    ASSERT_TRUE(Assign(id, "gold").ok());
  }
  if (!frozen) GTEST_SKIP() << "this machine is too busy to freeze three processes within 20 ms";
}

TEST_F(RdtNodeTest, ASignalReloadsTheClasses) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("gold"));
  WriteClasses(
      "partitions: {p: {l3Allocation: 100%, classes: {gold: {l3Allocation: 30%}, tin: , silver: , "
      "bronze: }}}");
  const auto ask = [&] { return kill(node_.daemon_pid(), SIGHUP) == 0; };
  ASSERT_TRUE(ask());
  ASSERT_TRUE(Eventually([&] { return HasGroup("node.tin"); }));
  EXPECT_EQ(Lines("node.gold"), "L3:0=3f;1=3f\n");
  EXPECT_GE(ThreadsIn(pod, id, "node.gold"), 1u);
  ASSERT_TRUE(Assign(id, "tin").ok());
  // A file that lacks a held class changes nothing.
  WriteClasses("partitions: {p: {l3Allocation: 100%, classes: {gold: , silver: , bronze: }}}");
  ASSERT_TRUE(ask());
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(node_.Log(), "class \\\"tin\\\" of type \\\"rdt\\\"") ||
           absl::StrContains(node_.Log(), "is held by container");
  }));
  EXPECT_TRUE(HasGroup("node.tin"));
  EXPECT_EQ(Lines("node.gold"), "L3:0=3f;1=3f\n");
}

// Even if the kernel then refuses the values.
TEST_F(RdtNodeTest, TheLogWarnsBeforeAnythingIsWritten) {
  ASSERT_TRUE(resctrl_->RefuseNext("write", "node.gold/schemata", EINVAL).ok());
  WriteClasses(
      "partitions: {p: {l3Allocation: 60%, classes: {gold: {l3Allocation: 13%}, silver: , bronze: "
      "}}}");
  ASSERT_EQ(kill(node_.daemon_pid(), SIGHUP), 0);
  ASSERT_TRUE(Eventually([&] { return absl::StrContains(node_.Log(), "classes not reloaded"); }));
  const std::string log = node_.Log();
  const size_t warned = log.find("class gold: L3 of caches 0-1: 13.0% asked");
  ASSERT_NE(warned, std::string::npos) << log;
  EXPECT_LT(warned, log.find("classes not reloaded"));
  EXPECT_EQ(Lines("node.gold"), "L3:0=fff;1=fff\n");
}

TEST_F(RdtNodeTest, AnAdministratorsGroupIsAClassAndStaysHis) {
  ASSERT_TRUE(node_.StopDaemon().ok());
  ASSERT_TRUE(fs_->MakeGroup("admins").ok());
  ASSERT_TRUE(fs_->WriteSchemata("admins", {{"L3", {{0, 0x3}}}}).ok());
  ASSERT_TRUE(node_.StartDaemon().ok());
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("admins"));
  EXPECT_EQ(ClassOf(id), "admins");
  EXPECT_GE(ThreadsIn(pod, id, MonitorOf("admins", id)), 1u);
  ASSERT_TRUE(StopContainer(id, 0).ok());
  EXPECT_TRUE(Eventually([&] { return !HasGroup(MonitorOf("admins", id)); }));
  WriteClasses("");
  ASSERT_EQ(kill(node_.daemon_pid(), SIGHUP), 0);
  EXPECT_FALSE(Eventually([&] { return !HasGroup("node.bronze"); }, absl::Milliseconds(300)))
      << "it is the default class, which must be in the file";
  EXPECT_EQ(Lines("admins"), "L3:0=3;1=fffff\n");
}

}  // namespace
}  // namespace plimsoll::testing
