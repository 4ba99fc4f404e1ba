#include "agent/pods/classes/class_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/dir_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr char kQuotas[] = R"yaml(apiVersion: v1
kind: ConfigMap
metadata: {name: passed-over}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: team, namespace: shop}
spec:
  containerClassResources:
  - name: rdt
    classes: [{name: gold, capacity: 2}, silver]
  podClassResources: []
)yaml";

ClassRequests Asking(const std::map<std::string, qos::ClassNames>& containers,
                     const qos::ClassNames& of_pod = {}) {
  return {.pod = of_pod, .containers = containers};
}

class ClassQuotaTest : public testing::Test {
 protected:
  void SetUp() override {
    auto quotas = ParseClassQuotas(kQuotas, "q.yaml");
    ASSERT_TRUE(quotas.ok()) << quotas.status();
    ASSERT_EQ(quotas->size(), 1u);
    quotas_ = *std::move(quotas);
  }
  std::string ErrorOf(const ClassRequests& requests, const std::string& of_namespace = "shop") {
    const absl::Status status = CheckClassQuotas(quotas_, {of_namespace, "web"}, requests, used_);
    EXPECT_TRUE(status.ok() || absl::IsPermissionDenied(status)) << status;
    return std::string(status.message());
  }

  std::vector<ClassQuota> quotas_;
  NodeClassUse used_;
};

TEST_F(ClassQuotaTest, PlacesAreCountedOverTheNamespace) {
  EXPECT_EQ(ErrorOf(Asking({{"a", {{"rdt", "gold"}}}, {"b", {{"rdt", "gold"}}}})), "");
  EXPECT_THAT(ErrorOf(Asking(
                  {{"a", {{"rdt", "gold"}}}, {"b", {{"rdt", "gold"}}}, {"c", {{"rdt", "gold"}}}})),
              HasSubstr("requested: containers.rdt/gold=3, used: containers.rdt/gold=0"));
  used_.container["rdt"]["gold"] = 2;
  EXPECT_EQ(ErrorOf(Asking({{"a", {{"rdt", "gold"}}}})),
            "pods \"web\" is forbidden: exceeded quota: team, requested: containers.rdt/gold=1, "
            "used: containers.rdt/gold=2, limited: containers.rdt/gold=2; namespace shop may have "
            "of containers: rdt/gold, rdt/silver");
  used_.container["rdt"]["gold"] = 5;
  EXPECT_THAT(ErrorOf(Asking({{"a", {{"rdt", "gold"}}}})), HasSubstr("used: containers.rdt/gold=5"))
      << "from before the quota";
  used_.container["rdt"]["silver"] = 99;
  EXPECT_EQ(ErrorOf(Asking({{"a", {{"rdt", "silver"}}}})), "") << "any number";
  EXPECT_EQ(ErrorOf(Asking({{"a", {{"rdt", "gold"}}}}), "default"), "") << "another namespace";
}

TEST_F(ClassQuotaTest, AListAllowsNoOther) {
  EXPECT_THAT(ErrorOf(Asking({{"a", {{"rdt", "bronze"}}}})),
              HasSubstr("limited: containers.rdt/bronze=0"));
  EXPECT_THAT(ErrorOf(Asking({{"a", {{"blockio", "fast"}}}})),
              HasSubstr("containers.blockio/fast"));
  EXPECT_THAT(ErrorOf(Asking({{"a", {}}}, {{"tier", "low"}})),
              HasSubstr("namespace shop may have of pods: none"));
  EXPECT_EQ(ErrorOf(Asking({{"a", {{"blockio", "system.default"}, {"rdt", ""}}}})), "");
  quotas_[0].pod.reset();
  EXPECT_EQ(ErrorOf(Asking({{"a", {}}}, {{"tier", "low"}})), "") << "it says nothing of pods";
}

TEST_F(ClassQuotaTest, EveryQuotaOfTheNamespaceCounts) {
  quotas_.push_back({.key = {"shop", "narrow"}, .pod = {}, .container = AllowedClasses()});
  EXPECT_THAT(ErrorOf(Asking({{"a", {{"rdt", "gold"}}}})), HasSubstr("exceeded quota: narrow"));
}

TEST_F(ClassQuotaTest, TheObjectHasUsedAndHard) {
  used_.container["rdt"]["gold"] = 1;
  used_.container["oom"]["first"] = 3;
  EXPECT_EQ(QuotaObject(quotas_[0], used_), Json::parse(R"({
    "apiVersion": "v1", "kind": "ResourceQuota",
    "metadata": {"namespace": "shop", "name": "team"},
    "spec": {"podClassResources": [], "containerClassResources": [
        {"name": "rdt", "classes": [{"name": "gold", "capacity": 2}, {"name": "silver"}]}]},
    "status": {"podClassResources": [], "containerClassResources": [
        {"name": "oom", "classes": [{"name": "first", "capacity": 0, "used": 3}]},
        {"name": "rdt", "classes": [{"name": "gold", "capacity": 2, "used": 1},
                                    {"name": "silver", "used": 0}]}]}})"));
}

TEST(ClassQuotaFiles, MistakesAreTold) {
  const auto error = [](const std::string& spec) {
    return std::string(ParseClassQuotas("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\n"
                                        "spec: {" +
                                            spec + "}\n",
                                        "q.yaml")
                           .status()
                           .message());
  };
  EXPECT_EQ(error(""), "");
  EXPECT_THAT(error("hard: {pods: 3}"), HasSubstr("is of QoS classes alone"));
  EXPECT_THAT(error("scopes: [BestEffort]"), HasSubstr("for all pods of its namespace"));
  EXPECT_THAT(error("podClasses: []"), HasSubstr("unknown field"));
  EXPECT_THAT(error("podClassResources: [{name: t, classes: [{name: a, capacity: -1}]}]"),
              HasSubstr("capacity"));
  EXPECT_THAT(error("podClassResources: [{name: t, classes: [a, a]}]"),
              HasSubstr("class \"a\" is there already"));
  EXPECT_THAT(error("podClassResources: [{name: t}, {name: t}]"),
              HasSubstr("class type \"t\" is there already"));
  EXPECT_THAT(error("podClassResources: [{name: -t, classes: [b-]}]"),
              AllOf(HasSubstr("\"-t\" is no name of a class type"),
                    HasSubstr("\"b-\" is no name of a class")));
}

TEST(ClassQuotaFiles, AllOfADirectoryAreRead) {
  const TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("a.yaml", kQuotas).ok());
  ASSERT_TRUE(dir.root().ReplaceFile("note.txt", "kind: [").ok());
  EXPECT_EQ(ReadClassQuotas(dir.root(), ".")->size(), 1u);
  ASSERT_TRUE(dir.root().ReplaceFile("b.yaml", kQuotas).ok());
  const absl::Status twice = ReadClassQuotas(dir.root(), ".").status();
  EXPECT_TRUE(absl::IsAlreadyExists(twice)) << twice;
  EXPECT_THAT(std::string(twice.message()), HasSubstr("b.yaml: ResourceQuota shop/team"));
  ASSERT_TRUE(dir.root().ReplaceFile("b.yaml", "kind: Secret\ndata: {a: [secret words").ok());
  EXPECT_THAT(std::string(ReadClassQuotas(dir.root(), ".").status().message()),
              AllOf(HasSubstr("b.yaml"), HasSubstr("not valid YAML"), Not(HasSubstr("words"))));
  EXPECT_TRUE(absl::IsNotFound(ReadClassQuotas(dir.root(), "none").status()));
}

}  // namespace
}  // namespace plimsoll::agent
