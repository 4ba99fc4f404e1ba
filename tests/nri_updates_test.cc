// Updates and evictions of containers by plugins of the Node Resource Interface.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "classes_fixture.h"
#include "gmock/gmock.h"
#include "harness/cgroup_layout.h"
#include "harness/kernel.h"
#include "harness/nri.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

// Ends on SIGTERM.
constexpr char kPolite[] = "trap 'exit 0' TERM; while :; do sleep 0.1; done";

class NriUpdatesTest : public NriTest {
 protected:
  int64_t SharesOf(const std::string& pod, const std::string& container) {
    return static_cast<int64_t>(Cgroups().Read(CgroupOf(pod, container))->cpu_shares.value_or(0));
  }
  static bool Holds(int64_t shares, uint64_t asked) {
    return HoldsShares(static_cast<uint64_t>(shares), asked);
  }
};

TEST_F(NriUpdatesTest, AnAnswerToACreationUpdatesAnotherContainer) {
  const std::string pod = RunPod();
  const std::string other = Start(pod, Shell("sleep 1000"));
  TestPlugin plugin("10", "balancer");
  plugin.On(&TestPlugin::create, [&](const napi::CreateContainerRequest&) {
    napi::CreateContainerResponse response;
    *response.add_update() = SharesUpdate(other, 512);
    return response;
  });
  Join(plugin);
  Start(pod, Shell("sleep 1000"));
  EXPECT_TRUE(Holds(SharesOf(pod, other), 512)) << SharesOf(pod, other);
}

TEST_F(NriUpdatesTest, AnAnswerToAnUpdateChangesItAndOthers) {
  const std::string pod = RunPod();
  const std::string updated = Start(pod, Shell("sleep 1000"));
  const std::string other = Start(pod, Shell("sleep 1000"));
  TestPlugin plugin("10", "balancer");
  plugin.On(&TestPlugin::update, [&](const napi::UpdateContainerRequest& request) {
    EXPECT_EQ(request.linux_resources().cpu().shares().value(), 2000u);
    napi::UpdateContainerResponse response;
    *response.add_update() = SharesUpdate(updated, 700);
    *response.add_update() = SharesUpdate(other, 300);
    return response;
  });
  Join(plugin);
  ASSERT_TRUE(UpdateShares(updated, 2000).ok());
  EXPECT_TRUE(Holds(SharesOf(pod, updated), 700)) << SharesOf(pod, updated);
  EXPECT_TRUE(Holds(SharesOf(pod, other), 300)) << SharesOf(pod, other);
}

TEST_F(NriUpdatesTest, AnAnswerToAStopUpdatesOthers) {
  const std::string pod = RunPod();
  const std::string stopped = Start(pod, Shell("sleep 1000"));
  const std::string other = Start(pod, Shell("sleep 1000"));
  TestPlugin plugin("10", "balancer");
  plugin.On(&TestPlugin::stop, [&](const napi::StopContainerRequest&) {
    napi::StopContainerResponse response;
    *response.add_update() = SharesUpdate(other, 900);
    return response;
  });
  Join(plugin);
  ASSERT_TRUE(StopContainer(stopped, 0).ok());
  EXPECT_TRUE(Eventually([&] { return Holds(SharesOf(pod, other), 900); })) << SharesOf(pod, other);
}

// A deadlock in other runtimes: the runtime waits for the hook, the hook for the update.
TEST_F(NriUpdatesTest, APluginUpdatesContainersWithinAHook) {
  const std::string pod = RunPod();
  const std::string other = Start(pod, Shell("sleep 1000"));
  TestPlugin plugin("10", "impatient");
  int failed = -1;
  plugin.On(&TestPlugin::create, [&](const napi::CreateContainerRequest&) {
    const auto answer = plugin.session().UpdateContainers({SharesUpdate(other, 512)}, {});
    EXPECT_TRUE(answer.ok()) << answer.status();
    if (answer.ok()) failed = static_cast<int>(answer->size());
    return napi::CreateContainerResponse();
  });
  Join(plugin);
  const std::string container = Start(pod, Shell("sleep 1000"));
  EXPECT_FALSE(container.empty());
  EXPECT_EQ(failed, 0);
  EXPECT_TRUE(Holds(SharesOf(pod, other), 512)) << SharesOf(pod, other);
}

// Within the hook of its own creation, a container isn't there yet: the update is kept.
TEST_F(NriUpdatesTest, AnUpdateOfTheContainerInTheMakingIsMadeOnceItIsThere) {
  const std::string pod = RunPod();
  TestPlugin plugin("10", "impatient");
  plugin.On(&TestPlugin::create, [&](const napi::CreateContainerRequest& request) {
    const auto answer =
        plugin.session().UpdateContainers({SharesUpdate(request.container().id(), 512)}, {});
    EXPECT_TRUE(answer.ok()) << answer.status();
    return napi::CreateContainerResponse();
  });
  Join(plugin);
  const std::string container = Start(pod, Shell("sleep 1000"));
  EXPECT_TRUE(Eventually([&] { return Holds(SharesOf(pod, container), 512); }))
      << SharesOf(pod, container);
}

TEST_F(NriUpdatesTest, AnUpdateAtAnyTimeIsMadeOrNamedAsFailed) {
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  TestPlugin plugin("10", "free");
  Join(plugin);
  napi::ContainerUpdate wrong = SharesUpdate(container, 1);
  const auto answer = plugin.session().UpdateContainers(
      {SharesUpdate(container, 512), SharesUpdate("0123456789abcdef", 512), wrong}, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  std::vector<std::string> failed;
  for (const napi::ContainerUpdate& each : *answer) failed.push_back(each.container_id());
  EXPECT_THAT(failed, ::testing::UnorderedElementsAre("0123456789abcdef", container));
  EXPECT_TRUE(Holds(SharesOf(pod, container), 512)) << SharesOf(pod, container);
  // No other plugin is asked about it, and this one neither.
  EXPECT_EQ(plugin.Count("UpdateContainer"), 0);
}

TEST_F(NriUpdatesTest, AnUpdateThatMayFailFailsNothing) {
  const std::string pod = RunPod();
  const std::string other = Create(pod, Shell("sleep 1000"));
  TestPlugin plugin("10", "careless");
  napi::ContainerUpdate update = SharesUpdate("0123456789abcdef", 512);
  plugin.On(&TestPlugin::create, [&](const napi::CreateContainerRequest&) {
    napi::CreateContainerResponse response;
    *response.add_update() = update;
    return response;
  });
  Join(plugin);
  // An update of a removed container, without saying that it may fail.
  EXPECT_FALSE(Create(pod, Shell("sleep 1000")).empty());
  update.set_container_id(other);
  update.mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus("4000");
  update.set_ignore_failure(true);
  EXPECT_FALSE(Create(pod, Shell("sleep 1000")).empty());
  update.set_ignore_failure(false);
  std::string id;
  const grpc::Status refused = TryCreate(pod, Shell("sleep 1000"), &id);
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(refused.error_message(), HasSubstr("10-careless"));
  EXPECT_THAT(refused.error_message(), HasSubstr(other));
}

TEST_F(NriUpdatesTest, APluginEvicts) {
  const std::string pod = RunPod();
  const std::string victim = Start(pod, Shell(kPolite));
  TestPlugin plugin("10", "judge");
  Join(plugin);
  napi::ContainerEviction eviction;
  eviction.set_container_id(victim);
  eviction.set_reason("it eats too much");
  ASSERT_TRUE(plugin.session().UpdateContainers({}, {eviction}).ok());
  const cri::ContainerStatus status = AwaitExit(victim);
  EXPECT_EQ(status.state(), cri::CONTAINER_EXITED);
  ASSERT_TRUE(plugin.Await("StopContainer"));
  EXPECT_EQ(plugin.Last("StopContainer").container.id(), victim);
}

TEST_F(NriUpdatesTest, AnAnswerEvicts) {
  const std::string pod = RunPod();
  const std::string victim = Start(pod, Shell(kPolite));
  TestPlugin plugin("10", "judge");
  plugin.On(&TestPlugin::create, [&](const napi::CreateContainerRequest&) {
    napi::CreateContainerResponse response;
    napi::ContainerEviction* eviction = response.add_evict();
    eviction->set_container_id(victim);
    eviction->set_reason("room for another");
    return response;
  });
  Join(plugin);
  const std::string other = Start(pod, Shell("sleep 1000"));
  EXPECT_EQ(AwaitExit(victim).state(), cri::CONTAINER_EXITED);
  EXPECT_EQ(Status(other).state(), cri::CONTAINER_RUNNING);
}

TEST_F(NriUpdatesTest, WhatAPluginUpdatesIsOnRecordWithItsName) {
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  TestPlugin plugin("10", "free");
  Join(plugin);
  ASSERT_TRUE(plugin.session().UpdateContainers({SharesUpdate(container, 512)}, {}).ok());
  cri::ContainerStatusRequest request;
  request.set_container_id(container);
  request.set_verbose(true);
  cri::ContainerStatusResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().ContainerStatus(&context, request, &response).ok());
  EXPECT_THAT(response.info().at("info"), HasSubstr("linux.resources.cpu.shares"));
  EXPECT_THAT(response.info().at("info"), HasSubstr("10-free"));
}

// In today's runtimes a plugin's classes are dropped.
class NriClassesTest : public ClassesTest {
 protected:
  NriClassesTest() : ClassesTest("nri: {plugin_dir: \"\"}\n") {}
  void Join(TestPlugin& plugin) {
    ASSERT_TRUE(plugin.Connect(node_.run_directory() + "/nri/nri.sock").ok());
    ASSERT_TRUE(plugin.Await("Synchronize"));
  }
  static napi::ContainerUpdate ToClass(const std::string& container, const std::string& name) {
    napi::ContainerUpdate update;
    update.set_container_id(container);
    update.mutable_linux()->mutable_resources()->mutable_blockio_class()->set_value(name);
    return update;
  }
};

TEST_F(NriClassesTest, AClassByAdjustmentIsInForce) {
  TestPlugin plugin("10", "assigner");
  napi::ContainerAdjustment adjustment;
  adjustment.mutable_linux()->mutable_resources()->mutable_blockio_class()->set_value("slow");
  plugin.Adjust(adjustment);
  Join(plugin);
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  EXPECT_EQ(ClassOf(container), "slow");
  EXPECT_THAT(ThrottleOf(CgroupOf(pod, container)), HasSubstr("1048576"));
  EXPECT_EQ(plugin.Last("StartContainer").container.linux().resources().blockio_class().value(),
            "slow");
}

TEST_F(NriClassesTest, AClassByUpdateIsInForce) {
  const std::string pod = RunPod();
  const std::string container = Start(pod, InClass("free"));
  TestPlugin plugin("10", "assigner");
  Join(plugin);
  const auto answer = plugin.session().UpdateContainers({ToClass(container, "slow")}, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(answer->empty());
  EXPECT_EQ(ClassOf(container), "slow");
  EXPECT_THAT(ThrottleOf(CgroupOf(pod, container)), HasSubstr("1048576"));
  // A class that isn't there is a failed update, and the old one stays.
  const auto refused = plugin.session().UpdateContainers({ToClass(container, "none-such")}, {});
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(refused->size(), 1u);
  EXPECT_EQ(ClassOf(container), "slow");
}

TEST_F(NriClassesTest, AClassThatIsNotThereFailsTheCreationByName) {
  TestPlugin plugin("10", "assigner");
  napi::ContainerAdjustment adjustment;
  adjustment.mutable_linux()->mutable_resources()->mutable_blockio_class()->set_value("none-such");
  plugin.Adjust(adjustment);
  Join(plugin);
  std::string id;
  const grpc::Status refused = TryCreate(RunPod(), Shell("true"), &id);
  EXPECT_EQ(refused.error_code(), grpc::NOT_FOUND) << refused.error_message();
  EXPECT_THAT(refused.error_message(), HasSubstr("none-such"));
  EXPECT_THAT(refused.error_message(), HasSubstr("10-assigner"));
}

}  // namespace
}  // namespace plimsoll::testing
