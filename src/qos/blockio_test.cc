#include "qos/blockio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/dir_for_test.h"
#include "linux/block_devices_for_test.h"
#include "linux/cgroup/v1.h"
#include "linux/cgroup/v2.h"
#include "qos/io_fake_tree_for_test.h"

namespace plimsoll::qos {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kGroup[] = "/pod/c";
constexpr char kClasses[] = R"(Classes:
  none: []
  slow:
  - Weight: 50
  - Devices: [/dev/sd*]
    ThrottleReadBps: 4Mi
    ThrottleWriteIOPS: 100
    Weight: 20
  - Devices: [/dev/sdb1]
    ThrottleReadBps: 8Mi
    ThrottleWriteIOPS: 0
  writes:
  - Devices: [/dev/sda]
    ThrottleWriteBps: 1000
)";

// A machine with sda (mq-deadline, iocost on v2) and sdb (bfq), and a container's group.
class BlockioTest : public testing::TestWithParam<bool> {
 protected:
  explicit BlockioTest(bool v2 = GetParam()) : v2_(v2) {
    machine_.AddDisk("sda", {8, 0}, "none [mq-deadline] bfq");
    machine_.AddDisk("sdb", {8, 16}, "none mq-deadline [bfq]");
    machine_.AddPartition("sdb", "sdb1", {8, 17});
    EXPECT_TRUE(dir_.root().MakeDirs("cgroup").ok());
    tree_ = std::make_shared<IoFakeTree>(*dir_.root().Sub("cgroup"), v2);
    tree_->disks = {"8:0", "8:16"};
    tree_->bfq = {"8:16"};
    tree_->io_cost = {"8:0"};
    if (v2) {
      tree_->Put("/", "io.cost.qos", "8:0 enable=1 ctrl=auto\n");
      cgroups_ = std::make_unique<linux::CgroupV2>(tree_);
    } else {
      cgroups_ = std::make_unique<linux::CgroupV1>(
          std::vector<linux::CgroupHierarchy>{{tree_, {"blkio"}}}, nullptr);
    }
    EXPECT_TRUE(cgroups_->Create(kGroup).ok());
    tree_->writes.clear();
    PutClasses(kClasses);
  }

  void PutClasses(absl::string_view text) {
    EXPECT_TRUE(dir_.root().ReplaceFile("io.yaml", text).ok());
  }

  absl::StatusOr<std::unique_ptr<BlockioType>> Make(BlockioOptions options = {}) {
    options.config_file = "/io.yaml";
    return BlockioType::Create(dir_.root(), cgroups_.get(), std::move(options));
  }

  Target Container() const {
    return {.id = "c",
            .name = "container web",
            .cgroup_path = kGroup,
            .init = {},
            .entering = {},
            .underlying = underlying_};
  }

  std::string Get(absl::string_view file) { return *tree_->Read(kGroup, file); }
  // Every difference from a new group, as "file: content".
  std::vector<std::string> Set() {
    std::vector<std::string> files;
    for (const FileContent& content : BlockioFiles(v2_)) {
      const std::string text = Get(content.file.name);
      if (ParseLines(content.file, text).empty()) continue;
      files.push_back(absl::StrCat(content.file.name, ": ", text));
    }
    return files;
  }
  std::vector<std::string> SlowFiles() const {
    if (v2_) {
      return {
          "io.max: 8:0 rbps=4194304 wbps=max riops=max wiops=100\n"
          "8:16 rbps=8388608 wbps=max riops=max wiops=max",
          "io.bfq.weight: default 50\n8:16 20", "io.weight: default 50\n8:0 20"};
    }
    return {"blkio.throttle.read_bps_device: 8:0 4194304\n8:16 8388608",
            "blkio.throttle.write_iops_device: 8:0 100", "blkio.bfq.weight: 50",
            "blkio.bfq.weight_device: default 50\n8:16 20"};
  }

  const bool v2_;
  TestDir dir_;
  linux::BlockDevicesFixture machine_{dir_};
  std::shared_ptr<IoFakeTree> tree_;
  std::unique_ptr<linux::CgroupManager> cgroups_;
  std::function<std::optional<std::string>(absl::string_view)> underlying_;
};

INSTANTIATE_TEST_SUITE_P(Versions, BlockioTest, testing::Bool(),
                         [](const auto& version) { return version.param ? "V2" : "V1"; });

TEST_P(BlockioTest, ListsClassesWithTheirMeaningHere) {
  const auto type = Make({.default_class = "none", .capacity = {{"slow", 3}}});
  ASSERT_TRUE(type.ok()) << type.status();
  EXPECT_EQ((*type)->name(), "blockio");
  EXPECT_EQ((*type)->default_class(), "none");
  EXPECT_FALSE((*type)->immutable());
  const auto classes = (*type)->classes();
  ASSERT_EQ(classes.size(), 3u);
  EXPECT_EQ(classes[0].name, "none");
  EXPECT_EQ(classes[0].meaning, "no limits");
  EXPECT_EQ(classes[1].capacity, 3u);
  EXPECT_EQ(classes[1].meaning,
            "default weight 50; sda: read 4 MiB/s, 100 writes/s, weight 20; sdb: read 8 MiB/s, "
            "weight 20");
  EXPECT_THAT((*type)->OwnedFiles("slow"), ElementsAre("io.max", "io.bfq.weight", "io.weight"));
  EXPECT_THAT((*type)->OwnedFiles("writes"), ElementsAre("io.max"));
  EXPECT_THAT((*type)->OwnedFiles("none"), IsEmpty());
}

TEST_P(BlockioTest, AssignWritesAndWhatFollowsTakesAway) {
  const auto type = *Make();
  ASSERT_TRUE(type->Assign(Container(), "", "slow").ok());
  EXPECT_EQ(Set(), SlowFiles());
  EXPECT_EQ(*type->Drift(Container(), "slow"), "");
  ASSERT_TRUE(type->Assign(Container(), "slow", "writes").ok());
  EXPECT_THAT(Set(), ElementsAre(v2_ ? "io.max: 8:0 rbps=max wbps=1000 riops=max wiops=max"
                                     : "blkio.throttle.write_bps_device: 8:0 1000"));
  ASSERT_TRUE(type->Assign(Container(), "writes", "none").ok());
  EXPECT_THAT(Set(), IsEmpty());
}

TEST_P(BlockioTest, ReleaseLeavesNothing) {
  const auto type = *Make();
  ASSERT_TRUE(type->Assign(Container(), "", "slow").ok());
  ASSERT_TRUE(type->Release(Container(), "slow").ok());
  EXPECT_THAT(Set(), IsEmpty());
  EXPECT_TRUE(type->Release(Container(), "slow").ok());
  ASSERT_TRUE(cgroups_->Remove(kGroup).ok());
  EXPECT_TRUE(type->Release(Container(), "slow").ok()) << "a group that is gone is no error";
  EXPECT_TRUE(absl::IsNotFound(type->Assign(Container(), "", "slow")));
}

TEST_P(BlockioTest, AClassThatNobodyKnowsAnyMoreIsTakenAwayWhole) {
  const auto before = *Make();
  ASSERT_TRUE(before->Assign(Container(), "", "slow").ok());
  PutClasses("Classes: {none: []}\n");
  const auto type = *Make();
  ASSERT_TRUE(type->Assign(Container(), "slow", "none").ok());
  EXPECT_THAT(Set(), IsEmpty());
}

TEST_P(BlockioTest, AnUnknownClassIsNotFoundAndTouchesNothing) {
  const auto type = *Make();
  const absl::Status status = type->Assign(Container(), "", "gold");
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("no blockio class \"gold\"; there are: none, slow, writes"));
  EXPECT_THAT(tree_->writes, IsEmpty());
}

TEST_P(BlockioTest, ARefusedAssignLeavesTheClassBefore) {
  const auto type = *Make();
  ASSERT_TRUE(type->Assign(Container(), "", "writes").ok());
  tree_->refuse[absl::StrCat(kGroup, "/", v2_ ? "io.weight" : "blkio.bfq.weight_device")] = EIO;
  const auto before = Set();
  const absl::Status status = type->Assign(Container(), "writes", "slow");
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("blockio class \"slow\" for container web"), HasSubstr("write \"")));
  EXPECT_EQ(Set(), before);
  EXPECT_EQ(*type->Drift(Container(), "writes"), "");
}

TEST_P(BlockioTest, DriftSaysWhichFileDiffers) {
  const auto type = *Make();
  ASSERT_TRUE(type->Assign(Container(), "", "writes").ok());
  if (v2_) {
    ASSERT_TRUE(tree_->Write(kGroup, "io.max", "8:0 wbps=2000").ok());
    EXPECT_EQ(*type->Drift(Container(), "writes"),
              "io.max of 8:0 is rbps=max wbps=2000 riops=max wiops=max instead of rbps=max "
              "wbps=1000 riops=max wiops=max");
  } else {
    ASSERT_TRUE(tree_->Write(kGroup, "blkio.throttle.write_bps_device", "8:0 0").ok());
    EXPECT_EQ(*type->Drift(Container(), "writes"),
              "blkio.throttle.write_bps_device of 8:0 is 0 instead of 1000");
  }
}

TEST_P(BlockioTest, WarnsOfWeightsWithoutEffectAndOfPatternsWithoutDisk) {
  PutClasses(
      "Classes:\n  a:\n  - {Devices: [/dev/sda, /dev/sdx], Weight: 20}\n  b:\n  - {Weight: 50}\n");
  const auto type = *Make();
  EXPECT_THAT(type->warnings(),
              Contains("blockio class a of a container: device pattern /dev/sdx: nothing matches"));
  const auto of_sda =
      HasSubstr("weight 20 has no effect on sda: its I/O scheduler \"mq-deadline\"");
  // On v2, iocost honours the weight.
  EXPECT_THAT(type->warnings(), Contains(of_sda).Times(v2_ ? 0 : 1));
  EXPECT_THAT(type->warnings(), Contains(HasSubstr("weight 50")).Times(0));
  machine_.SetScheduler("sdb", "[none]");
  if (v2_) tree_->Put("/", "io.cost.qos", "");
  EXPECT_THAT(type->warnings(), Contains(of_sda));
  EXPECT_THAT(type->warnings(), Contains(HasSubstr("weight 50 has no effect: no disk")));
}

TEST_P(BlockioTest, RefreshFollowsDisks) {
  const auto type = *Make();
  const Target target = Container();
  ASSERT_TRUE(type->Assign(target, "", "slow").ok());
  tree_->RemoveDisk(kGroup, "8:0");
  machine_.Remove("sda", {8, 0});
  machine_.AddDisk("sdc", {8, 32}, "[none]");
  tree_->disks.insert("8:32");
  ASSERT_TRUE(type->Refresh({{target, "slow"}}).ok());
  EXPECT_THAT(type->classes()[1].meaning, AllOf(HasSubstr("sdc: "), Not(HasSubstr("sda: "))));
  EXPECT_THAT(Get(v2_ ? "io.max" : "blkio.throttle.read_bps_device"),
              AllOf(HasSubstr("8:32 "), Not(HasSubstr("8:0 "))));
  EXPECT_EQ(*type->Drift(target, "slow"), "");
  // The disk went and came back between two looks: the kernel has forgotten its limits.
  tree_->RemoveDisk(kGroup, "8:32");
  tree_->disks.insert("8:32");
  EXPECT_NE(*type->Drift(target, "slow"), "");
  ASSERT_TRUE(type->Refresh({{target, "slow"}}).ok());
  EXPECT_EQ(*type->Drift(target, "slow"), "");
}

TEST_P(BlockioTest, RefreshFollowsSchedulers) {
  const auto type = *Make();
  ASSERT_TRUE(type->Assign(Container(), "", "slow").ok());
  machine_.SetScheduler("sda", "none [bfq]");
  tree_->bfq.insert("8:0");
  ASSERT_TRUE(type->Refresh({{Container(), "slow"}}).ok());
  EXPECT_THAT(Get(v2_ ? "io.bfq.weight" : "blkio.bfq.weight_device"), HasSubstr("8:0 20\n8:16 20"));
}

TEST_P(BlockioTest, ReloadChangesHolders) {
  const auto type = *Make();
  const Holders holders = {{Container(), "writes"}};
  ASSERT_TRUE(type->Assign(Container(), "", "writes").ok());
  PutClasses("Classes:\n  new: []\n  writes:\n  - {Devices: [/dev/sdb], ThrottleReadIOPS: 7}\n");
  auto reload = type->PrepareReload();
  ASSERT_TRUE(reload.ok()) << reload.status();
  EXPECT_THAT((*reload)->class_names(), ElementsAre("new", "writes"));
  EXPECT_THAT((*reload)->changes(),
              ElementsAre("class none goes", "class slow goes",
                          "class writes: sda: write 1000 B/s becomes sdb: 7 reads/s",
                          "class new comes: no limits"));
  EXPECT_EQ(type->classes().size(), 3u) << "nothing is in force yet";
  const auto before = Set();
  ASSERT_TRUE((*reload)->Commit(holders).ok());
  EXPECT_EQ(type->classes().size(), 2u);
  EXPECT_THAT(Set(), ElementsAre(v2_ ? "io.max: 8:16 rbps=max wbps=max riops=7 wiops=max"
                                     : "blkio.throttle.read_iops_device: 8:16 7"));
  ASSERT_TRUE((*reload)->Revert(holders).ok());
  EXPECT_EQ(Set(), before);
  EXPECT_EQ(type->classes().size(), 3u);
}

TEST_P(BlockioTest, AReloadSaysWhatItPutsRight) {
  const auto type = *Make();
  ASSERT_TRUE(type->Assign(Container(), "", "writes").ok());
  const auto reload = [&] {
    const auto pending = type->PrepareReload();
    if (!pending.ok()) return std::vector<std::string>{pending.status().ToString()};
    EXPECT_THAT((*pending)->changes(), IsEmpty());
    EXPECT_TRUE((*pending)->Commit({{Container(), "writes"}}).ok());
    return (*pending)->put_right();
  };
  EXPECT_THAT(reload(), IsEmpty());
  const auto right = Set();
  const absl::Status written =
      v2_ ? tree_->Write(kGroup, "io.max", "8:0 wbps=2000")
          : tree_->Write(kGroup, "blkio.throttle.write_bps_device", "8:0 2000");
  ASSERT_TRUE(written.ok()) << written;
  EXPECT_THAT(
      reload(),
      ElementsAre(AllOf(StartsWith("class writes of container web is put right (found: "),
                        HasSubstr(" of 8:0 is "), HasSubstr("2000"), HasSubstr(" instead of "))));
  EXPECT_EQ(Set(), right);
  EXPECT_THAT(reload(), IsEmpty());
}

// The new file's warnings, told before it is in force.
TEST_P(BlockioTest, AReloadKnowsItsWarnings) {
  const auto type = *Make();
  PutClasses("Classes:\n  writes:\n  - {Devices: [/dev/sdz], ThrottleReadIOPS: 7}\n");
  const auto pending = type->PrepareReload();
  ASSERT_TRUE(pending.ok()) << pending.status();
  EXPECT_THAT(
      (*pending)->warnings(),
      ElementsAre(HasSubstr("blockio class writes of a container: device pattern /dev/sdz")));
  EXPECT_THAT(type->warnings(), Not(Contains(HasSubstr("/dev/sdz"))));
}

TEST_P(BlockioTest, AReloadThatOneHolderRefusesChangesNone) {
  const auto type = *Make();
  ASSERT_TRUE(cgroups_->Create("/pod/d").ok());
  Target second = Container();
  second.cgroup_path = "/pod/d";
  const Holders holders = {{Container(), "writes"}, {second, "writes"}};
  for (const auto& [target, name] : holders) ASSERT_TRUE(type->Assign(target, "", name).ok());
  const auto before = Set();
  PutClasses("Classes:\n  writes:\n  - {Devices: [/dev/sdb], ThrottleReadIOPS: 7}\n");
  const auto reload = type->PrepareReload();
  ASSERT_TRUE(reload.ok());
  tree_->refuse[v2_ ? "/pod/d/io.max" : "/pod/d/blkio.throttle.read_iops_device"] = EIO;
  EXPECT_FALSE((*reload)->Commit(holders).ok());
  EXPECT_EQ(Set(), before);
  EXPECT_EQ(type->classes().size(), 3u);
}

TEST_P(BlockioTest, AHolderThatCannotBeSetBackAfterARefusedReloadIsTold) {
  const auto type = *Make();
  ASSERT_TRUE(cgroups_->Create("/pod/d").ok());
  const std::string file = v2_ ? "io.max" : "blkio.throttle.write_bps_device";
  Target second = Container();
  second.cgroup_path = "/pod/d";
  // The hook runs when the second holder's turn has come: from then on neither group takes any
  // write.
  second.underlying = [&](absl::string_view) -> std::optional<std::string> {
    for (const char* group : {"/pod/c", "/pod/d"}) {
      tree_->refuse[absl::StrCat(group, "/", file)] = EIO;
    }
    return std::nullopt;
  };
  const Holders holders = {{Container(), "writes"}, {second, "writes"}};
  for (const auto& [target, name] : holders) ASSERT_TRUE(type->Assign(target, "", name).ok());
  PutClasses("Classes:\n  writes:\n  - {Weight: 50}\n");
  const auto reload = type->PrepareReload();
  ASSERT_TRUE(reload.ok()) << reload.status();
  const absl::Status status = (*reload)->Commit(holders);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("/pod/d/" + file), HasSubstr("; and not set back: "),
                    HasSubstr("/pod/c/" + file)));
  EXPECT_EQ(type->classes().size(), 3u);
}

TEST_P(BlockioTest, ABadFileChangesNothing) {
  const auto type = *Make({.default_class = "slow"});
  PutClasses("Classes: {a: 5}\n");
  EXPECT_TRUE(absl::IsInvalidArgument(type->PrepareReload().status()));
  PutClasses("Classes: {a: []}\n");
  const absl::Status status = type->PrepareReload().status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("no blockio class \"slow\""));
  EXPECT_EQ(type->classes().size(), 3u);
}

TEST_P(BlockioTest, DefaultAndCapacityMustNameClasses) {
  for (const BlockioOptions& options :
       {BlockioOptions{.default_class = "gold"}, BlockioOptions{.capacity = {{"gold", 1}}}}) {
    const absl::Status status = Make(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(
        std::string(status.message()),
        HasSubstr("io.yaml: there is no blockio class \"gold\"; there are: none, slow, writes "
                  "(named as default, or with a capacity)"));
  }
}

TEST_P(BlockioTest, PodsHaveItOnV2Only) {
  const auto type = Make({.level = Level::kPod, .default_class = "slow"});
  ASSERT_TRUE(type.ok()) << type.status();
  EXPECT_EQ((*type)->level(), Level::kPod);
  Target pod = Container();
  pod.level = Level::kPod;
  pod.cgroup_path = "/pod";
  if (v2_) {
    EXPECT_TRUE((*type)->Assign(pod, "", "slow").ok());
    EXPECT_THAT(*tree_->Read("/pod", "io.max"), HasSubstr("8:0 rbps=4194304"));
    return;
  }
  EXPECT_THAT((*type)->classes(), IsEmpty());
  EXPECT_EQ((*type)->default_class(), "");
  EXPECT_THAT((*type)->warnings(),
              ElementsAre("blockio classes of pods need cgroup v2: on v1 a group's throttles don't "
                          "bind the groups below it"));
  const absl::Status refused = (*type)->Assign(pod, "", "slow");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("need cgroup v2"));
  EXPECT_TRUE((*type)->Release(pod, "slow").ok());
}

TEST_P(BlockioTest, AMachineWithoutTheControllerSaysSo) {
  const auto other = std::make_shared<IoFakeTree>(*dir_.root().Sub("dev"), false);
  linux::CgroupV1 cgroups({{other, {"cpu"}}}, nullptr);
  BlockioOptions options;
  options.config_file = "/io.yaml";
  const auto type = BlockioType::Create(dir_.root(), &cgroups, options);
  ASSERT_TRUE(type.ok()) << type.status();
  EXPECT_THAT(
      (*type)->warnings(),
      ElementsAre(
          "blockio classes need the cgroup controller \"blkio\", and this machine lacks it"));
  EXPECT_TRUE(absl::IsFailedPrecondition((*type)->Assign(Container(), "", "slow")));
}

class BlockioV2Test : public BlockioTest {
 protected:
  BlockioV2Test() : BlockioTest(true) {}
};

// io.max refuses 1.
TEST_P(BlockioTest, AThrottleOfOneIsTakenWhereTheKernelTakesIt) {
  PutClasses("Classes:\n  least:\n  - Devices: [/dev/sda]\n    ThrottleReadBps: 0.5\n");
  const auto type = Make();
  if (v2_) {
    EXPECT_THAT(std::string(type.status().message()),
                HasSubstr("must be 0 (unlimited) or at least 2 with cgroup v2"));
    return;
  }
  ASSERT_TRUE(type.ok()) << type.status();
  ASSERT_TRUE((*type)->Assign(Container(), "", "least").ok());
  EXPECT_THAT(Set(), ElementsAre("blkio.throttle.read_bps_device: 8:0 1"));
}

TEST_F(BlockioV2Test, WhatAClientAskedForComesBackWhenTheClassGoes) {
  underlying_ = [](absl::string_view file) -> std::optional<std::string> {
    if (file == "io.max") return "8:16 rbps=777 wbps=max riops=max wiops=max";
    if (file == "io.weight") return "300";
    return std::nullopt;
  };
  ASSERT_TRUE(tree_->Write(kGroup, "io.max", "8:16 rbps=777").ok());
  const auto type = *Make();
  ASSERT_TRUE(type->Assign(Container(), "", "writes").ok());
  EXPECT_EQ(Get("io.max"), "8:0 rbps=max wbps=1000 riops=max wiops=max");
  ASSERT_TRUE(type->Assign(Container(), "writes", "slow").ok());
  ASSERT_TRUE(type->Assign(Container(), "slow", "none").ok());
  EXPECT_EQ(Get("io.max"), "8:16 rbps=777 wbps=max riops=max wiops=max");
  EXPECT_EQ(Get("io.weight"), "default 300");
  EXPECT_EQ(Get("io.bfq.weight"), "default 100");
}

// The file was changed while no daemon ran.
TEST_P(BlockioTest, WhoIsAdoptedGetsWhatTheClassMeansNow) {
  const auto before = *Make();
  ASSERT_TRUE(before->Assign(Container(), "", "slow").ok());
  const std::vector<std::string> files = before->OwnedFiles("slow");
  PutClasses("Classes: {slow: [{Devices: [/dev/sda], ThrottleReadBps: 1000}]}");
  const auto now = *Make();
  ASSERT_TRUE(now->Adopt(Container(), "slow", files).ok());
  EXPECT_THAT(Set(), ElementsAre(v2_ ? "io.max: 8:0 rbps=1000 wbps=max riops=max wiops=max"
                                     : "blkio.throttle.read_bps_device: 8:0 1000"));
  EXPECT_EQ(*now->Drift(Container(), "slow"), "");
}

}  // namespace
}  // namespace plimsoll::qos
