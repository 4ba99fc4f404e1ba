#include "linux/huge_page_sizes.h"

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

TEST(HugePageSizesTest, AreSpeltAsControlFilesSpellThem) {
  TestDir dir;
  EXPECT_EQ(ReadHugePageSizes(dir.root()), std::nullopt);
  ASSERT_TRUE(dir.root().MakeDirs("sys/kernel/mm").ok());
  EXPECT_THAT(ReadHugePageSizes(dir.root()), Optional(IsEmpty())) << "a kernel without huge pages";
  for (const char* name : {"hugepages-64kB", "hugepages-2048kB", "hugepages-1048576kB", "other"}) {
    ASSERT_TRUE(dir.root().MakeDirs(std::string("sys/kernel/mm/hugepages/") + name).ok());
  }
  EXPECT_THAT(ReadHugePageSizes(dir.root()), Optional(ElementsAre("1GB", "2MB", "64KB")));
}

}  // namespace
}  // namespace plimsoll::linux
