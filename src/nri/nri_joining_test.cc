// Plugins that come and go while pods do.
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nri/nri_fixture_for_test.h"

namespace plimsoll::nri {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using NriJoiningTest = NriFixture;

TEST_F(NriJoiningTest, APluginIsToldOfAllThatLives) {
  Start();
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  ASSERT_EQ(Create("p1", "c1"), absl::OkStatus());
  ASSERT_EQ(Create("p1", "c2"), absl::OkStatus());
  ASSERT_EQ(StartContainer("c2"), absl::OkStatus());
  Exit("c2");
  ASSERT_EQ(StartContainer("c1"), absl::OkStatus());
  Join("10-a");
  EXPECT_THAT(log_.calls(), ElementsAre("10-a Synchronize p1 c1"));
  // Events of what it hasn't been told of don't come, and none of what had happened.
  RemoveContainer("c2");
  Exit("c1");
  StopPod("p1");
  RemoveContainer("c1");
  RemovePod("p1");
  Flush();
  EXPECT_THAT(log_.calls(), ElementsAre("10-a Synchronize p1 c1", "10-a StopContainer c1",
                                        "10-a StopPodSandbox p1", "10-a RemoveContainer c1",
                                        "10-a RemovePodSandbox p1"));
}

TEST_F(NriJoiningTest, ItIsConfigured) {
  Start();
  class Configured : public TestPlugin {
   public:
    using TestPlugin::TestPlugin;
    absl::Status Configure(const api::ConfigureRequest& request) override {
      configuration = request;
      return absl::OkStatus();
    }
    api::ConfigureRequest configuration;
  };
  auto owned = std::make_unique<Configured>("10-a", &log_);
  Configured& plugin = *owned;
  plugins_.push_back(std::move(owned));
  Join(plugin);
  EXPECT_EQ(plugin.configuration.runtime_name(), "plimsoll");
  EXPECT_EQ(plugin.configuration.runtime_version(), "1.2.3");
  EXPECT_EQ(plugin.configuration.nri_version(), "v0.12.0");
  EXPECT_EQ(plugin.configuration.registration_timeout(), 5000);
  EXPECT_EQ(plugin.configuration.request_timeout(), 2000);
  EXPECT_EQ(ReportOf("10-a").nri_version, "0.12.0");
  EXPECT_EQ(ReportOf("10-a").pid, getpid());
}

TEST_F(NriJoiningTest, ACreationUnderWayWithoutPluginsIsWaitedFor) {
  Start();
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  TestPlugin& plugin = Add("10-a");
  ASSERT_EQ(Create("p1", "c1",
                   [&] {
                     EXPECT_EQ(Connect(plugin), absl::OkStatus());
                     EXPECT_TRUE(WaitUntil([&] { return nri_->Active(); }));
                     EXPECT_THAT(log_.calls(), Not(Contains(HasSubstr("Synchronize"))));
                     return absl::OkStatus();
                   }),
            absl::OkStatus());
  EXPECT_TRUE(WaitUntil([&] { return StateOf("10-a") == PluginState::kReady; }));
  Flush();
  EXPECT_THAT(log_.calls(), ElementsAre("10-a Synchronize p1 c1"));
}

TEST_F(NriJoiningTest, ACreationThatIsHookedIsToldInSynchronizeAndGoesOn) {
  Start();
  Join("10-a");
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  ASSERT_EQ(Create("p1", "c1",
                   [&] {
                     Join("20-b");
                     return absl::OkStatus();
                   }),
            absl::OkStatus());
  Flush();
  EXPECT_THAT(log_.Of("20-b"),
              ElementsAre("20-b Synchronize p1 c1", "20-b PostCreateContainer c1"));
  // And one that is undone.
  EXPECT_FALSE(Create("p1", "c2", [&] {
                 Join("30-c");
                 return absl::InternalError("crun failed");
               }).ok());
  EXPECT_THAT(log_.Of("30-c"), ElementsAre("30-c Synchronize p1 c1 c2", "30-c StopContainer c2",
                                           "30-c RemoveContainer c2"));
}

TEST_F(NriJoiningTest, ACreationThatBeginsWhileAPluginSynchronisesIsToldAfterThat) {
  Start();
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  TestPlugin& plugin = Add("10-a");
  absl::Notification synchronizing;
  absl::Notification release;
  plugin.on_synchronize = [&](const auto&, const auto&) {
    synchronizing.Notify();
    release.WaitForNotification();
    return std::vector<api::ContainerUpdate>();
  };
  ASSERT_EQ(Connect(plugin), absl::OkStatus());
  synchronizing.WaitForNotification();
  std::thread creation([&] { EXPECT_EQ(Create("p1", "c1"), absl::OkStatus()); });
  release.Notify();
  creation.join();
  Flush();
  EXPECT_THAT(log_.calls(), ElementsAre("10-a Synchronize p1", "10-a CreateContainer c1",
                                        "10-a PostCreateContainer c1"));
}

TEST_F(NriJoiningTest, APluginThatLeftIsForgottenWholly) {
  Start();
  TestPlugin& first = Join("10-a");
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  ASSERT_EQ(Create("p1", "c1",
                   [&] {
                     // Hooked, but no plugin that knows of it is left: the next one waits.
                     Leave(first);
                     EXPECT_TRUE(WaitUntil([&] { return !nri_->Active(); }));
                     return absl::OkStatus();
                   }),
            absl::OkStatus());
  Join("20-b");
  Flush();
  EXPECT_THAT(log_.Of("20-b"), ElementsAre("20-b Synchronize p1 c1"));
}

TEST_F(NriJoiningTest, AThousandPodsComeInPartsInOrder) {
  Start();
  for (int i = 0; i < 1000; ++i) {
    runtime::HookedPod pod = Pod(absl::StrCat("pod-", i));
    pod.record.spec.cgroup_parent = std::string(1000, 'x');
    engine_.PutSandbox(pod.record);
    engine_.PutContainer(Container(pod.record.id, absl::StrCat("container-", i)).record);
  }
  TestPlugin& plugin = Add("10-a");
  size_t pods_seen = 0;
  size_t containers_seen = 0;
  plugin.on_synchronize = [&](const std::vector<api::PodSandbox>& pods,
                              const std::vector<api::Container>& containers) {
    pods_seen = pods.size();
    containers_seen = containers.size();
    return std::vector<api::ContainerUpdate>();
  };
  Join(plugin);
  EXPECT_EQ(pods_seen, 1000u);
  EXPECT_EQ(containers_seen, 1000u);
  EXPECT_GT(ReportOf("10-a").requests["Synchronize"].count, 1u);
}

TEST_F(NriJoiningTest, UpdatesInTheAnswerToSynchronizeAreMade) {
  Start();
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  ASSERT_EQ(Create("p1", "c1"), absl::OkStatus());
  TestPlugin& plugin = Add("10-a");
  plugin.on_synchronize = [](const auto&, const auto&) {
    std::vector<api::ContainerUpdate> updates(2);
    for (size_t i = 0; i < 2; ++i) {
      updates[i].set_container_id(i == 0 ? "c1" : "gone");
      updates[i].mutable_linux()->mutable_resources()->mutable_cpu()->mutable_shares()->set_value(
          77);
    }
    return updates;
  };
  Join(plugin);
  ASSERT_EQ(engine_.updates().size(), 1u);
  EXPECT_EQ(engine_.updates()[0].id, "c1");
  EXPECT_TRUE(WasTold("\"gone\""));
}

TEST_F(NriJoiningTest, APluginThatFailsToSynchronizeIsRefused) {
  Start();
  TestPlugin& plugin = Add("10-a");
  plugin.on_synchronize = [](const auto&, const auto&) {
    return absl::InternalError("can't read my state");
  };
  ASSERT_EQ(Connect(plugin), absl::OkStatus());
  EXPECT_TRUE(WasTold("can't read my state"));
  EXPECT_FALSE(plugin.session->Wait().ok());
  EXPECT_TRUE(WaitUntil([&] { return !nri_->Active(); }));
}

TEST_F(NriJoiningTest, OneNameIsTakenOnce) {
  Start();
  TestPlugin& first = Join("10-a");
  TestPlugin& second = Add("10-a");
  EXPECT_THAT(Connect(second).message(), AllOf(HasSubstr("10-a"), HasSubstr("already")));
  EXPECT_EQ(StateOf("10-a"), PluginState::kReady);
  Leave(first);
  Join(second);
}

TEST_F(NriJoiningTest, StormsOfConnectionsUnderPodChurnLoseNothing) {
  Start();
  Join("50-stays");
  std::vector<std::thread> comers;
  for (int t = 0; t < 4; ++t) {
    comers.emplace_back([this, t] {
      for (int i = 0; i < 10; ++i) {
        CallLog own;
        TestPlugin plugin(absl::StrCat(20 + t, "-comes"), &own);
        PluginOptions options;
        options.index = plugin.name.substr(0, 2);
        options.name = "comes";
        options.socket = options_.socket;
        const auto session = Session::Start(plugin, std::move(options));
        // The last one's end may not have been seen yet.
        if (session.ok()) (*session)->Close();
      }
    });
  }
  for (int i = 0; i < 40; ++i) {
    const std::string pod = absl::StrCat("p", i);
    const std::string container = absl::StrCat("c", i);
    ASSERT_EQ(RunPod(pod), absl::OkStatus());
    ASSERT_EQ(Create(pod, container), absl::OkStatus());
    ASSERT_EQ(StartContainer(container), absl::OkStatus());
    Exit(container);
    StopPod(pod);
    RemoveContainer(container);
    RemovePod(pod);
  }
  for (std::thread& comer : comers) comer.join();
  Flush();
  EXPECT_EQ(log_.Of("50-stays ").size(), 1u + 40u * 9u);
  EXPECT_TRUE(WaitUntil([&] { return nri_->Report().size() == 1; }));
}

}  // namespace
}  // namespace plimsoll::nri
