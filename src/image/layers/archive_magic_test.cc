#include "image/layers/archive_magic.h"

#include <string>

#include "gtest/gtest.h"
#include "image/tar_for_test.h"

namespace plimsoll::image {
namespace {

std::string Start(const std::string& archive) {
  return archive.substr(0, kArchiveStartBytes);
}

TEST(BeginsLikeArchive, KnowsWhatIsRead) {
  const std::string tar = TarBuilder().Dir("./").File("\xc3\xa4", "x").Build();
  EXPECT_TRUE(BeginsLikeArchive(Start(tar)));
  EXPECT_TRUE(BeginsLikeArchive(Start(tar.substr(512)))) << "a name that is not ASCII";
  EXPECT_TRUE(BeginsLikeArchive(Start(Compress(tar, "gzip"))));
  EXPECT_TRUE(BeginsLikeArchive(Start(Compress(tar, "zstd"))));
  EXPECT_TRUE(BeginsLikeArchive(Start(Compress(tar, "bzip2"))));
  EXPECT_TRUE(BeginsLikeArchive(Start(Compress(tar, "xz"))));
}

TEST(BeginsLikeArchive, KnowsWhatIsNot) {
  EXPECT_FALSE(BeginsLikeArchive(""));
  EXPECT_FALSE(BeginsLikeArchive("PK\x03\x04"));
  EXPECT_FALSE(BeginsLikeArchive(std::string(kArchiveStartBytes, '\0')));
  EXPECT_FALSE(BeginsLikeArchive(std::string(kArchiveStartBytes, '0')));
  EXPECT_FALSE(BeginsLikeArchive(TarBuilder().Dir("./").Build().substr(0, 511)));
  std::string tar = Start(TarBuilder().File("a", "x").Build());
  tar[0] = 'b';
  EXPECT_FALSE(BeginsLikeArchive(tar)) << "its checksum is another";
}

}  // namespace
}  // namespace plimsoll::image
