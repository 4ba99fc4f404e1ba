#include "qos/cgroup_class.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

#include "base/dir_for_test.h"
#include "linux/cgroup/fake_tree_for_test.h"
#include "linux/cgroup/v1.h"
#include "linux/cgroup/v2.h"
#include "qos/registry.h"

namespace plimsoll::qos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kClassGroup[] = "/pod/c";

// cpu.idle and cpu.weight as kernel/sched/fair.c has them.
class SchedFakeTree : public linux::FakeCgroupTree {
 public:
  explicit SchedFakeTree(const FsRoot& mount)
      : FakeCgroupTree(mount,
                       {{"cpu", {{"cpu.idle", "0\n"}, {"cpu.weight", "100\n"}}},
                        {"memory", {{"memory.high", "max\n"}, {"memory.low", "0\n"}}}},
                       /*v2=*/true) {}

  absl::Status Write(absl::string_view group, absl::string_view file,
                     absl::string_view value) override {
    if (file == "cpu.weight" && *Read(group, "cpu.idle") == "1") {
      return ErrnoStatus(EINVAL, absl::StrCat("write \"", value, "\" to ", file));
    }
    PLIMSOLL_RETURN_IF_ERROR(FakeCgroupTree::Write(group, file, value));
    if (file == "cpu.idle") Put(group, "cpu.weight", value == "1" ? "0\n" : "100\n");
    return absl::OkStatus();
  }
};

class CgroupClassTest : public testing::Test {
 protected:
  CgroupClassTest() {
    EXPECT_TRUE(cgroups_.Create(kClassGroup).ok());
    tree_->writes.clear();
  }

  static CgroupTypeConfig Config() {
    return {.name = "tier",
            .classes = {{"slow", {{"memory.high", "512Mi"}, {"cpu.weight", "20"}}},
                        {"idle", {{"cpu.idle", "1"}, {"memory.low", "4Ki"}}},
                        {"fast", {}}}};
  }
  std::unique_ptr<CgroupClassType> Make(CgroupTypeConfig config = Config()) {
    auto type = CgroupClassType::Create(&cgroups_, std::move(config));
    EXPECT_TRUE(type.ok()) << type.status();
    return *std::move(type);
  }
  std::string MistakeOf(const CgroupTypeConfig& config) {
    const absl::Status status = CgroupClassType::Create(&cgroups_, config).status();
    return status.ok() ? "none" : std::string(status.message());
  }
  Target Container() const {
    return {.id = "c",
            .name = "container web",
            .cgroup_path = kClassGroup,
            .init = {},
            .entering = {},
            .underlying = underlying_};
  }
  std::string Get(absl::string_view file) { return *tree_->Read(kClassGroup, file); }

  TestDir dir_;
  std::shared_ptr<SchedFakeTree> tree_ = std::make_shared<SchedFakeTree>(dir_.root());
  linux::CgroupV2 cgroups_{tree_};
  std::function<std::optional<std::string>(absl::string_view)> underlying_;
};

TEST_F(CgroupClassTest, IsWhatTheConfigurationSays) {
  CgroupTypeConfig config = Config();
  config.level = Level::kPod;
  config.immutable = true;
  config.common.default_class = "fast";
  config.common.capacity = {{"slow", 2}};
  const auto type = Make(config);
  EXPECT_EQ(type->name(), "tier");
  EXPECT_EQ(type->level(), Level::kPod);
  EXPECT_TRUE(type->immutable());
  EXPECT_EQ(type->default_class(), "fast");
  const auto classes = type->classes();
  ASSERT_EQ(classes.size(), 3u);
  EXPECT_EQ(classes[0].name, "fast");
  EXPECT_EQ(classes[0].meaning, "sets nothing");
  EXPECT_EQ(classes[2].meaning, "cpu.weight 20; memory.high 536870912");
  EXPECT_EQ(classes[2].capacity, 2u);
  EXPECT_THAT(type->warnings(), IsEmpty());
  EXPECT_THAT(type->OwnedFiles("slow"), ElementsAre("cpu.weight", "memory.high"));
  EXPECT_THAT(type->OwnedFiles("idle"), ElementsAre("cpu.idle", "memory.low", "cpu.weight"));
  EXPECT_THAT(type->OwnedFiles("none"), IsEmpty());
}

TEST_F(CgroupClassTest, ClassesReplaceEachOtherAndGo) {
  const auto type = Make();
  ASSERT_TRUE(type->Assign(Container(), "", "slow").ok());
  EXPECT_EQ(Get("memory.high"), "536870912");
  EXPECT_EQ(Get("cpu.weight"), "20");
  EXPECT_EQ(*type->Drift(Container(), "slow"), "");
  ASSERT_TRUE(type->Assign(Container(), "slow", "idle").ok());
  EXPECT_EQ(Get("memory.high"), "max");
  EXPECT_EQ(Get("cpu.idle"), "1");
  EXPECT_EQ(Get("memory.low"), "4096");
  EXPECT_EQ(*type->Drift(Container(), "idle"), "");
  ASSERT_TRUE(type->Assign(Container(), "idle", "idle").ok()) << "again, as after a restart";
  ASSERT_TRUE(type->Assign(Container(), "idle", "slow").ok());
  EXPECT_EQ(Get("cpu.idle"), "0");
  EXPECT_EQ(Get("cpu.weight"), "20");
  EXPECT_EQ(Get("memory.low"), "0");
  ASSERT_TRUE(type->Release(Container(), "slow").ok());
  EXPECT_EQ(Get("cpu.weight"), "100");
  EXPECT_EQ(Get("memory.high"), "max");
}

TEST_F(CgroupClassTest, WhatTheClientAskedForComesBack) {
  underlying_ = [](absl::string_view file) -> std::optional<std::string> {
    if (file == "cpu.weight") return "39";
    if (file == "memory.high") return "1G";
    return std::nullopt;
  };
  const auto type = Make();
  ASSERT_TRUE(type->Assign(Container(), "", "idle").ok());
  ASSERT_TRUE(type->Assign(Container(), "idle", "fast").ok());
  EXPECT_EQ(Get("cpu.weight"), "39") << "an end of cpu.idle sets it to 100";
  ASSERT_TRUE(type->Assign(Container(), "fast", "slow").ok());
  ASSERT_TRUE(type->Assign(Container(), "slow", "").ok());
  EXPECT_EQ(Get("cpu.weight"), "39");
  EXPECT_EQ(Get("memory.high"), "999997440");
}

TEST_F(CgroupClassTest, ARefusalOfTheSecondFileUndoesTheFirst) {
  const auto type = Make();
  ASSERT_TRUE(type->Assign(Container(), "", "slow").ok());
  tree_->refuse["/pod/c/memory.low"] = EINVAL;
  const absl::Status status = type->Assign(Container(), "slow", "idle");
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("tier class \"idle\" for container web: write \"4096\" to "
                        "/pod/c/memory.low"));
  EXPECT_EQ(Get("cpu.idle"), "0");
  EXPECT_EQ(Get("cpu.weight"), "20");
  EXPECT_EQ(Get("memory.high"), "536870912");
  EXPECT_EQ(*type->Drift(Container(), "slow"), "");
}

TEST_F(CgroupClassTest, DriftAndVanishedClassesAndGroups) {
  const auto type = Make();
  ASSERT_TRUE(type->Assign(Container(), "", "slow").ok());
  ASSERT_TRUE(tree_->Write(kClassGroup, "memory.high", "8192").ok());
  EXPECT_EQ(*type->Drift(Container(), "slow"), "memory.high is 8192 instead of 536870912");
  ASSERT_TRUE(type->Assign(Container(), "was-renamed", "fast").ok());
  EXPECT_EQ(Get("memory.high"), "max");
  const absl::Status unknown = type->Assign(Container(), "fast", "gold");
  EXPECT_TRUE(absl::IsNotFound(unknown));
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("there are: fast, idle, slow"));
  ASSERT_TRUE(cgroups_.Remove(kClassGroup).ok());
  EXPECT_TRUE(type->Release(Container(), "slow").ok());
  EXPECT_TRUE(absl::IsNotFound(type->Drift(Container(), "slow").status()));
}

TEST_F(CgroupClassTest, MistakesAreToldByTypeClassAndFile) {
  const auto with = [](std::map<std::string, std::string> values) {
    return CgroupTypeConfig{.name = "tier", .classes = {{"a", std::move(values)}}};
  };
  EXPECT_THAT(MistakeOf(with({{"memory.hgih", "1"}})),
              HasSubstr("class type \"tier\": class \"a\": a class can't set the file"));
  EXPECT_THAT(MistakeOf(with({{"memory.high", "x"}})), HasSubstr("memory.high is \"x\""));
  EXPECT_THAT(MistakeOf(with({{"cpu.idle", "1"}, {"cpu.weight", "5"}})),
              HasSubstr("has no cpu.weight"));
  EXPECT_EQ(MistakeOf(with({{"cpu.idle", "0"}, {"cpu.weight", "5"}})), "none");
  EXPECT_THAT(MistakeOf({.name = "tier"}), HasSubstr("it has no classes"));
  EXPECT_THAT(MistakeOf({.name = "-x", .classes = {{"a", {}}}}), HasSubstr("type name \"-x\""));
  EXPECT_EQ(MistakeOf({.name = "rdt", .classes = {{"a", {}}}}),
            "class type \"rdt\": there is a type of that name");
  EXPECT_THAT(MistakeOf({.name = "tier", .classes = {{"a b", {}}}}), HasSubstr("name \"a b\""));
  CgroupTypeConfig config = Config();
  config.common.default_class = "gold";
  EXPECT_EQ(
      MistakeOf(config),
      "class type \"tier\": there is no tier class \"gold\"; there are: fast, idle, slow (named "
      "as default, or with a capacity)");
  config = Config();
  config.common.capacity = {{"gold", 1}};
  EXPECT_THAT(MistakeOf(config), HasSubstr("there is no tier class \"gold\""));
}

TEST_F(CgroupClassTest, WithoutTheControllerItSaysSo) {
  const auto type = Make({.name = "tier", .classes = {{"few", {{"pids.max", "5"}}}}});
  EXPECT_THAT(type->warnings(),
              ElementsAre("tier classes that set files of controller pids can't be assigned: this "
                          "machine does not have it"));
  const absl::Status status = type->Assign(Container(), "", "few");
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("has no file pids.max: this kernel lacks it, or controller \"pids\" is not "
                        "enabled for the group"));
}

TEST_F(CgroupClassTest, OnV1ThereAreClassesThatSetNothing) {
  TestDir dir;
  const auto tree = std::make_shared<linux::FakeCgroupTree>(
      dir.root(), linux::FakeCgroupTree::Files{{"cpu", {}}}, /*v2=*/false);
  linux::CgroupV1 cgroups({{tree, {"cpu"}}}, nullptr);
  CgroupTypeConfig config{.name = "lane", .classes = {{"fast", {}}, {"slow", {}}}};
  config.common.default_class = "slow";
  const auto type = *CgroupClassType::Create(&cgroups, config);
  EXPECT_EQ(type->unavailable(), "");
  EXPECT_EQ(type->classes().size(), 2u);
  EXPECT_EQ(type->default_class(), "slow");
  EXPECT_TRUE(type->Assign(Container(), "", "fast").ok());
  EXPECT_TRUE(type->Adopt(Container(), "fast", {}).ok());
  EXPECT_EQ(*type->Drift(Container(), "fast"), "");
  EXPECT_TRUE(type->Release(Container(), "fast").ok());
}

TEST_F(CgroupClassTest, OnV1ThereAreNone) {
  TestDir dir;
  const auto tree = std::make_shared<linux::FakeCgroupTree>(
      dir.root(), linux::FakeCgroupTree::Files{{"cpu", {}}}, /*v2=*/false);
  linux::CgroupV1 cgroups({{tree, {"cpu"}}}, nullptr);
  CgroupTypeConfig config = Config();
  config.common.default_class = "slow";
  const auto type = *CgroupClassType::Create(&cgroups, config);
  EXPECT_THAT(type->unavailable(), HasSubstr("tier classes need cgroup v2"));
  EXPECT_THAT(type->warnings(), ElementsAre(type->unavailable()));
  EXPECT_THAT(type->classes(), IsEmpty());
  EXPECT_EQ(type->default_class(), "");
  EXPECT_TRUE(absl::IsFailedPrecondition(type->Assign(Container(), "", "slow")));
  EXPECT_TRUE(type->Release(Container(), "slow").ok());
}

// The configuration has changed since the container was started.
TEST_F(CgroupClassTest, WhoIsAdoptedGetsWhatTheClassMeansNow) {
  CgroupTypeConfig config = Config();
  config.classes["slow"] = {{"memory.high", "256Mi"}, {"cpu.weight", "20"}};
  const auto before = Make(config);
  ASSERT_TRUE(before->Assign(Container(), "", "slow").ok());
  config.classes["slow"] = {{"memory.high", "512Mi"}};
  config.classes["idle"] = {{"memory.low", "4Ki"}};  // no class names cpu.weight any more
  const auto now = Make(config);
  ASSERT_TRUE(now->Adopt(Container(), "slow", before->OwnedFiles("slow")).ok());
  EXPECT_EQ(Get("memory.high"), "536870912");
  EXPECT_EQ(Get("cpu.weight"), "100");
  tree_->writes.clear();
  ASSERT_TRUE(now->Adopt(Container(), "slow", now->OwnedFiles("slow")).ok());
  EXPECT_THAT(tree_->writes, IsEmpty()) << "what is so already";
  ASSERT_TRUE(cgroups_.Remove(kClassGroup).ok());
  EXPECT_TRUE(now->Adopt(Container(), "slow", {}).ok()) << "it has ended";
}

TEST_F(CgroupClassTest, AWeightThatComesWithIdlingIsExplainedToAnotherTypesOwner) {
  const CgroupTypeConfig idle{.name = "tier", .classes = {{"idle", {{"cpu.idle", "1"}}}}};
  const CgroupTypeConfig weight{.name = "boost", .classes = {{"fast", {{"cpu.weight", "300"}}}}};
  for (const auto& [one, other] : {std::pair(idle, weight), std::pair(weight, idle)}) {
    std::vector<std::unique_ptr<ClassType>> types;
    types.push_back(Make(one));
    types.push_back(Make(other));
    const absl::Status status = Registry::Create(std::move(types)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("both set cpu.weight of a container; a file belongs to one type, and "
                          "cpu.idle, which \"tier\" sets, changes cpu.weight too"));
  }
}

}  // namespace
}  // namespace plimsoll::qos
