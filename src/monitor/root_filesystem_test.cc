#include "monitor/root_filesystem.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/cleanup/cleanup.h"
#include "base/dir_for_test.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"

namespace plimsoll::monitor {
namespace {

class MakeDirectoryBelowTest : public ::testing::Test {
 protected:
  void Make(const std::string& path) {
    MakeDirectoryBelow(dir_.path().c_str(), path.c_str(), Owner());
  }
  bool IsDirectory(const std::string& path) const {
    struct stat info = {};
    return lstat(dir_.root().PathOf(path).c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  }
  void Link(const std::string& target, const std::string& path) {
    ASSERT_EQ(symlink(target.c_str(), dir_.root().PathOf(path).c_str()), 0);
  }

  TestDir dir_;
};

TEST_F(MakeDirectoryBelowTest, FollowsLinksInsideTheRoot) {
  ASSERT_TRUE(dir_.root().MakeDirs("real/sub").ok());
  Link("/real", "absolute");
  Link("../../../real", "climbs");
  Link("/absolute", "real/sub/chain");
  Make("/absolute/a");
  Make("climbs//b/c");
  Make("/real/sub/chain/d/../e/./f/");
  for (const char* made : {"real/a", "real/b/c", "real/d", "real/e/f"}) {
    EXPECT_TRUE(IsDirectory(made)) << made;
  }
}

TEST_F(MakeDirectoryBelowTest, StopsAtAFileAndAtALinkThatLeadsNowhere) {
  ASSERT_TRUE(dir_.root().ReplaceFile("file", "x").ok());
  Link("/missing", "nowhere");
  Link("loop", "loop");
  for (const char* path : {"file/a", "nowhere/a", "loop/a"}) Make(path);
  EXPECT_EQ(dir_.root().List(".")->size(), 3u);
  EXPECT_EQ(dir_.root().Read("file").value_or(""), "x");
}

TEST_F(MakeDirectoryBelowTest, ADeepPathNeedsFewDescriptors) {
  struct rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  absl::Cleanup put_back = [&] { setrlimit(RLIMIT_NOFILE, &before); };
  const UniqueFd next(
      open("/", O_PATH | O_CLOEXEC));  // the lowest free number; some above may be taken
  struct rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next.get()) + 20;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::string path;
  for (int i = 0; i < 500; ++i) path += "/d";
  Make(path);
  EXPECT_TRUE(IsDirectory(path.substr(1)));
}

}  // namespace
}  // namespace plimsoll::monitor
