// For tests: layers unpacked into directories of a test's own.
#ifndef PLIMSOLL_IMAGE_LAYERS_LAYER_UNPACKER_FOR_TEST_H_
#define PLIMSOLL_IMAGE_LAYERS_LAYER_UNPACKER_FOR_TEST_H_

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/xattr.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "base/dir_for_test.h"
#include "base/status.h"
#include "gtest/gtest.h"
#include "image/layers/layer_unpacker.h"
#include "image/tar_for_test.h"

namespace plimsoll::image {

class LayerUnpackerTest : public ::testing::Test {
 protected:
  LayerUnpackerTest() { EXPECT_TRUE(dir_.root().MakeDirs("diff", 0755).ok()); }

  absl::StatusOr<UnpackResult> Unpack(const std::string& stream, const UnpackLimits& limits = {},
                                      const std::string& into = "diff",
                                      const std::vector<FsRoot>& lowers = {}) {
    EXPECT_TRUE(dir_.root().MakeDirs(into, 0755).ok());
    const auto diff = dir_.root().Sub(into);
    PLIMSOLL_ASSIGN_OR_RETURN(const auto reader,
                              ArchiveReader::Open(MemoryFile(stream), "layer", limits.max_bytes));
    return UnpackLayer(*reader, *diff, lowers, limits);
  }

  // The unpacking error; fails the test without one, or when something appears outside.
  std::string Refused(const std::string& stream, const UnpackLimits& limits = {}) {
    EXPECT_TRUE(dir_.root().ReplaceFile("outside", "untouched").ok());
    const auto result = Unpack(stream, limits);
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(dir_.root().List(".")->size(), 2u) << "something was made beside the layer";
    EXPECT_EQ(*dir_.root().Read("outside"), "untouched");
    struct stat info = {};
    EXPECT_EQ(lstat(dir_.root().PathOf("outside").c_str(), &info), 0);
    EXPECT_EQ(info.st_nlink, 1u) << "a hard link to the file outside was made";
    return result.ok() ? "" : std::string(result.status().ToString());
  }

  struct stat Lstat(const std::string& path) {
    struct stat info = {};
    EXPECT_EQ(lstat(dir_.root().PathOf(path).c_str(), &info), 0) << path;
    return info;
  }
  std::string Xattr(const std::string& path, const char* name) {
    char value[256];
    const ssize_t n = lgetxattr(dir_.root().PathOf(path).c_str(), name, value, sizeof(value));
    return n < 0 ? "(none)" : std::string(value, static_cast<size_t>(n));
  }
  std::string Read(const std::string& path) { return dir_.root().Read(path).value_or("(none)"); }
  FsRoot Sub(const std::string& path) { return *dir_.root().Sub(path); }

  TestDir dir_;
};

#define EXPECT_HAS(text, part) EXPECT_TRUE(absl::StrContains(text, part)) << (text)

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_LAYERS_LAYER_UNPACKER_FOR_TEST_H_
