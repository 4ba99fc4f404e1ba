// Plugins that fail, and what their policies make of that.
#include <functional>
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
using ::testing::HasSubstr;

class NriPolicyTest : public NriFixture {
 protected:
  // Far longer than a plugin takes that answers.
  NriPolicyTest() { options_.config.request_timeout_ms = 500; }

  // From now on it answers nothing until the end of the test.
  void Hang(TestPlugin& plugin) {
    plugin.SetOnCall([this](const std::string&) {
      end_.WaitForNotification();
      return absl::OkStatus();
    });
  }
  void TearDown() override { end_.Notify(); }

  absl::Notification end_;
};

TEST_F(NriPolicyTest, ASlowOptionalPluginIsStruckAndThenLeftOut) {
  options_.config.default_policy.strikes = 2;
  Start();
  TestPlugin& slow = Join("10-slow");
  Join("20-b");
  Hang(slow);
  EXPECT_EQ(RunPod("p1"), absl::OkStatus());
  EXPECT_EQ(ReportOf("10-slow").strikes, 1);
  EXPECT_EQ(StateOf("10-slow"), PluginState::kReady);
  EXPECT_TRUE(WasTold("goes on without it"));
  EXPECT_EQ(RunPod("p2"), absl::OkStatus());
  EXPECT_TRUE(WaitUntil([&] { return StateOf("10-slow") == PluginState::kAbsent; }));
  EXPECT_TRUE(WasTold("2 requests in a row got no answer"));
  EXPECT_EQ(RunPod("p3"), absl::OkStatus());
  EXPECT_EQ(log_.Of("20-b RunPodSandbox").size(), 3u);
}

TEST_F(NriPolicyTest, AnAnswerEndsTheRowOfStrikes) {
  options_.config.default_policy.strikes = 2;
  Start();
  TestPlugin& plugin = Join("10-a");
  absl::Notification release;
  plugin.SetOnCall([&](const std::string& call) {
    if (call == "RunPodSandbox p1") release.WaitForNotification();
    return absl::OkStatus();
  });
  EXPECT_EQ(RunPod("p1"), absl::OkStatus());
  EXPECT_EQ(ReportOf("10-a").strikes, 1);
  release.Notify();
  EXPECT_TRUE(WaitUntil([&] {
    EXPECT_EQ(RunPod("p2"), absl::OkStatus());
    return ReportOf("10-a").strikes == 0;
  }));
  EXPECT_EQ(StateOf("10-a"), PluginState::kReady);
  EXPECT_GE(ReportOf("10-a").requests["RunPodSandbox"].strikes, 1u);
}

TEST_F(NriPolicyTest, WithoutStrikesTheFirstTimeoutEndsTheConnection) {
  options_.config.policies["slow"].strikes = 0;
  Start();
  Hang(Join("10-slow"));
  EXPECT_EQ(RunPod("p1"), absl::OkStatus());
  EXPECT_TRUE(WaitUntil([&] { return StateOf("10-slow") == PluginState::kAbsent; }));
}

TEST_F(NriPolicyTest, ARequiredPluginThatIsAbsentFailsRequests) {
  options_.config.policies["10-guard"].required = true;
  Start();
  EXPECT_TRUE(nri_->Active());
  EXPECT_EQ(StateOf("10-guard"), PluginState::kAbsent);
  EXPECT_TRUE(ReportOf("10-guard").required);
  const absl::Status absent = RunPod("p1");
  EXPECT_EQ(absent.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(absent.message(), AllOf(HasSubstr("\"10-guard\""), HasSubstr("start")));
  ShowPod("p1");
  EXPECT_TRUE(absl::IsUnavailable(Create("p1", "c1")));
  EXPECT_TRUE(absl::IsUnavailable(nri_->StartContainer(Pod("p1"), Container("p1", "c1"))));
  EXPECT_TRUE(absl::IsUnavailable(nri_->UpdateSandbox(Pod("p1"), {})));
  engine_.PutContainer(Container("p1", "c1").record);
  EXPECT_TRUE(absl::IsUnavailable(Update("c1", {})));
  nri_->StopSandbox(Pod("p1"));  // can't be kept from ending
  Join("10-guard");
  EXPECT_EQ(RunPod("p2"), absl::OkStatus());
  Leave(*plugins_[0]);
  EXPECT_TRUE(absl::IsUnavailable(RunPod("p3")));
}

TEST_F(NriPolicyTest, ARequiredPluginByBaseNameMayHaveAnyIndex) {
  options_.config.policies["guard"].required = true;
  Start();
  EXPECT_TRUE(absl::IsUnavailable(RunPod("p1")));
  Join("77-guard");
  EXPECT_EQ(RunPod("p1"), absl::OkStatus());
  EXPECT_TRUE(ReportOf("77-guard").required);
}

TEST_F(NriPolicyTest, ARequiredPluginThatGoesWithinAHookFailsIt) {
  options_.config.policies["guard"].required = true;
  options_.config.request_timeout_ms = 20'000;
  Start();
  TestPlugin& guard = Join("10-guard");
  Join("20-b").SetOnCall([&](const std::string& call) {
    // The guard has answered; what comes after that, it won't see.
    if (call == "RunPodSandbox p1") Leave(guard);
    return absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsUnavailable(RunPod("p1")));
  EXPECT_EQ(log_.Count("10-guard RunPodSandbox p1"), 1u);
  EXPECT_EQ(log_.Count("20-b RemovePodSandbox p1"), 1u);
}

TEST_F(NriPolicyTest, ARequiredPluginThatDoesNotAnswerFailsTheRequest) {
  options_.config.policies["10-guard"].required = true;
  Start();
  Hang(Join("10-guard"));
  const absl::Status failed = RunPod("p1");
  EXPECT_EQ(failed.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(failed.message(), AllOf(HasSubstr("10-guard"), HasSubstr("required")));
}

TEST_F(NriPolicyTest, APluginThatDiesInAnyHookHoldsNothingUp) {
  options_.config.request_timeout_ms = 20'000;
  for (const std::string& step : std::vector<std::string>{
           "RunPodSandbox p", "CreateContainer c", "PostCreateContainer c", "StartContainer c",
           "PostStartContainer c", "UpdateContainer c", "PostUpdateContainer c", "StopContainer c",
           "StopPodSandbox p", "RemoveContainer c", "RemovePodSandbox p"}) {
    Start();
    TestPlugin& plugin = Join("10-a");
    absl::Notification release;
    plugin.SetOnCall([&](const std::string& call) {
      if (call == step) release.WaitForNotification();
      return absl::OkStatus();
    });
    std::thread killer([&] {
      EXPECT_TRUE(WaitUntil([&] { return log_.Count("10-a " + step) == 1; })) << step;
      std::thread close([&] { plugin.session->Close(); });
      release.Notify();
      close.join();
    });
    EXPECT_EQ(RunPod("p"), absl::OkStatus()) << step;
    EXPECT_EQ(Create("p", "c"), absl::OkStatus()) << step;
    EXPECT_EQ(StartContainer("c"), absl::OkStatus()) << step;
    EXPECT_EQ(Update("c", {}), absl::OkStatus()) << step;
    Exit("c");
    StopPod("p");
    RemoveContainer("c");
    RemovePod("p");
    Flush();
    killer.join();
    nri_->Stop();
    nri_.reset();
    plugins_.clear();
    log_.Clear();
  }
}

TEST_F(NriPolicyTest, AValidatorMayRefuse) {
  Start();
  Join("10-a").on_create = [](const api::CreateContainerRequest&) {
    api::CreateContainerResponse response;
    (*response.mutable_adjust()->mutable_annotations())["io.example/a"] = "1";
    return response;
  };
  api::ValidateContainerAdjustmentRequest asked;
  Join("90-judge").on_validate = [&](const api::ValidateContainerAdjustmentRequest& request) {
    asked = request;
    api::ValidateContainerAdjustmentResponse response;
    response.set_reject(true);
    response.set_reason("no annotations here");
    return response;
  };
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  const absl::Status refused = Create("p1", "c1");
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("90-judge"), HasSubstr("no annotations here")));
  EXPECT_EQ(asked.adjust().annotations().at("io.example/a"), "1");
  EXPECT_EQ(asked.plugins_size(), 2);
  EXPECT_EQ(log_.Count("10-a RemoveContainer c1"), 1u);
}

TEST_F(NriPolicyTest, AValidatorThatDoesNotAnswerRefusesEvenIfOptional) {
  options_.config.default_policy.strikes = 1;
  Start();
  TestPlugin& judge = Add("90-judge");
  judge.events = {api::VALIDATE_CONTAINER_ADJUSTMENT};
  judge.on_validate = [&](const api::ValidateContainerAdjustmentRequest&) {
    end_.WaitForNotification();
    return api::ValidateContainerAdjustmentResponse();
  };
  Join(judge);
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  EXPECT_TRUE(absl::IsUnavailable(Create("p1", "c1")));
  // It has had its strikes; it isn't required.
  EXPECT_TRUE(WaitUntil([&] { return StateOf("90-judge") == PluginState::kAbsent; }));
  EXPECT_EQ(Create("p1", "c1"), absl::OkStatus());
}

TEST_F(NriPolicyTest, OwnValidatorMissesPluginsEvenWithoutAny) {
  options_.config.validator.required_plugins = {"guard"};
  Start();
  EXPECT_TRUE(nri_->Active());
  ASSERT_EQ(RunPod("p1"), absl::OkStatus());
  const absl::Status refused = Create("p1", "c1");
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("guard"));
  TestPlugin& guard = Join("10-guard");
  EXPECT_EQ(Create("p1", "c1"), absl::OkStatus());
  // One that fails hasn't seen the container.
  Hang(guard);
  EXPECT_EQ(Create("p1", "c2").code(), absl::StatusCode::kPermissionDenied);
}

TEST(NriConfigTest, MistakesAreNamed) {
  runtime::EventLog events;
  const auto make = [&](const std::function<void(NriSettings&)>& change) {
    Options options{.socket = "/tmp/x.sock", .host = *FsRoot::Open("/")};
    options.events = &events;
    change(options.config);
    return Nri::Make(std::move(options)).status();
  };
  EXPECT_EQ(make([](NriSettings&) {}), absl::OkStatus());
  EXPECT_THAT(make([](NriSettings& c) { c.policies["a b"].required = true; }).message(),
              HasSubstr("\"a b\""));
  EXPECT_THAT(make([](NriSettings& c) { c.policies["10-a"].strikes = -1; }).message(),
              HasSubstr("strikes"));
  EXPECT_THAT(make([](NriSettings& c) { c.request_timeout_ms = 0; }).message(),
              HasSubstr("request_timeout_ms"));
  EXPECT_THAT(make([](NriSettings& c) { c.registration_timeout_ms = -5; }).message(),
              HasSubstr("registration_timeout_ms"));
}

}  // namespace
}  // namespace plimsoll::nri
