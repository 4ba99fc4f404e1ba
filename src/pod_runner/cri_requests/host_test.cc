#include "pod_runner/cri_requests/host.h"

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::pod {
namespace {

TEST(Host, Facts) {
  TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("proc").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("proc/meminfo", "MemTotal:  1024 kB\nMemFree: 1 kB\n").ok());
  EXPECT_EQ(*MemoryCapacityBytes(dir.root()), 1 << 20);
  ASSERT_TRUE(dir.root().ReplaceFile("proc/meminfo", "nothing\n").ok());
  EXPECT_FALSE(MemoryCapacityBytes(dir.root()).ok());
  EXPECT_THAT(RandomUid(),
              ::testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
                                      "[0-9a-f]{12}"));
}

}  // namespace
}  // namespace plimsoll::pod
