#include "agent/directory_watch.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/dir_for_test.h"
#include "base/wait_until_for_test.h"

namespace plimsoll::agent {
namespace {

class DirectoryWatchTest : public testing::Test {
 protected:
  void Start(absl::Duration look_anyway) {
    auto started = DirectoryWatch::Start({.path = dir_.path() + "/d",
                                          .look_anyway = look_anyway,
                                          .quiet = absl::Milliseconds(5),
                                          .look = [this] { ++looks_; }});
    ASSERT_TRUE(started.ok()) << started.status();
    watch_ = *std::move(started);
    ASSERT_TRUE(WaitUntil([&] { return looks_ > 0; }));
  }
  bool LooksAgain(int since) {
    return WaitUntil([&] { return looks_ > since; });
  }

  TestDir dir_;
  std::atomic<int> looks_ = 0;
  std::unique_ptr<DirectoryWatch> watch_;
};

TEST_F(DirectoryWatchTest, EachKindOfChangeIsLookedAt) {
  ASSERT_TRUE(dir_.root().MakeDirs("d").ok());
  Start(absl::Hours(1));
  int before = looks_;
  ASSERT_TRUE(dir_.root().ReplaceFile("d/a", "1").ok());
  ASSERT_TRUE(LooksAgain(before));
  before = looks_;
  ASSERT_TRUE(dir_.root().Write("d/a", "2").ok());
  ASSERT_TRUE(LooksAgain(before));
  before = looks_;
  ASSERT_TRUE(dir_.root().RemoveFile("d/a").ok());
  EXPECT_TRUE(LooksAgain(before));
}

TEST_F(DirectoryWatchTest, AMissingDirectoryIsLookedForAtThePace) {
  Start(absl::Milliseconds(50));
  ASSERT_TRUE(LooksAgain(looks_));
  ASSERT_TRUE(dir_.root().MakeDirs("d").ok());
  EXPECT_TRUE(LooksAgain(looks_));
}

}  // namespace
}  // namespace plimsoll::agent
