#include "linux/open_files.h"

#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

using ::testing::HasSubstr;

constexpr char kLimits[] =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max cpu time              unlimited            unlimited            seconds   \n"
    "Max open files            1024                 524288               files     \n";

// Two processes, each with a socket among its open files.
class OpenFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(dir_.root().MakeDirs("proc/1/fd").ok());
    ASSERT_TRUE(dir_.root().MakeDirs("proc/2/fd").ok());
    Link("/dev/null", "1/fd/0");
    Link("socket:[123]", "1/fd/1");
    Link("/srv/socket:[fake", "2/fd/0");
    Link("socket:[456]", "2/fd/12");
    Link(std::string(200, 'x'), "2/fd/13");
  }
  void Link(const std::string& target, const std::string& path) {
    ASSERT_EQ(symlink(target.c_str(), absl::StrCat(dir_.path(), "/proc/", path).c_str()), 0);
  }
  TestDir dir_;
};

TEST_F(OpenFilesTest, AreCounted) {
  EXPECT_EQ(*CountOpenFiles(dir_.root(), {1, 2}, 100), (OpenFiles{5, 2}));
  EXPECT_EQ(*CountOpenFiles(dir_.root(), {1, 77}, 100), (OpenFiles{2, 1})) << "77 has ended";
  EXPECT_EQ(*CountOpenFiles(dir_.root(), {}, 100), OpenFiles());
}

TEST_F(OpenFilesTest, TooManyAreNotCounted) {
  EXPECT_EQ(*CountOpenFiles(dir_.root(), {1, 2}, 7), (OpenFiles{5, 2}));
  EXPECT_EQ(*CountOpenFiles(dir_.root(), {1, 2}, 6), std::nullopt);
  EXPECT_EQ(*CountOpenFiles(dir_.root(), {1, 2, 3, 4, 5}, 4), std::nullopt);
}

TEST_F(OpenFilesTest, TheLimitIsTheSoftOne) {
  EXPECT_EQ(*ParseMaxOpenFiles(kLimits), 1024u);
  EXPECT_THAT(ParseMaxOpenFiles("Max cpu time  unlimited\n").status().message(),
              HasSubstr("no line \"Max open files\""));
  EXPECT_THAT(ParseMaxOpenFiles("Max open files  unlimited unlimited files\n").status().message(),
              HasSubstr("no number"));
}

TEST(OpenFiles, OfARealProcess) {
  const FsRoot host = *FsRoot::Open("/");
  const auto before = CountOpenFiles(host, {getpid()}, 1'000'000);
  ASSERT_TRUE(before.ok()) << before.status();
  const UniqueFd handle(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(handle.valid());
  const auto after = CountOpenFiles(host, {getpid()}, 1'000'000);
  ASSERT_TRUE(before->has_value() && after.ok() && after->has_value());
  EXPECT_EQ((*after)->descriptors, (*before)->descriptors + 1);
  EXPECT_EQ((*after)->sockets, (*before)->sockets + 1);

  ProcessId self = *IdentifyProcess(host, getpid());
  EXPECT_EQ(*ReadMaxOpenFiles(host, self), static_cast<uint64_t>(sysconf(_SC_OPEN_MAX)));
  ++self.start_time_ticks;
  EXPECT_TRUE(absl::IsNotFound(ReadMaxOpenFiles(host, self).status())) << "another's pid now";
}

}  // namespace
}  // namespace plimsoll::linux
