// Changes that plugins make: to new containers, in answers, and unasked.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nri/nri_fixture_for_test.h"

namespace plimsoll::nri {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

api::ContainerUpdate SharesOf(const std::string& id, uint64_t shares, bool ignore_failure = false) {
  api::ContainerUpdate update;
  update.set_container_id(id);
  update.mutable_linux()->mutable_resources()->mutable_cpu()->mutable_shares()->set_value(shares);
  update.set_ignore_failure(ignore_failure);
  return update;
}

class NriChangesTest : public NriFixture {
 protected:
  // A plugin, a pod and a running container.
  void StartWithContainer() {
    Start();
    plugin_ = &Join("10-a");
    ASSERT_EQ(RunPod("p1"), absl::OkStatus());
    ASSERT_EQ(Create("p1", "c1"), absl::OkStatus());
    ASSERT_EQ(StartContainer("c1"), absl::OkStatus());
  }
  void AnswerCreateWith(const api::ContainerUpdate& update) {
    plugin_->on_create = [update](const api::CreateContainerRequest&) {
      api::CreateContainerResponse response;
      *response.add_update() = update;
      return response;
    };
  }
  std::vector<std::string> UpdatedIds() const {
    std::vector<std::string> ids;
    for (const FakeEngine::Asked& asked : engine_.updates()) ids.push_back(asked.id);
    return ids;
  }

  TestPlugin* plugin_ = nullptr;
};

TEST_F(NriChangesTest, LaterPluginsSeeWhatEarlierOnesChanged) {
  Start();
  Join("10-a").on_create = [](const api::CreateContainerRequest&) {
    api::CreateContainerResponse response;
    auto* env = response.mutable_adjust()->add_env();
    env->set_key("FIRST");
    env->set_value("1");
    return response;
  };
  std::vector<std::string> seen;
  Join("20-b").on_create = [&](const api::CreateContainerRequest& request) {
    seen.assign(request.container().env().begin(), request.container().env().end());
    api::CreateContainerResponse response;
    (*response.mutable_adjust()->mutable_annotations())["io.example/b"] = "yes";
    return response;
  };
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  const auto making = nri_->Making("c1");
  const auto spec = nri_->CreateContainer(Pod("p1"), Container("p1", "c1"));
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(seen, Contains("FIRST=1"));
  EXPECT_THAT(spec->environment, Contains(std::pair<std::string, std::string>("FIRST", "1")));
  ASSERT_EQ(spec->changed_by.size(), 2u);
  EXPECT_EQ(ReportOf("10-a").adjusted_containers, 1u);
  EXPECT_EQ(ReportOf("20-b").adjusted_containers, 1u);
}

TEST_F(NriChangesTest, TwoPluginsThatSetOneFieldFailTheCreation) {
  Start();
  for (const char* name : {"10-a", "20-b"}) {
    Join(name).on_create = [](const api::CreateContainerRequest&) {
      api::CreateContainerResponse response;
      response.mutable_adjust()->mutable_linux()->mutable_oom_score_adj()->set_value(5);
      return response;
    };
  }
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  const absl::Status status = Create("p1", "c1");
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
  EXPECT_THAT(status.message(), HasSubstr("10-a"));
  EXPECT_THAT(status.message(), HasSubstr("20-b"));
  EXPECT_EQ(log_.Count("20-b RemoveContainer c1"), 1u);
}

TEST_F(NriChangesTest, UpdatesOfOthersInAnAnswerAreMadeBeforeTheContainer) {
  StartWithContainer();
  AnswerCreateWith(SharesOf("c1", 512));
  ASSERT_EQ(Create("p1", "c2",
                   [&] {
                     EXPECT_THAT(UpdatedIds(), ElementsAre("c1"));
                     return absl::OkStatus();
                   }),
            absl::OkStatus());
  ASSERT_THAT(engine_.updates(), ::testing::SizeIs(1));
  EXPECT_EQ(engine_.updates()[0].update.cgroup.cpu_shares, 512u);
  ASSERT_EQ(engine_.updates()[0].update.changed_by.size(), 1u);
  EXPECT_EQ(engine_.updates()[0].update.changed_by[0].plugin, "10-a");
  EXPECT_EQ(ReportOf("10-a").updated_containers, 1u);
}

TEST_F(NriChangesTest, AFailedUpdateOfAnotherFailsTheCallUnlessItMayFail) {
  StartWithContainer();
  engine_.on_update = [](const std::string&) { return absl::InternalError("kernel says no"); };
  AnswerCreateWith(SharesOf("c1", 512));
  const absl::Status failed = Create("p1", "c2");
  EXPECT_EQ(failed.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(failed.message(), HasSubstr("\"10-a\""));
  EXPECT_THAT(failed.message(), HasSubstr("\"c1\""));
  EXPECT_THAT(failed.message(), HasSubstr("kernel says no"));
  EXPECT_FALSE(IsTold("kernel says no"));
  AnswerCreateWith(SharesOf("c1", 512, /*ignore_failure=*/true));
  EXPECT_EQ(Create("p1", "c2"), absl::OkStatus());
  EXPECT_TRUE(WasTold("kernel says no"));
}

// Pools of CPUs are updated whole, and some of their containers end at that moment.
TEST_F(NriChangesTest, AnUpdateOfAContainerThatHasEndedMayFail) {
  StartWithContainer();
  runtime::ContainerRecord ended = *engine_.GetContainer("c1");
  engine_.on_update = [&](const std::string&) {
    ended.state = runtime::ContainerState::kExited;
    engine_.PutContainer(ended);
    return absl::FailedPreconditionError("it has just ended");
  };
  AnswerCreateWith(SharesOf("c1", 512));
  EXPECT_EQ(Create("p1", "c2"), absl::OkStatus());
  EXPECT_TRUE(WasTold("it has just ended"));
  AnswerCreateWith(SharesOf("unknown", 512));
  engine_.on_update = [](const std::string&) { return absl::NotFoundError("no such container"); };
  EXPECT_EQ(Create("p1", "c3"), absl::OkStatus());
  AnswerCreateWith(SharesOf(std::string(5000, 'x'), 512));
  EXPECT_EQ(Create("p1", "c4"), absl::OkStatus());
  EXPECT_TRUE(WasTold("container_id has 5000 bytes"));
}

TEST_F(NriChangesTest, AnUpdateOfAContainerInTheMakingIsKeptUntilItIsVisible) {
  StartWithContainer();
  const auto make = [&] {
    AnswerCreateWith(SharesOf("c2", 300));
    // In the answer to another creation, and by the plugin itself.
    EXPECT_EQ(Create("p1", "c3"), absl::OkStatus());
    EXPECT_THAT(*plugin_->session->UpdateContainers({SharesOf("c2", 400)}, {}), IsEmpty());
    EXPECT_THAT(UpdatedIds(), IsEmpty());
    return absl::OkStatus();
  };
  ASSERT_EQ(Create("p1", "c2", make), absl::OkStatus());
  EXPECT_TRUE(WaitUntil([&] { return UpdatedIds() == std::vector<std::string>{"c2", "c2"}; }));
  EXPECT_EQ(engine_.updates()[1].update.cgroup.cpu_shares, 400u);
}

TEST_F(NriChangesTest, UpdatesKeptForAnUndoneCreationAreDropped) {
  StartWithContainer();
  EXPECT_FALSE(Create("p1", "c2", [&] {
                 EXPECT_THAT(*plugin_->session->UpdateContainers({SharesOf("c2", 400)}, {}),
                             IsEmpty());
                 return absl::InternalError("crun failed");
               }).ok());
  ASSERT_EQ(Create("p1", "c2"), absl::OkStatus());
  Flush();
  EXPECT_THAT(UpdatedIds(), IsEmpty());
}

TEST_F(NriChangesTest, APluginMayUpdateWhileAHookWaitsForIt) {
  StartWithContainer();
  plugin_->on_create =
      [&](const api::CreateContainerRequest&) -> absl::StatusOr<api::CreateContainerResponse> {
    const auto failed = plugin_->session->UpdateContainers({SharesOf("c1", 700)}, {});
    if (!failed.ok()) return failed.status();
    return api::CreateContainerResponse();
  };
  EXPECT_EQ(Create("p1", "c2"), absl::OkStatus());
  EXPECT_THAT(UpdatedIds(), ElementsAre("c1"));
}

TEST_F(NriChangesTest, UnaskedUpdatesReturnThoseThatFailed) {
  StartWithContainer();
  const auto failed = plugin_->session->UpdateContainers(
      {SharesOf("c1", 10), SharesOf("gone", 20), SharesOf("gone too", 30, true), SharesOf("", 40)},
      {});
  ASSERT_TRUE(failed.ok()) << failed.status();
  ASSERT_THAT(*failed, ::testing::SizeIs(2));
  EXPECT_EQ((*failed)[0].container_id(), "gone");
  EXPECT_EQ((*failed)[1].container_id(), "");
  EXPECT_THAT(UpdatedIds(), ElementsAre("c1"));
  EXPECT_TRUE(WasTold("3 of 4 updates failed; the first: "));
}

TEST_F(NriChangesTest, AClientsUpdateIsMadeAsPluginsWantIt) {
  StartWithContainer();
  TestPlugin& second = Join("20-b");
  plugin_->on_update = [](const api::UpdateContainerRequest& request) {
    api::UpdateContainerResponse response;
    *response.add_update() = SharesOf("c1", request.linux_resources().cpu().shares().value() * 2);
    return response;
  };
  uint64_t seen = 0;
  second.on_update = [&](const api::UpdateContainerRequest& request) {
    seen = request.linux_resources().cpu().shares().value();
    api::UpdateContainerResponse response;
    auto* update = response.add_update();
    update->set_container_id("c1");
    update->mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus("0");
    return response;
  };
  runtime::ResourceUpdate update;
  update.cgroup.cpu_shares = 100;
  ASSERT_EQ(Update("c1", update), absl::OkStatus());
  EXPECT_EQ(seen, 200u);
  ASSERT_EQ(applied_.size(), 1u);
  EXPECT_EQ(applied_[0].cgroup.cpu_shares, 200u);
  EXPECT_EQ(applied_[0].cgroup.cpuset_cpus, "0");
  ASSERT_EQ(applied_[0].changed_by.size(), 2u);
  EXPECT_EQ(log_.Count("20-b PostUpdateContainer c1"), 1u);
}

TEST_F(NriChangesTest, AFailedUpdateOfTheClientIsNotToldAsDone) {
  StartWithContainer();
  apply_result_ = absl::InvalidArgumentError("no such CPU");
  EXPECT_EQ(Update("c1", {}), apply_result_);
  EXPECT_EQ(log_.Count("10-a PostUpdateContainer c1"), 0u);
  plugin_->on_update = [](const api::UpdateContainerRequest&) {
    return absl::ResourceExhaustedError("no CPU is left");
  };
  EXPECT_THAT(Update("c1", {}).message(), HasSubstr("no CPU is left"));
  EXPECT_EQ(applied_.size(), 1u) << "what a plugin refuses is not made";
}

TEST_F(NriChangesTest, UpdatesInTheAnswerToAStopAreMade) {
  StartWithContainer();
  ASSERT_EQ(Create("p1", "c2"), absl::OkStatus());
  plugin_->on_stop = [](const api::StopContainerRequest&) {
    api::StopContainerResponse response;
    *response.add_update() = SharesOf("c2", 900);
    *response.add_update() = SharesOf("gone", 2);
    return response;
  };
  Exit("c1");
  Flush();
  EXPECT_THAT(UpdatedIds(), ElementsAre("c2"))
      << absl::StrJoin(log_.calls(), "\n") << absl::StrJoin(told_.calls(), "\n");
  EXPECT_TRUE(WasTold("\"gone\""));
}

TEST_F(NriChangesTest, AnUpdateThatTwoPluginsHaveAPartInNamesBoth) {
  StartWithContainer();
  ASSERT_EQ(Create("p1", "c2"), absl::OkStatus());
  plugin_->on_stop = [](const api::StopContainerRequest&) {
    api::StopContainerResponse response;
    *response.add_update() = SharesOf("c2", 900);
    return response;
  };
  Join("20-b").on_stop = [](const api::StopContainerRequest&) {
    api::StopContainerResponse response;
    auto* update = response.add_update();
    update->set_container_id("c2");
    update->mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus("0");
    return response;
  };
  Exit("c1");
  Flush();
  ASSERT_THAT(engine_.updates(), ::testing::SizeIs(1));
  const std::vector<runtime::PluginChange> changes = engine_.updates()[0].update.changed_by;
  ASSERT_THAT(changes, ::testing::SizeIs(2));
  EXPECT_EQ(changes[0].field, "linux.resources.cpu.cpus");
  EXPECT_EQ(changes[0].plugin, "20-b");
  EXPECT_EQ(changes[1].field, "linux.resources.cpu.shares");
  EXPECT_EQ(changes[1].plugin, "10-a");
  EXPECT_EQ(ReportOf("10-a").updated_containers, 1u);
  EXPECT_EQ(ReportOf("20-b").updated_containers, 1u);
  engine_.on_update = [](const std::string&) { return absl::InternalError("kernel says no"); };
  ASSERT_EQ(Create("p1", "c3"), absl::OkStatus());
  Exit("c3");
  Flush();
  EXPECT_TRUE(
      WasTold("plugins \"10-a\" and \"20-b\" asked for an update of container \"c2\": kernel"));
}

TEST_F(NriChangesTest, EvictionsStopContainersAndAreTold) {
  StartWithContainer();
  api::ContainerEviction eviction;
  eviction.set_container_id("c1");
  eviction.set_reason("too\nnoisy");
  api::ContainerEviction of_nothing;
  of_nothing.set_container_id("gone");
  api::ContainerEviction overlong;
  overlong.set_container_id(std::string(5000, 'x'));
  ASSERT_TRUE(plugin_->session->UpdateContainers({}, {eviction, of_nothing, overlong}).ok());
  EXPECT_TRUE(WaitUntil([&] { return ReportOf("10-a").evicted_containers == 1; }));
  EXPECT_THAT(engine_.stopped(), ElementsAre("c1"));
  EXPECT_TRUE(WasTold("too\\nnoisy"));
  EXPECT_TRUE(WasTold("\"gone\""));
  EXPECT_TRUE(WasTold("xxx\": there is no such container"));
  for (const std::string& line : told_.calls()) EXPECT_LT(line.size(), 1000u) << line;
  const std::vector<runtime::Event> events = events_.Since(0);
  EXPECT_EQ(events.back().type, runtime::EventType::kWarning);
  EXPECT_THAT(events.back().message, HasSubstr("10-a"));
  // In an answer, too.
  plugin_->on_create = [&](const api::CreateContainerRequest&) {
    api::CreateContainerResponse response;
    *response.add_evict() = eviction;
    return response;
  };
  EXPECT_EQ(Create("p1", "c2"), absl::OkStatus());
  EXPECT_TRUE(WaitUntil([&] { return engine_.stopped().size() == 2; }));
}

TEST_F(NriChangesTest, TopologyGoesToDiscoveryAndEndsWithItsPlugin) {
  std::vector<std::string> told;
  absl::Mutex mutex;
  options_.provide = [&](const std::string& plugin,
                         const api::UpdateNodeResourcesRequest& request) {
    absl::MutexLock lock(&mutex);
    told.push_back(plugin);
    return request.resource_topology().zones_size() > 0
               ? absl::OkStatus()
               : absl::InvalidArgumentError("there is no zone");
  };
  options_.withdraw = [&](const std::string& plugin) {
    absl::MutexLock lock(&mutex);
    told.push_back("gone: " + plugin);
  };
  StartWithContainer();
  TestPlugin& other = Join("20-b");
  EXPECT_THAT(plugin_->session->UpdateNodeResources({}).message(), HasSubstr("there is no zone"));
  api::UpdateNodeResourcesRequest request;
  request.mutable_resource_topology()->add_zones()->set_name("root");
  EXPECT_EQ(plugin_->session->UpdateNodeResources(request), absl::OkStatus());
  Leave(other);
  Leave(*plugin_);
  EXPECT_TRUE(WaitUntil([&] {
    absl::MutexLock lock(&mutex);
    return told.size() == 3;
  }));
  absl::MutexLock lock(&mutex);
  EXPECT_THAT(told, ElementsAre("10-a", "10-a", "gone: 10-a"));
}

TEST_F(NriChangesTest, WithoutDiscoveryTopologyIsRefused) {
  StartWithContainer();
  EXPECT_TRUE(absl::IsUnimplemented(plugin_->session->UpdateNodeResources({})));
}

}  // namespace
}  // namespace plimsoll::nri
