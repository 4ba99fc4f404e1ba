// Pods on record that this version would not take any more, and pods of files that can't be read.
#include <gmock/gmock.h>

#include <string>

#include "agent/pods/agent_pods.h"
#include "agent/pods/agent_pods_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kFile[] = "/m/web.yaml";

class AgentPodsOnRecordTest : public AgentPodsTest {
 protected:
  // The record of an older version; `patch` is a JSON merge patch of a pod that asks for a CPU.
  nlohmann::json PutOld(const std::string& patch, const std::string& file = "") {
    nlohmann::json object = ObjectOf(WithCpu("web", "1"));
    object.merge_patch(nlohmann::json::parse(patch));
    EXPECT_FALSE(WantedPods(object.dump(), "f").ok()) << "it would be taken now";
    PodRecord record = RecordOf("web", object);
    record.file = file;
    EXPECT_TRUE(store_->Put({record}).ok());
    return object;
  }
  // A pod of the file runs, and then its record has a path that steps back.
  void SpoilRunning() {
    Start();
    pods_->SetFiles({{kFile, Wanted(OnePod("web"))}});
    ASSERT_TRUE(AwaitPhase("web", "Running"));
    pods_.reset();
    nlohmann::json object = ObjectOf(OnePod("web"));
    object["spec"]["volumes"] = {{{"name", "v"}, {"hostPath", {{"path", "/a/../b"}}}}};
    Execute("UPDATE pods SET object = '" + object.dump() + "'");
    client_ = OpenClient();
    Start();
    ASSERT_THAT(EventOf("web", "UnreadablePod"), HasSubstr("must be without \"..\""));
  }
  bool AwaitAnother(const std::string& uid) {
    return WaitUntil([&] {
      const auto record = OnRecord("web");
      return record && record->uid != uid;
    });
  }
};

constexpr char kAbsoluteProfile[] = R"({"spec": {"securityContext": {"seccompProfile":
    {"type": "Localhost", "localhostProfile": "/etc/p.json"}}}})";

TEST_F(AgentPodsOnRecordTest, AnAbsoluteSeccompProfileReachesTheRuntime) {
  adapt_ = [](AgentPods::Options& options) { options.host.seccomp.profile_root = "/profiles"; };
  PutOld(kAbsoluteProfile);
  Start();
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  EXPECT_EQ(EventOf("web", "UnreadablePod"), "");
  EXPECT_EQ(cri_.SeccompOf("main").profile_type(), ::runtime::v1::SecurityProfile::Localhost);
  EXPECT_EQ(cri_.SeccompOf("main").localhost_ref(), "/etc/p.json");
  Restart();
  EXPECT_TRUE(AwaitPhase("web", "Running"));
}

TEST_F(AgentPodsOnRecordTest, ItIsResized) {
  cri_.TellResources();
  PutOld(kAbsoluteProfile);
  Start();
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  const auto resized = pods_->Resize({"default", "web"}, nlohmann::json::parse(R"({"spec":
      {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}})"));
  EXPECT_TRUE(resized.ok()) << resized.status();
  EXPECT_TRUE(AwaitEvent("web", "ResizeCompleted")) << EventOf("web", "ResizeError");
}

TEST_F(AgentPodsOnRecordTest, TwoMountsAtOnePathThatPropagateStart) {
  PutOld(R"({"spec": {
      "volumes": [{"name": "v", "hostPath": {"path": "/"}}],
      "containers": [{"name": "main", "image": "i", "volumeMounts": [
        {"name": "v", "mountPath": "/v"},
        {"name": "v", "mountPath": "/v", "mountPropagation": "Bidirectional"}]}]}})");
  Start();
  EXPECT_TRUE(AwaitPhase("web", "Running"));
}

TEST_F(AgentPodsOnRecordTest, AnnotationsThatAreRefusedNowArePassedOver) {
  PutOld(R"({
      "metadata": {"annotations": {
        "security.alpha.kubernetes.io/sysctls": "kernel.msgmax=1",
        "seccomp.security.alpha.kubernetes.io/pod": "unconfined"}},
      "spec": {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}})");
  Start();
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  EXPECT_EQ(cri_.SeccompOf("main").profile_type(), ::runtime::v1::SecurityProfile::RuntimeDefault);
}

// The file has what the record has, and this version refuses it there.
TEST_F(AgentPodsOnRecordTest, APodStaysWhileItsFileCantBeRead) {
  PutOld(kAbsoluteProfile, kFile);
  Start();
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  pods_->SetFiles({}, {kFile});
  pods_->Retry();
  ASSERT_TRUE(OnRecord("web").has_value());
  EXPECT_FALSE(OnRecord("web")->deleted.has_value());
  // A corrected file makes another pod, a removed one ends it.
  pods_->SetFiles({{kFile, Wanted(OnePod("web"))}});
  EXPECT_TRUE(AwaitAnother("uid-web"));
  EXPECT_TRUE(AwaitPhase("web", "Running"));
  pods_->SetFiles({});
  EXPECT_TRUE(AwaitGone("web"));
}

TEST_F(AgentPodsOnRecordTest, ACorrectedFileReplacesAnUnreadablePod) {
  SpoilRunning();
  const std::string uid = UidOf("web");
  pods_->SetFiles({}, {kFile});
  EXPECT_EQ(UidOf("web"), uid);
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
  pods_->SetFiles({{kFile, Wanted(OnePod("web"))}});
  ASSERT_TRUE(AwaitAnother(uid));
  EXPECT_TRUE(AwaitPhase("web", "Running"));
  EXPECT_THAT(cri_.SandboxIds(), SizeIs(1)) << "the other one has ended";
  EXPECT_THAT(pods_->Unreadable(), SizeIs(0));
}

TEST_F(AgentPodsOnRecordTest, AnotherFileReplacesNoUnreadablePod) {
  SpoilRunning();
  const std::string uid = UidOf("web");
  pods_->SetFiles({{"/m/other.yaml", Wanted(OnePod("web"))}}, {kFile});
  EXPECT_THAT(EventOf("web", "FailedCreate"), HasSubstr("`plimsoll delete pod web`"));
  EXPECT_EQ(UidOf("web"), uid);
}

// Whether its file has changed is not known.
TEST_F(AgentPodsOnRecordTest, ADamagedRowIsNotReplaced) {
  Start();
  pods_->SetFiles({{kFile, Wanted(OnePod("web"))}});
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  const std::string uid = UidOf("web");
  pods_.reset();
  Execute("UPDATE pods SET object = 'no json'");
  client_ = OpenClient();
  Start();
  pods_->SetFiles({{kFile, Wanted(OnePod("web"))}});
  EXPECT_EQ(UidOf("web"), uid);
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
  EXPECT_THAT(EventOf("web", "FailedCreate"), HasSubstr("`plimsoll delete pod web`"));
}

}  // namespace
}  // namespace plimsoll::agent
