#include "agent/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/pods/life/fake_runtime_for_test.h"
#include "base/dir_for_test.h"
#include "pod_runner/runtime_client/labels.h"

namespace plimsoll::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RuntimeTest : public testing::Test {
 protected:
  RuntimeTest() : cri_(clock_), server_(cri_, dir_.path() + "/cri.sock") {
    ::runtime::v1::StatusResponse status;
    auto* type = status.mutable_status()->mutable_resources()->add_container_class_resources();
    type->set_name("blockio");
    type->add_classes()->set_name("slow");
    cri_.SetStatus(status);
  }
  std::unique_ptr<Runtime> Open(bool classes = true) const {
    return *Runtime::Open("unix://" + dir_.path() + "/cri.sock", classes, counters_,
                          /*patience_s=*/1);
  }

  TestDir dir_;
  mutable Counters counters_;
  SetClock clock_;
  FakeCri cri_;
  FakeCriServer server_;
};

TEST_F(RuntimeTest, AFrozenRuntimeHasTheClassesThatItToldLast) {
  const auto runtime = Open();
  EXPECT_TRUE(absl::IsUnavailable(runtime->KnownClasses().status()));
  ASSERT_TRUE(runtime->Classes().ok());
  cri_.script().Hold("Status");
  const auto classes = runtime->Classes();
  ASSERT_TRUE(classes.ok()) << classes.status();
  EXPECT_TRUE(classes->container.at("blockio").capacities.contains("slow"));
  EXPECT_EQ(cri_.script().Count("Status"), 2);
  EXPECT_TRUE(runtime->KnownClasses()->container.contains("blockio"));
  EXPECT_EQ(cri_.script().Count("Status"), 2) << "known classes are not asked for";
}

TEST_F(RuntimeTest, ARuntimeThatNeverAnsweredHasNoClassesYet) {
  cri_.script().Hold("Status");
  const auto runtime = Open();
  EXPECT_TRUE(absl::IsUnavailable(runtime->Classes().status()));
  const absl::Status known = runtime->KnownClasses().status();
  EXPECT_TRUE(absl::IsUnavailable(known));
  EXPECT_THAT(std::string(known.message()), HasSubstr("has not told its classes yet: "));
}

TEST_F(RuntimeTest, WithoutTheGateItIsNotAsked) {
  const auto runtime = Open(/*classes=*/false);
  EXPECT_TRUE(runtime->Classes()->container.empty());
  EXPECT_TRUE(runtime->KnownClasses()->container.empty());
  EXPECT_EQ(cri_.script().Count("Status"), 0);
}

TEST_F(RuntimeTest, AKubeletsPodsAreLookedForUntilThereWereNone) {
  const auto runtime = Open();
  cri_.script().Fail("ListPodSandbox", grpc::StatusCode::UNAVAILABLE, "not there yet");
  EXPECT_TRUE(absl::IsUnavailable(runtime->CheckUse()));
  ::runtime::v1::PodSandboxConfig config;
  config.mutable_metadata()->set_name("web");
  (*config.mutable_labels())["io.kubernetes.pod.uid"] = "a";
  const std::string id = cri_.AddSandbox(config);
  const absl::Status refused = runtime->CheckUse();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("web"));
  cri_.RemoveSandbox(id);
  EXPECT_TRUE(runtime->CheckUse().ok());
  EXPECT_TRUE(runtime->KnownClasses().ok()) << "it was asked for its classes then";
  cri_.AddSandbox(config);
  EXPECT_TRUE(runtime->CheckUse().ok()) << "once is enough";
}

TEST_F(RuntimeTest, PodsOfAnAgentThatHasNoneOnRecordAreCountedOnce) {
  ::runtime::v1::PodSandboxConfig config;
  const auto add = [&](const std::string& agent) {
    (*config.mutable_labels())[pod::kAgentLabel] = agent;
    return cri_.AddSandbox(config);
  };
  add("another");
  cri_.KillSandbox(add("node"));
  std::vector<std::string> warnings;
  const auto check = [&] {
    const auto runtime = Open();
    runtime->ExpectNoPodsOf("node", "/state",
                            [&](const std::string& found) { warnings.push_back(found); });
    return std::vector<bool>{runtime->CheckUse().ok(), runtime->CheckUse().ok()};
  };
  EXPECT_THAT(check(), ElementsAre(true, true));
  EXPECT_THAT(warnings, IsEmpty()) << "one has ended, the other is another agent's";
  add("node");
  add("node");
  EXPECT_THAT(check(), ElementsAre(true, true));
  EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("runs 2 pods of this agent"),
                                          HasSubstr("is the disk of /state mounted?"))));
}

TEST_F(RuntimeTest, AFrozenRuntimeHasNoNameUntilItAnswers) {
  cri_.script().Hold("Version");
  const auto runtime = Open();
  EXPECT_EQ(runtime->Name(), "");
  cri_.script().Release("Version");
  EXPECT_EQ(runtime->Name(), "fake");
}

}  // namespace
}  // namespace plimsoll::agent
