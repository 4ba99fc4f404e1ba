#include "class_assigner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace plimsoll::examples {
namespace {

using ::testing::HasSubstr;

constexpr char kRules[] = R"(
rules:
- {namespace: batch, label: urgent, rdt: gold}
- {namespace: batch, rdt: background, blockio: slow}
- {label: tier=gold, rdt: gold}
)";

api::PodSandbox MakePod(const std::string& name, const std::string& label = "",
                        const std::string& value = "") {
  api::PodSandbox pod;
  pod.set_id(name + label + value);
  pod.set_namespace_(name);
  if (!label.empty()) (*pod.mutable_labels())[label] = value;
  return pod;
}

class ClassAssignerTest : public ::testing::Test {
 protected:
  absl::Status Configure(const std::string& text) {
    api::ConfigureRequest request;
    request.set_config(text);
    return assigner_.Configure(request);
  }
  std::string Create(const api::PodSandbox& pod, const std::string& present = "") {
    api::CreateContainerRequest request;
    *request.mutable_pod() = pod;
    request.mutable_container()
        ->mutable_linux()
        ->mutable_resources()
        ->mutable_rdt_class()
        ->set_value(present);
    const auto response = assigner_.CreateContainer(request);
    if (!response->has_adjust()) return "nothing";
    const api::LinuxResources& resources = response->adjust().linux().resources();
    return resources.rdt_class().value() + "/" + resources.blockio_class().value();
  }

  ClassAssigner assigner_;
};

TEST_F(ClassAssignerTest, AssignsByTheFirstRuleThatMatches) {
  ASSERT_TRUE(Configure(kRules).ok());
  EXPECT_EQ(Create(MakePod("batch", "urgent", "so")), "gold/");
  EXPECT_EQ(Create(MakePod("batch")), "background/slow");
  EXPECT_EQ(Create(MakePod("batch", "tier", "gold")), "background/slow");
  EXPECT_EQ(Create(MakePod("web", "tier", "gold")), "gold/");
  EXPECT_EQ(Create(MakePod("web", "tier", "silver")), "nothing");
  EXPECT_EQ(Create(MakePod("web", "urgent", "so")), "nothing");
}

TEST_F(ClassAssignerTest, SetsOnlyWhatDiffers) {
  ASSERT_TRUE(Configure(kRules).ok());
  EXPECT_EQ(Create(MakePod("batch"), "background"), "/slow");
  EXPECT_EQ(Create(MakePod("web", "tier", "gold"), "gold"), "nothing");
}

TEST_F(ClassAssignerTest, AssignsNothingWithoutRules) {
  ASSERT_TRUE(Configure("").ok());
  EXPECT_EQ(Create(MakePod("batch")), "nothing");
}

TEST_F(ClassAssignerTest, MovesWhatRuns) {
  ASSERT_TRUE(Configure(kRules).ok());
  std::vector<api::Container> containers(4);
  containers[0].set_id("runs");
  containers[0].set_pod_sandbox_id("batch");
  containers[1].set_id("stopped");
  containers[1].set_pod_sandbox_id("batch");
  containers[1].set_state(api::CONTAINER_STOPPED);
  containers[2].set_id("other");
  containers[2].set_pod_sandbox_id("web");
  containers[3].set_id("stray");
  containers[3].set_pod_sandbox_id("nobody's");
  const auto updates = assigner_.Synchronize({MakePod("batch"), MakePod("web")}, containers);
  ASSERT_EQ(updates->size(), 1u);
  EXPECT_EQ((*updates)[0].container_id(), "runs");
  EXPECT_TRUE((*updates)[0].ignore_failure());
  EXPECT_EQ((*updates)[0].linux().resources().rdt_class().value(), "background");
  EXPECT_EQ((*updates)[0].linux().resources().blockio_class().value(), "slow");
}

TEST_F(ClassAssignerTest, SaysWhatIsWrongWithARuleAndKeepsTheOldOnes) {
  ASSERT_TRUE(Configure(kRules).ok());
  EXPECT_THAT(std::string(Configure("rules: [{rdt: gold}]").message()),
              HasSubstr("rules[0]: needs namespace, label or both"));
  EXPECT_THAT(std::string(Configure("rules: [{namespace: batch}]").message()),
              HasSubstr("rules[0]: needs rdt, blockio or both"));
  EXPECT_FALSE(Configure("rules: [{name: batch, rdt: gold}]").ok());
  EXPECT_EQ(Create(MakePod("batch")), "background/slow");
}

}  // namespace
}  // namespace plimsoll::examples
