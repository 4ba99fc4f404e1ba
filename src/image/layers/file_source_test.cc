#include "image/layers/file_source.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/tar_for_test.h"

namespace plimsoll::image {
namespace {

using ::testing::HasSubstr;

TEST(ArchiveSource, PathsAndTargetsThatFillTheMemoryAreRefused) {
  TarBuilder tar;
  for (int i = 0; i < 10; ++i) tar.Symlink(absl::StrCat("link", i), std::string(95, 't'));
  const TestDir dir;
  const auto extract = [&](size_t max_path_bytes) {
    return ArchiveSource::Extract(
        MemoryFile(tar.Build()), "image.tar", dir.root(), [] { return false; }, max_path_bytes);
  };
  const auto refused = extract(999);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("members of image.tar have more than 999 bytes"));
  const auto fits = extract(1000);
  EXPECT_TRUE(fits.ok()) << fits.status();
}

}  // namespace
}  // namespace plimsoll::image
