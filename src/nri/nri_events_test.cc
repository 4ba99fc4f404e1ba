// The life of pods and containers as plugins see it.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nri/nri_fixture_for_test.h"

namespace plimsoll::nri {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using NriEventsTest = NriFixture;

TEST_F(NriEventsTest, WithoutPluginsTheEngineIsNotHeldUp) {
  Start();
  EXPECT_FALSE(nri_->Active());
  EXPECT_EQ(RunPod("p1"), absl::OkStatus());
  EXPECT_EQ(Create("p1", "c1"), absl::OkStatus());
  EXPECT_THAT(nri_->Report(), IsEmpty());
}

TEST_F(NriEventsTest, APluginSeesAWholeLifeInOrder) {
  Start();
  Join("10-a");
  EXPECT_TRUE(nri_->Active());
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  ASSERT_EQ(Create("p1", "c1"), absl::OkStatus());
  ASSERT_EQ(StartContainer("c1"), absl::OkStatus());
  ASSERT_EQ(Update("c1", {}), absl::OkStatus());
  ASSERT_EQ(nri_->UpdateSandbox(Pod("p1"), {}), absl::OkStatus());
  nri_->SandboxUpdated(Pod("p1"));
  Exit("c1");
  StopPod("p1");
  RemoveContainer("c1");
  RemovePod("p1");
  Flush();
  EXPECT_THAT(log_.calls(), ElementsAre("10-a Synchronize", "10-a RunPodSandbox p1",
                                        "10-a CreateContainer c1", "10-a PostCreateContainer c1",
                                        "10-a StartContainer c1", "10-a PostStartContainer c1",
                                        "10-a UpdateContainer c1", "10-a PostUpdateContainer c1",
                                        "10-a UpdatePodSandbox p1", "10-a PostUpdatePodSandbox p1",
                                        "10-a StopContainer c1", "10-a StopPodSandbox p1",
                                        "10-a RemoveContainer c1", "10-a RemovePodSandbox p1"));
}

TEST_F(NriEventsTest, PluginsAreAskedByIndexAndThenByName) {
  Start();
  for (const char* name : {"50-z", "05-b", "50-a", "00-z"}) Join(name);
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  std::vector<std::string> asked;
  for (const std::string& call : log_.calls()) {
    if (call.find("RunPodSandbox") != std::string::npos) asked.push_back(call.substr(0, 4));
  }
  EXPECT_THAT(asked, ElementsAre("00-z", "05-b", "50-a", "50-z"));
}

TEST_F(NriEventsTest, EventsReachPluginsWithoutAnotherHook) {
  Start();
  Join("10-a");
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  ASSERT_EQ(Create("p1", "c1"), absl::OkStatus());
  EXPECT_TRUE(WaitUntil([&] { return log_.Count("10-a PostCreateContainer c1") == 1; }));
  Exit("c1");
  EXPECT_TRUE(WaitUntil([&] { return log_.Count("10-a StopContainer c1") == 1; }));
}

TEST_F(NriEventsTest, APluginGetsOnlyEventsThatItSubscribedTo) {
  Start();
  TestPlugin& plugin = Add("10-a");
  plugin.events = {api::START_CONTAINER, api::REMOVE_POD_SANDBOX};
  Join(plugin);
  EXPECT_THAT(ReportOf("10-a").events, ElementsAre("RemovePodSandbox", "StartContainer"));
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  ASSERT_EQ(Create("p1", "c1"), absl::OkStatus());
  ASSERT_EQ(StartContainer("c1"), absl::OkStatus());
  Exit("c1");
  StopPod("p1");
  RemovePod("p1");
  Flush();
  EXPECT_THAT(log_.calls(), ElementsAre("10-a Synchronize", "10-a StartContainer c1",
                                        "10-a RemovePodSandbox p1"));
}

TEST_F(NriEventsTest, APluginWithoutDedicatedCallsGetsStateChange) {
  Start();
  TestPlugin& plugin = Add("10-old");
  plugin.old = true;
  Join(plugin);
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  ASSERT_EQ(Create("p1", "c1"), absl::OkStatus());
  ASSERT_EQ(StartContainer("c1"), absl::OkStatus());
  // A plugin from before it has no call for this, and no StateChange is sent.
  EXPECT_EQ(nri_->UpdateSandbox(Pod("p1"), {}), absl::OkStatus());
  EXPECT_THAT(
      log_.calls(),
      ElementsAre("10-old Synchronize", "10-old StateChange RUN_POD_SANDBOX p1",
                  "10-old CreateContainer c1", "10-old StateChange POST_CREATE_CONTAINER c1",
                  "10-old StateChange START_CONTAINER c1",
                  "10-old StateChange POST_START_CONTAINER c1"));
  EXPECT_EQ(ReportOf("10-old").requests["StartContainer"].count, 1u);
  EXPECT_EQ(ReportOf("10-old").requests["StartContainer"].errors, 0u);
}

TEST_F(NriEventsTest, AnEventThatAPluginNamedAndDoesNotKnowFailsTheCall) {
  Start();
  TestPlugin& plugin = Add("10-old");
  plugin.old = true;
  plugin.events = {api::UPDATE_POD_SANDBOX, api::RUN_POD_SANDBOX};
  Join(plugin);
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  const absl::Status status = nri_->UpdateSandbox(Pod("p1"), {});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(status.message(), HasSubstr("10-old"));
}

TEST_F(NriEventsTest, StopPodSandboxIsToldOnce) {
  Start();
  Join("10-a");
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  StopPod("p1");
  StopPod("p1");
  RemovePod("p1");
  StopPod("p1");
  Flush();
  EXPECT_EQ(log_.Count("10-a StopPodSandbox p1"), 1u);
  EXPECT_EQ(log_.Count("10-a RemovePodSandbox p1"), 1u);
}

TEST_F(NriEventsTest, AFailedRunIsUndoneForThosePluginsAloneThatSawIt) {
  Start();
  Join("10-a");
  TestPlugin& second = Join("20-b");
  Join("30-c");
  second.SetOnCall([](const std::string& call) {
    return call == "RunPodSandbox p1" ? absl::ResourceExhaustedError("no room here")
                                      : absl::OkStatus();
  });
  const absl::Status failed = RunPod("p1");
  EXPECT_EQ(failed.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(failed.message(), HasSubstr("20-b"));
  EXPECT_THAT(failed.message(), HasSubstr("no room here"));
  EXPECT_THAT(log_.Of("10-a R"), ElementsAre("10-a RunPodSandbox p1", "10-a RemovePodSandbox p1"));
  EXPECT_EQ(log_.Count("10-a StopPodSandbox p1"), 1u);
  EXPECT_EQ(log_.Count("20-b RemovePodSandbox p1"), 1u);
  EXPECT_THAT(log_.calls(), ::testing::Not(::testing::Contains(HasSubstr("30-c R"))));
  // A retry works.
  second.SetOnCall(nullptr);
  EXPECT_EQ(RunPod("p1"), absl::OkStatus());
  EXPECT_EQ(log_.Count("30-c RunPodSandbox p1"), 1u);
}

TEST_F(NriEventsTest, AFailedCreationIsStoppedAndRemovedForPlugins) {
  Start();
  Join("10-a");
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  EXPECT_FALSE(Create("p1", "c1", [] { return absl::InternalError("crun failed"); }).ok());
  EXPECT_THAT(log_.Of("10-a"),
              ElementsAre("10-a Synchronize", "10-a RunPodSandbox p1", "10-a CreateContainer c1",
                          "10-a StopContainer c1", "10-a RemoveContainer c1"));
  EXPECT_EQ(Create("p1", "c1"), absl::OkStatus());
  Flush();
  EXPECT_EQ(log_.Count("10-a PostCreateContainer c1"), 1u);
}

TEST_F(NriEventsTest, AStartThatAPluginRefusesFails) {
  Start();
  TestPlugin& plugin = Join("10-a");
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  ASSERT_EQ(Create("p1", "c1"), absl::OkStatus());
  plugin.SetOnCall([](const std::string& call) {
    return call == "StartContainer c1" ? absl::FailedPreconditionError("not now")
                                       : absl::OkStatus();
  });
  EXPECT_THAT(StartContainer("c1").message(), HasSubstr("not now"));
  // Errors can't fail what has happened already.
  plugin.SetOnCall([](const std::string&) { return absl::InternalError("always"); });
  Exit("c1");
  RemoveContainer("c1");
  StopPod("p1");
  RemovePod("p1");
  Flush();
  EXPECT_EQ(log_.Count("10-a RemovePodSandbox p1"), 1u);
  EXPECT_TRUE(WasTold("always"));
  EXPECT_EQ(ReportOf("10-a").requests["StopContainer"].errors, 1u);
}

TEST_F(NriEventsTest, SixteenPluginsSeeTheSameLife) {
  Start();
  for (int i = 0; i < 16; ++i) Join(absl::StrCat(10 + i, "-p"));
  for (int i = 0; i < 10; ++i) {
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
  Flush();
  const std::vector<std::string> first = log_.Of("10-p ");
  EXPECT_EQ(first.size(), 1u + 10u * 9u);
  for (int i = 1; i < 16; ++i) {
    std::vector<std::string> other = log_.Of(absl::StrCat(10 + i, "-p "));
    for (std::string& call : other) call.replace(0, 2, "10");
    EXPECT_EQ(other, first) << i;
  }
}

TEST_F(NriEventsTest, DisabledItDoesNothing) {
  options_.config.enabled = false;
  options_.config.policies["10-a"].required = true;
  Start();
  EXPECT_FALSE(nri_->Active());
  TestPlugin& plugin = Add("10-a");
  EXPECT_FALSE(Connect(plugin).ok());
  EXPECT_EQ(RunPod("p1"), absl::OkStatus());
}

TEST_F(NriEventsTest, AfterStopHooksDoNothing) {
  Start();
  Join("10-a");
  nri_->Stop();
  EXPECT_FALSE(nri_->Active());
  EXPECT_EQ(nri_->RunSandbox(Pod("p1")), absl::OkStatus());
  EXPECT_EQ(nri_->CreateContainer(Pod("p1"), Container("p1", "c1"))->name, "c1");
  nri_->StopSandbox(Pod("p1"));
  EXPECT_THAT(log_.calls(), ElementsAre("10-a Synchronize"));
  EXPECT_EQ(plugins_[0]->session->Wait(), absl::OkStatus());  // it was told of the end
}

}  // namespace
}  // namespace plimsoll::nri
