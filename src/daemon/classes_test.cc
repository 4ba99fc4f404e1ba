// From configuration to registry: each type's settings, on fake machines.
#include "daemon/classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/dir_for_test.h"
#include "linux/block_devices_for_test.h"
#include "linux/cgroup/v1.h"
#include "linux/cgroup/v2.h"
#include "qos/io_fake_tree_for_test.h"

namespace plimsoll::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr auto kPod = qos::Level::kPod;
constexpr auto kContainer = qos::Level::kContainer;

// A machine with a disk, and a class file for it. Containers and pods differ in their default and
// in a class's capacity.
class MakeClassesTest : public ::testing::Test {
 protected:
  MakeClassesTest() {
    machine_.AddDisk("sda", {8, 0}, "[none]");
    EXPECT_TRUE(dir_.root().MakeDirs("cgroup").ok());
    EXPECT_TRUE(dir_.root().ReplaceFile("io.yaml", "Classes: {slow: [], fast: []}\n").ok());
    config_.blockio.emplace();
    config_.blockio->config_file = "/io.yaml";
    config_.blockio->common.default_class = "slow";
    config_.blockio->common.capacity = {{"fast", 2}};
    config_.blockio->pods = true;
    config_.blockio->of_pods.default_class = "fast";
    config_.blockio->of_pods.capacity = {{"fast", 1}};
  }

  void Make(bool v2) {
    auto tree = std::make_shared<qos::IoFakeTree>(*dir_.root().Sub("cgroup"), v2);
    if (v2) {
      cgroups_ = std::make_unique<linux::CgroupV2>(tree);
    } else {
      cgroups_ = std::make_unique<linux::CgroupV1>(
          std::vector<linux::CgroupHierarchy>{{tree, {"blkio"}}}, nullptr);
    }
    auto made = MakeClasses(config_, {.host = dir_.root(), .cgroups = cgroups_.get()});
    ASSERT_TRUE(made.ok()) << made.status();
    registry_ = *std::move(made);
  }

  TestDir dir_;
  linux::BlockDevicesFixture machine_{dir_};
  qos::ClassesConfig config_;
  std::unique_ptr<linux::CgroupManager> cgroups_;
  std::unique_ptr<qos::Registry> registry_;
};

TEST_F(MakeClassesTest, PodsHaveADefaultAndRoomOfTheirOwn) {
  Make(/*v2=*/true);
  ASSERT_NE(registry_, nullptr);
  EXPECT_THAT(registry_->unavailable(), IsEmpty());
  EXPECT_EQ(registry_->Reserve(kPod, "p1", "pod a", {})->at("blockio").name, "fast");
  EXPECT_TRUE(absl::IsResourceExhausted(registry_->Reserve(kPod, "p2", "pod b", {}).status()));
  EXPECT_TRUE(registry_->Reserve(kPod, "p2", "pod b", {{"blockio", "slow"}}).ok());
  EXPECT_EQ(registry_->Reserve(kContainer, "c1", "container a", {})->at("blockio").name, "slow");
  for (const char* id : {"c2", "c3"}) {
    EXPECT_TRUE(registry_->Reserve(kContainer, id, id, {{"blockio", "fast"}}).ok()) << id;
  }
  const auto full = registry_->Reserve(kContainer, "c4", "container d", {{"blockio", "fast"}});
  EXPECT_EQ(full.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(full.status().message(), HasSubstr("its 2 places are taken"));
}

TEST_F(MakeClassesTest, WhatPodsCannotHaveOnV1IsLeftOutWithItsReason) {
  Make(/*v2=*/false);
  ASSERT_NE(registry_, nullptr);
  EXPECT_TRUE(registry_->Has(kContainer, "blockio"));
  EXPECT_FALSE(registry_->Has(kPod, "blockio"));
  ASSERT_EQ(registry_->unavailable().size(), 1u);
  EXPECT_EQ(registry_->unavailable()[0].level, kPod);
  EXPECT_THAT(registry_->unavailable()[0].reason,
              HasSubstr("blockio classes of pods need cgroup v2"));
}

TEST_F(MakeClassesTest, AClassFileThatIsWrongIsAnErrorAndNotAMissingType) {
  EXPECT_TRUE(dir_.root().ReplaceFile("io.yaml", "Classes: {slow: 5}\n").ok());
  auto tree = std::make_shared<qos::IoFakeTree>(*dir_.root().Sub("cgroup"), /*v2=*/true);
  cgroups_ = std::make_unique<linux::CgroupV2>(tree);
  const auto made = MakeClasses(config_, {.host = dir_.root(), .cgroups = cgroups_.get()});
  EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(made.status().message(), HasSubstr("/io.yaml:1:"));
}

TEST(AnnotationPolicyTest, IsThatOfEachType) {
  qos::ClassesConfig config;
  config.oom.emplace();
  config.oom->common.annotations = {"container"};
  config.cgroup.emplace_back();
  config.cgroup.back().name = "tier";
  config.cgroup.back().common.annotations = {"default", "sandbox"};
  config.pod_qos = true;  // no annotation asks for it
  EXPECT_THAT(AnnotationPolicyFrom(config),
              ElementsAre(Pair("oom", ElementsAre("container")),
                          Pair("tier", ElementsAre("default", "sandbox"))));
  config.blockio.emplace();
  config.blockio->pods = true;
  config.blockio->common.annotations = {"default", "sandbox"};
  EXPECT_THAT(AnnotationPolicyFrom(config).at("blockio"), ElementsAre("default", "sandbox"));
}

TEST(AnnotationPolicyTest, TypesOfOneNameHaveEachTheirs) {
  const auto type = [](qos::Level level, std::set<std::string> annotations) {
    qos::CgroupTypeConfig config;
    config.name = "tier";
    config.level = level;
    config.common.annotations = std::move(annotations);
    return config;
  };
  const auto containers = type(qos::Level::kContainer, {"default"});
  const auto pods = type(qos::Level::kPod, {"sandbox"});
  const auto neither = type(qos::Level::kPod, {"container", "default"});
  qos::ClassesConfig config;
  for (const auto& types : {std::vector{containers, pods}, std::vector{pods, containers}}) {
    config.cgroup = types;
    EXPECT_THAT(AnnotationPolicyFrom(config),
                ElementsAre(Pair("tier", ElementsAre("default", "sandbox"))));
  }
  config.cgroup = {neither, containers};
  EXPECT_THAT(AnnotationPolicyFrom(config), ElementsAre(Pair("tier", ElementsAre("default"))))
      << "what the type of pods lists is no permission for that of containers";
}

}  // namespace
}  // namespace plimsoll::daemon
