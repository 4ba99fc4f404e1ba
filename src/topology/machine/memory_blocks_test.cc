#include "topology/machine/memory_blocks.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll::topology {
namespace {

class MemoryBlocksTest : public ::testing::Test {
 protected:
  void Put(const std::string& file, const std::string& text) {
    const std::string path = "sys/devices/system/memory/" + file;
    ASSERT_TRUE(dir_.root().MakeDirs(path.substr(0, path.rfind('/'))).ok());
    ASSERT_TRUE(dir_.root().ReplaceFile(path, text + "\n").ok());
  }
  void State(int block, const std::string& state) {
    Put(absl::StrCat("memory", block, "/state"), state);
  }
  void Hear(const std::string& action, const std::string& name,
            const std::string& subsystem = "memory") {
    linux::Uevent event;
    event.action = action;
    event.path = "/devices/system/memory/" + name;
    event.subsystem = subsystem;
    blocks_.Heard(event);
  }
  bool AreMoving() { return blocks_.AreMoving(dir_.root()); }

  TestDir dir_;
  MemoryBlocks blocks_;
};

TEST_F(MemoryBlocksTest, WhatWasAddedIsAboutToGoOnline) {
  Put("auto_online_blocks", "online");
  EXPECT_FALSE(AreMoving());
  State(40, "offline");
  Hear("add", "memory40");
  EXPECT_TRUE(AreMoving());
  State(40, "online");
  EXPECT_FALSE(AreMoving()) << "its event may be on the way";
  State(40, "offline");
  Hear("online", "memory40");
  EXPECT_FALSE(AreMoving()) << "somebody put it offline again";
}

TEST_F(MemoryBlocksTest, NotWhereTheKernelLeavesThatToOthers) {
  State(40, "offline");
  Hear("add", "memory40");
  EXPECT_FALSE(AreMoving()) << "no policy";
  Put("auto_online_blocks", "offline");
  EXPECT_FALSE(AreMoving());
}

TEST_F(MemoryBlocksTest, TheNextOneGoesToo) {
  State(39, "online");
  State(40, "offline");
  State(41, "going-offline");
  Hear("offline", "memory40");
  EXPECT_TRUE(AreMoving());
  State(41, "offline");
  EXPECT_FALSE(AreMoving());
  State(39, "going-offline");
  EXPECT_TRUE(AreMoving()) << "from above to below";
  Hear("remove", "memory40");
  EXPECT_FALSE(AreMoving());
}

TEST_F(MemoryBlocksTest, WhatIsForgottenIsNotWaitedFor) {
  Put("auto_online_blocks", "online");
  State(40, "offline");
  State(42, "going-offline");
  Hear("add", "memory40");
  Hear("offline", "memory41");
  EXPECT_TRUE(AreMoving());
  blocks_.Forget();
  EXPECT_FALSE(AreMoving());
}

TEST_F(MemoryBlocksTest, OtherThingsArePassedOver) {
  Put("auto_online_blocks", "online");
  State(40, "offline");
  Hear("add", "memory40", "node");
  Hear("add", "memory");
  Hear("add", "memory40x");
  Hear("offline", "memory-1");
  EXPECT_FALSE(AreMoving());
}

}  // namespace
}  // namespace plimsoll::topology
