#include "qos/control_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/dir_for_test.h"
#include "linux/cgroup/v2.h"
#include "qos/blockio_plan.h"
#include "qos/io_fake_tree_for_test.h"

namespace plimsoll::qos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const ControlFile kMax = {.controller = "io",
                          .name = "io.max",
                          .keyed = true,
                          .reset = "rbps=max wbps=max riops=max wiops=max"};
const ControlFile kWeight = {.controller = "io",
                             .name = "io.weight",
                             .keyed = true,
                             .reset = "default",
                             .default_value = "100",
                             .optional = true};
const ControlFile kHigh = {.controller = "memory", .name = "memory.high", .reset = "max"};

TEST(ControlFiles, WhatTheKernelHasAnywayIsNoLine) {
  EXPECT_THAT(ParseLines(kHigh, "max\n"), IsEmpty());
  EXPECT_THAT(ParseLines(kHigh, "4096\n"), ElementsAre(Pair("", "4096")));
  EXPECT_THAT(ParseLines(kWeight, "default 100\n"), IsEmpty());
  EXPECT_THAT(ParseLines(kWeight, "default 50\n8:0 20\n"),
              ElementsAre(Pair("8:0", "20"), Pair("default", "50")));
  EXPECT_THAT(ParseLines(kWeight, "200"), ElementsAre(Pair("default", "200")));
  ControlFile repeats = kWeight;
  repeats.default_value = "";
  EXPECT_THAT(ParseLines(repeats, "default 50\n8:0 20\n"), ElementsAre(Pair("8:0", "20")));
}

class ControlFilesTest : public testing::Test {
 protected:
  ControlFilesTest() {
    EXPECT_TRUE(cgroups_.Create("/a").ok());
    tree_->disks = {"8:0", "8:16"};
    tree_->io_cost = {"8:0"};
    tree_->Put("/a", "memory.high", "max\n");
    tree_->writes.clear();
  }

  TestDir dir_;
  std::shared_ptr<IoFakeTree> tree_ = std::make_shared<IoFakeTree>(dir_.root(), /*v2=*/true);
  linux::CgroupV2 cgroups_{tree_};
};

TEST_F(ControlFilesTest, WritesOnlyWhatDiffers) {
  const std::vector<FileContent> wanted = {
      {kMax, {{"8:0", "rbps=5000 wbps=max riops=max wiops=max"}}},
      {kWeight, {{"default", "50"}, {"8:0", "20"}}},
      {kHigh, {{"", "4096"}}}};
  EXPECT_THAT(
      *CompareFiles(cgroups_, "/a", wanted),
      "io.max of 8:0 is rbps=max wbps=max riops=max wiops=max instead of rbps=5000 wbps=max "
      "riops=max wiops=max");
  ASSERT_TRUE(ApplyFiles(cgroups_, "/a", wanted).ok());
  EXPECT_THAT(tree_->writes,
              ElementsAre("/a/io.max=8:0 rbps=5000 wbps=max riops=max wiops=max",
                          "/a/io.weight=default 50", "/a/io.weight=8:0 20", "/a/memory.high=4096"));
  EXPECT_EQ(*CompareFiles(cgroups_, "/a", wanted), "");
  tree_->writes.clear();
  ASSERT_TRUE(ApplyFiles(cgroups_, "/a", wanted).ok());
  EXPECT_THAT(tree_->writes, IsEmpty());
}

TEST_F(ControlFilesTest, LinesThatAreNotWantedGo) {
  ASSERT_TRUE(ApplyFiles(cgroups_, "/a",
                         {{kMax, {{"8:0", "rbps=5000 wbps=max riops=max wiops=max"}}},
                          {kWeight, {{"default", "50"}, {"8:0", "20"}}},
                          {kHigh, {{"", "4096"}}}})
                  .ok());
  ASSERT_TRUE(ApplyFiles(cgroups_, "/a", {{kMax, {}}, {kWeight, {}}, {kHigh, {}}}).ok());
  EXPECT_EQ(*tree_->Read("/a", "io.max"), "");
  EXPECT_EQ(*tree_->Read("/a", "io.weight"), "default 100");
  EXPECT_EQ(*tree_->Read("/a", "memory.high"), "max");
}

// BFQ forgets the weights of disks when it is given a default.
TEST_F(ControlFilesTest, ADefaultLeavesTheWeightsOfDisks) {
  ControlFile bfq = kWeight;
  bfq.name = "io.bfq.weight";
  tree_->bfq = {"8:0"};
  ASSERT_TRUE(ApplyFiles(cgroups_, "/a", {{bfq, {{"default", "50"}, {"8:0", "20"}}}}).ok());
  EXPECT_EQ(*tree_->Read("/a", "io.bfq.weight"), "default 50\n8:0 20");
  ASSERT_TRUE(ApplyFiles(cgroups_, "/a", {{bfq, {{"default", "60"}, {"8:0", "20"}}}}).ok());
  EXPECT_EQ(*tree_->Read("/a", "io.bfq.weight"), "default 60\n8:0 20");
  tree_->refuse["/a/memory.high"] = EINVAL;
  EXPECT_FALSE(
      ApplyFiles(cgroups_, "/a", {{bfq, {{"default", "70"}, {"8:0", "30"}}}, {kHigh, {{"", "x"}}}})
          .ok());
  EXPECT_EQ(*tree_->Read("/a", "io.bfq.weight"), "default 60\n8:0 20");
}

TEST_F(ControlFilesTest, ARefusalUndoesWhatCameBefore) {
  ASSERT_TRUE(ApplyFiles(cgroups_, "/a", {{kWeight, {{"default", "70"}}}}).ok());
  tree_->refuse["/a/memory.high"] = EINVAL;
  const absl::Status status =
      ApplyFiles(cgroups_, "/a",
                 {{kMax, {{"8:0", "rbps=5000 wbps=max riops=max wiops=max"}}},
                  {kWeight, {{"default", "50"}, {"8:0", "20"}}},
                  {kHigh, {{"", "4096"}}}});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("write \"4096\" to /a/memory.high"));
  EXPECT_EQ(*tree_->Read("/a", "io.max"), "");
  EXPECT_EQ(*tree_->Read("/a", "io.weight"), "default 70");
}

TEST_F(ControlFilesTest, SaysWhatCouldNotBeSetBack) {
  // A file that takes one write and refuses the next: that can happen between a write and its undo.
  class Fickle : public IoFakeTree {
   public:
    using IoFakeTree::IoFakeTree;
    absl::Status Write(absl::string_view group, absl::string_view file,
                       absl::string_view value) override {
      PLIMSOLL_RETURN_IF_ERROR(IoFakeTree::Write(group, file, value));
      refuse[absl::StrCat(group, "/", file)] = EIO;
      return absl::OkStatus();
    }
  };
  TestDir dir;
  const auto tree = std::make_shared<Fickle>(dir.root(), /*v2=*/true);
  linux::CgroupV2 cgroups(tree);
  ASSERT_TRUE(cgroups.Create("/a").ok());
  tree->disks = {"8:0"};
  const absl::Status status =
      ApplyFiles(cgroups, "/a", {{kWeight, {{"default", "50"}}}, {kHigh, {{"", "4096"}}}});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("has no file memory.high"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("; and not set back: "));
}

TEST_F(ControlFilesTest, AFileMayBeMissingOnlyWhereThatIsSaid) {
  ASSERT_TRUE(dir_.root().RemoveFile("a/io.weight").ok());
  ASSERT_TRUE(dir_.root().RemoveFile("a/io.max").ok());
  EXPECT_TRUE(ApplyFiles(cgroups_, "/a", {{kWeight, {{"default", "50"}}}}).ok());
  const absl::Status status = ApplyFiles(cgroups_, "/a", {{kMax, {}}});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("cgroup /a has no file io.max"));
}

TEST_F(ControlFilesTest, AGroupThatIsGoneIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(ApplyFiles(cgroups_, "/none", {{kMax, {}}})));
  EXPECT_TRUE(absl::IsNotFound(CompareFiles(cgroups_, "/none", {{kMax, {}}}).status()));
}

TEST_F(ControlFilesTest, ADeviceThatIsGoneIsPassedOver) {
  EXPECT_TRUE(
      ApplyFiles(cgroups_, "/a", {{kMax, {{"9:9", "rbps=5000 wbps=max riops=max wiops=max"}}}})
          .ok());
}

}  // namespace
}  // namespace plimsoll::qos
