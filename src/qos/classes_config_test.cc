#include "qos/classes_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::qos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

absl::StatusOr<ClassesConfig> Read(const std::string& text) {
  YamlReader reader("f.yaml");
  ClassesConfig config;
  const YAML::Node node = YAML::Load(text);  // its nodes refer to it
  ReadClassesConfig(reader, node, "classes", &config);
  if (!reader.status().ok()) return reader.status();
  return config;
}

TEST(ClassesConfig, NothingIsOnByItself) {
  EXPECT_EQ(*Read("{}"), ClassesConfig());
}

TEST(ClassesConfig, EveryTypeIsRead) {
  const auto config = Read(R"(
rdt: {config_file: /etc/rdt.yaml, adopt: true, default: gold, capacity: {gold: 3}, group_prefix: k8s.}
blockio: {config_file: /etc/blockio.yaml, pods: true, annotations: [container, sandbox]}
oom: {classes: {low: 900, high: -500}, default: low}
pod-qos: {}
cgroup:
- name: memory-tier
  level: pod
  immutable: true
  classes:
    slow: {memory.high: 100M, cpu.idle: 1}
    fast: {}
)");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->rdt->config_file, "/etc/rdt.yaml");
  EXPECT_TRUE(config->rdt->adopt);
  EXPECT_EQ(config->rdt->group_prefix, "k8s.");
  EXPECT_EQ(config->rdt->resctrl_root, "/");
  EXPECT_EQ(config->rdt->common.default_class, "gold");
  EXPECT_THAT(config->rdt->common.capacity, ElementsAre(Pair("gold", 3u)));
  EXPECT_TRUE(config->blockio->pods);
  EXPECT_THAT(config->blockio->common.annotations, ElementsAre("container", "sandbox"));
  EXPECT_THAT(config->oom->classes, ElementsAre(Pair("high", -500), Pair("low", 900)));
  EXPECT_TRUE(config->pod_qos);
  ASSERT_EQ(config->cgroup.size(), 1u);
  EXPECT_EQ(config->cgroup[0].level, Level::kPod);
  EXPECT_TRUE(config->cgroup[0].immutable);
  EXPECT_THAT(config->cgroup[0].classes.at("slow"),
              ElementsAre(Pair("cpu.idle", "1"), Pair("memory.high", "100M")));
  EXPECT_TRUE(config->cgroup[0].classes.contains("fast"));
}

TEST(ClassesConfig, PodsHaveADefaultAndCapacityOfTheirOwn) {
  const auto config =
      Read("blockio: {config_file: /f, default: a, pods: {default: b, capacity: {b: 2}}}");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->blockio->pods);
  EXPECT_EQ(config->blockio->common.default_class, "a");
  EXPECT_EQ(config->blockio->of_pods.default_class, "b");
  EXPECT_THAT(config->blockio->of_pods.capacity, ElementsAre(Pair("b", 2u)));
  EXPECT_THAT(std::string(Read("blockio: {config_file: /f, pods: {x: 1}}").status().message()),
              HasSubstr("classes.blockio.pods: unknown field \"x\""));
}

TEST(ClassesConfig, AnnotationsCountByThemselvesOrNot) {
  EXPECT_EQ(Read("{}")->from, ClassesFrom::kAuto);
  EXPECT_EQ(Read("from: auto")->from, ClassesFrom::kAuto);
  EXPECT_EQ(Read("from: any")->from, ClassesFrom::kAny);
  const auto strict = Read("{from: scheduler, staticPods: true}");
  ASSERT_TRUE(strict.ok()) << strict.status();
  EXPECT_EQ(strict->from, ClassesFrom::kScheduler);
  EXPECT_TRUE(strict->static_pods);
  EXPECT_EQ(*Read("{from: , staticPods: }"), ClassesConfig());
}

TEST(ClassesConfig, MistakesAreToldWithTheirPlace) {
  const std::pair<const char*, const char*> wrong[] = {
      {"rdt: {}", "classes.rdt: \"config_file\" is missing"},
      {"rdt: {config_file: rdt.yaml}", "expected an absolute path"},
      {"rdt: {config_file: /a, adpot: true}",
       "classes.rdt: unknown field \"adpot\"; did you mean \"adopt\"?"},
      {"rdt: {config_file: /a, capacity: {gold: -1}}",
       "classes.rdt.capacity.gold: expected 0 (any number) to 1000000"},
      {"rdt: {config_file: /a, group_prefix: a/b}",
       "classes.rdt.group_prefix: expected up to 63 of abc"},
      {"rdt: {config_file: /a, resctrl_root: tree}",
       "classes.rdt.resctrl_root: expected an absolute path"},
      {"rdt: {config_file: /a, capacity: [1]}", "expected a mapping"},
      {"rdt: {config_file: /a, annotations: [pod]}", "expected container, default or sandbox"},
      {"oom: {}", "classes.oom: \"classes\" is missing"},
      {"oom: {classes: }", "classes.oom: \"classes\" is missing or has no value"},
      {"oom:", "f.yaml:1:1: classes.oom: has no value; give the type's settings, or leave the key"},
      {"pod-qos:", "classes.pod-qos: has no value; write {}"},
      {"oom: {classes: {low: 1001}}",
       "f.yaml:1:22: classes.oom.classes.low: expected an oom_score_adj, -1000 to 1000"},
      {"oom: {classes: {low: 1, low: 2}}", "is there twice"},
      {"pod-qos: {x: 1}", "classes.pod-qos: unknown field \"x\""},
      {"cgroup: [{name: a, level: node, classes: {}}]", "classes.cgroup[0].level"},
      {"cgroup: [{classes: {}}]", "classes.cgroup[0]: \"name\" is missing"},
      {"cgroup: [{name: a, classes: {b: 1}}]", "classes.cgroup[0].classes.b: expected a mapping"},
      {"from: kube", R"(classes.from: "kube" is not one of auto, any, scheduler)"},
      {"staticPods: [api]", "classes.staticPods: must be true or false"},
      {"rtd: {}", "did you mean \"rdt\"?"},
      {"[]", "classes"},
  };
  for (const auto& [text, message] : wrong) {
    const absl::Status status = Read(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message)) << text;
  }
}

}  // namespace
}  // namespace plimsoll::qos
