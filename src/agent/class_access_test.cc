#include "agent/class_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;

pod::Manifest PodOf(const std::string& of_namespace, const std::string& classes,
                    const std::string& annotations = "") {
  const auto pods = pod::ParseManifests(
      absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ", of_namespace,
                   ", annotations: {", annotations,
                   "}}, spec: {containers: [{name: a, image: i, resources: {classes: {", classes,
                   "}}}]}}"),
      "p");
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods->front();
}

class ClassAccessTest : public testing::Test {
 protected:
  ClassAccessTest() { config_.objects_path = "."; }
  void WriteQuota(const std::string& allowed) {
    ASSERT_TRUE(
        dir_.root()
            .ReplaceFile("q.yaml", absl::StrCat("{apiVersion: v1, kind: ResourceQuota, metadata: "
                                                "{name: team, namespace: shop}, spec: {"
                                                "containerClassResources: ",
                                                allowed, "}}"))
            .ok());
  }
  absl::Status Check(const pod::Manifest* before, const pod::Manifest& pod,
                     const std::vector<const pod::Manifest*>& others = {}) {
    return CheckClassAccess(
        config_, dir_.root(),
        [this]() -> absl::StatusOr<NodeClasses> {
          if (!node_fault_.ok()) return node_fault_;
          return node_;
        },
        before, pod, others);
  }

  const TestDir dir_;
  AgentConfig config_;
  NodeClasses node_{.pod = {},
                    .container = {{"rdt", {{{"gold", 1}, {"silver", 0}}, "silver", false}},
                                  {"still", {{{"x", 0}}, "", true}}}};
  absl::Status node_fault_;
};

TEST_F(ClassAccessTest, WithoutTheGateFieldsAreRefusedAndAnnotationsIgnored) {
  ASSERT_TRUE(config_.feature_gates.Set("ClassResources=false").ok());
  const absl::Status status = Check(nullptr, PodOf("default", "rdt: gold"));
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("resources.classes of container a: Forbidden: may not be set while the "
                        "feature gate ClassResources is off"));
  EXPECT_TRUE(Check(nullptr, PodOf("default", "", "rdt.class.plimsoll.dev/default: gold")).ok());
  // A pod on record keeps its field, and no more.
  const pod::Manifest living = PodOf("default", "rdt: gold");
  EXPECT_TRUE(Check(&living, living).ok());
  EXPECT_THAT(std::string(Check(&living, PodOf("default", "rdt: silver")).message()),
              HasSubstr("may not be changed while"));
}

TEST_F(ClassAccessTest, AQuotaIsOfItsNamespace) {
  WriteQuota("[{name: rdt, classes: [{name: gold, capacity: 1}]}]");
  const pod::Manifest one = PodOf("shop", "rdt: gold");
  const pod::Manifest elsewhere = PodOf("default", "rdt: gold");
  EXPECT_TRUE(Check(nullptr, one, {&elsewhere}).ok());
  const absl::Status over = Check(nullptr, one, {&one, &elsewhere});
  EXPECT_TRUE(absl::IsPermissionDenied(over)) << over;
  EXPECT_TRUE(Check(nullptr, elsewhere, {&one, &elsewhere}).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(
      Check(nullptr, PodOf("shop", "", "rdt.class.plimsoll.dev/default: bronze"))));
  // The node's default is allowed by its name, too, as long as the node can be asked.
  EXPECT_TRUE(Check(nullptr, PodOf("shop", "rdt: silver")).ok());
  node_fault_ = absl::UnavailableError("no classes yet");
  EXPECT_TRUE(absl::IsPermissionDenied(Check(nullptr, PodOf("shop", "rdt: silver"))));
}

TEST_F(ClassAccessTest, QuotasThatCantBeReadHoldBackClassesAlone) {
  WriteQuota("[{name: [}");
  EXPECT_TRUE(Check(nullptr, PodOf("shop", "")).ok());
  const absl::Status status = Check(nullptr, PodOf("shop", "rdt: gold"));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("quotas can't be read: "));
  EXPECT_TRUE(absl::IsUnavailable(QuotaObjects(config_, dir_.root(), "", [](const std::string&) {
                                    return NodeClassUse();
                                  }).status()));
}

TEST_F(ClassAccessTest, ALivingPodsClassesChangeWhereTheNodeHasThem) {
  const pod::Manifest living = PodOf("default", "rdt: silver");
  EXPECT_TRUE(Check(&living, PodOf("default", "rdt: gold")).ok());
  const pod::Manifest holder = PodOf("default", "rdt: gold");
  const absl::Status full = Check(&living, PodOf("default", "rdt: gold"), {&holder});
  EXPECT_TRUE(absl::IsFailedPrecondition(full)) << full;
  EXPECT_THAT(std::string(full.message()),
              HasSubstr("pod default/p keeps its classes: OutOfClass: container a asks for class "
                        "gold of type rdt: used: 1, capacity: 1"));
  EXPECT_THAT(std::string(Check(&living, PodOf("default", "rdt: bronze")).message()),
              HasSubstr("UnknownClass: container a asks for class bronze"));
  EXPECT_THAT(std::string(Check(&living, PodOf("default", "rdt: silver, still: x")).message()),
              HasSubstr("resources.classes[still]: Forbidden: the type is immutable"));
  node_fault_ = absl::UnavailableError("away");
  EXPECT_TRUE(absl::IsUnavailable(Check(&living, PodOf("default", "rdt: gold"))));
  EXPECT_TRUE(Check(&living, living).ok()) << "nothing to ask for";
}

TEST_F(ClassAccessTest, QuotasAreShownByNamespace) {
  WriteQuota("[{name: rdt, classes: [{name: gold, capacity: 1}]}]");
  const auto used = [](const std::string& of_namespace) {
    NodeClassUse use;
    use.container["rdt"]["gold"] = of_namespace == "shop" ? 7 : 0;
    return use;
  };
  const auto all = QuotaObjects(config_, dir_.root(), "", used);
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->front()["status"]["containerClassResources"][0]["classes"][0]["used"], 7);
  EXPECT_TRUE(QuotaObjects(config_, dir_.root(), "default", used)->empty());
  config_.objects_path.clear();
  EXPECT_TRUE(QuotaObjects(config_, dir_.root(), "", used)->empty());
}

}  // namespace
}  // namespace plimsoll::agent
