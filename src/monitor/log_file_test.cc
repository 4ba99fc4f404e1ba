#include "monitor/log_file.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/dir_for_test.h"
#include "base/fs_root.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lookup/child_for_test.h"
#include "lookup/system_call_filter_for_test.h"

namespace plimsoll::monitor {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr size_t kOverhead = 41;                      // of an entry: time, stream, tag, newline
constexpr int64_t kTime = 1'795'230'653'012'345'678;  // 2026-11-21T03:10:53.012345678Z

class LogFileTest : public ::testing::Test {
 protected:
  std::string path() const { return dir_.path() + "/log"; }
  std::string Text(const std::string& name = "log") const {
    return dir_.root().Read(name).value_or("");
  }
  void Add(const std::string& text, bool full = true) {
    log_.Add("stdout", full, text.data(), text.size(), kTime);
    log_.Flush();
  }

  TestDir dir_;
  LogFile log_;
};

TEST_F(LogFileTest, EntriesHaveTimeStreamAndTag) {
  ASSERT_EQ(log_.Open(path().c_str()), 0);
  Add("hello");
  log_.Add("stderr", false, "wor", 3, kTime + 1'000'000'000);
  log_.Flush();
  EXPECT_EQ(Text(),
            "2026-11-21T03:10:53.012345678Z stdout F hello\n"
            "2026-11-21T03:10:54.012345678Z stderr P wor\n");
  EXPECT_EQ(dir_.root().Stat("log")->st_mode & 07777, 0640u);
}

TEST_F(LogFileTest, WhatIsNoRegularFileIsRefusedAtOnce) {
  const std::string fifo = dir_.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(log_.Open(fifo.c_str()), ENOTSUP);
  const int reader = open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  EXPECT_EQ(log_.Open(fifo.c_str()), ENOTSUP) << "with somebody who reads it";
  close(reader);
  EXPECT_EQ(log_.Open("/dev/null"), ENOTSUP);
  EXPECT_EQ(log_.Open(dir_.path().c_str()), EISDIR);
}

TEST_F(LogFileTest, BelowItsDirectoryNoLinkIsFollowed) {
  ASSERT_TRUE(dir_.root().MakeDirs("logs/a").ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("victim", "").ok());
  const std::string logs = dir_.path() + "/logs";
  ASSERT_EQ(symlink("../../victim", (logs + "/a/link").c_str()), 0);
  ASSERT_EQ(symlink(dir_.path().c_str(), (logs + "/away").c_str()), 0);
  EXPECT_EQ(log_.Open((logs + "/a/link").c_str(), logs.c_str()), ELOOP);
  EXPECT_EQ(log_.Open((logs + "/away/victim").c_str(), logs.c_str()), ELOOP);
  EXPECT_EQ(log_.Open((logs + "/../victim").c_str(), logs.c_str()), EXDEV);
  EXPECT_EQ(log_.Open((dir_.path() + "/victim").c_str(), logs.c_str()), EXDEV);
  ASSERT_EQ(symlink(logs.c_str(), path().c_str()), 0);
  EXPECT_EQ(log_.Open((path() + "/a/0.log").c_str(), path().c_str()), ELOOP) << "nor to it";
  EXPECT_EQ(log_.Open((logs + "/a/0.log").c_str(), logs.c_str()), 0);
  Add("x");
  EXPECT_THAT(Text("logs/a/0.log"), EndsWith(" x\n"));
}

TEST_F(LogFileTest, NothingIsWrittenBeforeFlush) {
  ASSERT_EQ(log_.Open(path().c_str()), 0);
  log_.Add("stdout", true, "x", 1, kTime);
  EXPECT_EQ(Text(), "");
  log_.Flush();
  EXPECT_THAT(Text(), EndsWith(" x\n"));
}

TEST_F(LogFileTest, MoreThanItsBufferIsWrittenInOrder) {
  ASSERT_EQ(log_.Open(path().c_str()), 0);
  const std::string line(10'000, 'a');
  for (int i = 0; i < 30; ++i) log_.Add("stdout", true, line.data(), line.size(), kTime);
  log_.Flush();
  EXPECT_EQ(Text().size(), 30 * (line.size() + kOverhead));
}

TEST_F(LogFileTest, OpensAnewAndAppendsToWhatIsThere) {
  ASSERT_TRUE(dir_.root().ReplaceFile("log", "before\n").ok());
  ASSERT_EQ(log_.Open(path().c_str()), 0);
  Add("one");
  ASSERT_EQ(rename(path().c_str(), (path() + ".1").c_str()), 0);
  Add("two");
  ASSERT_EQ(log_.Open(path().c_str()), 0);
  Add("three");
  EXPECT_THAT(Text("log.1"), StartsWith("before\n"));
  EXPECT_THAT(Text("log.1"), HasSubstr(" two\n"));
  EXPECT_THAT(Text(), EndsWith(" three\n"));
}

TEST_F(LogFileTest, AtItsLimitTheFileIsPutAsideAndTheOneBeforeGoes) {
  const std::string log = path();
  ASSERT_EQ(log_.Open(log.c_str()), 0);
  log_.LimitSize(log.c_str(), 200);
  const std::string line(100 - kOverhead, 'x');
  for (const char* each : {"1", "2", "3", "4", "5"}) Add(each + line.substr(1));
  EXPECT_THAT(Text(), HasSubstr(" 5x"));
  EXPECT_EQ(Text().size(), 100u);
  EXPECT_THAT(Text("log.1"), HasSubstr(" 3x"));
  EXPECT_THAT(Text("log.1"), HasSubstr(" 4x"));
  EXPECT_EQ(Text("log.1").size(), 200u);
  EXPECT_EQ(dir_.root().List("")->size(), 2u);
}

TEST_F(LogFileTest, WhereItCannotBePutAsideItGrowsOn) {
  const std::string log = path();
  ASSERT_EQ(log_.Open(log.c_str()), 0);
  log_.LimitSize(log.c_str(), 50);
  ASSERT_TRUE(dir_.root().MakeDirs("log.1/taken").ok());
  Add("one and more than the limit");
  Add("two");
  EXPECT_THAT(Text(), EndsWith(" two\n"));
  EXPECT_THAT(Text(), HasSubstr(" one"));
}

TEST_F(LogFileTest, APathThatCannotBeOpenedKeepsTheFileBefore) {
  ASSERT_EQ(log_.Open(path().c_str()), 0);
  EXPECT_EQ(log_.Open("/no/such/directory/log"), ENOENT);
  Add("kept");
  EXPECT_THAT(Text(), EndsWith(" kept\n"));
}

TEST_F(LogFileTest, WithoutAFileEntriesAreDropped) {
  Add("nobody reads this");
  EXPECT_FALSE(log_.is_open());
}

TEST_F(LogFileTest, OpensWhereAFilterRefusesOpenat2) {
  if (!TakesFilters()) GTEST_SKIP() << "needs system call filters, which qemu-user lacks";
  ASSERT_TRUE(dir_.root().MakeDirs("logs/a").ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("victim", "").ok());
  const std::string logs = dir_.path() + "/logs";
  ASSERT_EQ(symlink("../../victim", (logs + "/a/link").c_str()), 0);
  for (const int error : {ENOSYS, EPERM}) {
    EXPECT_EQ(InChild([&]() -> std::string {
                if (!RefuseSystemCall(SYS_openat2, error)) return "no filter";
                if (log_.Open((logs + "/a/link").c_str(), logs.c_str()) != ELOOP) return "a link";
                if (log_.Open((logs + "/../victim").c_str(), logs.c_str()) != EXDEV) return "..";
                if (log_.Open((logs + "/a/0.log").c_str(), logs.c_str()) != 0) return "a log";
                Add("hello");
                return "";
              }),
              "");
  }
  EXPECT_THAT(Text("logs/a/0.log"), EndsWith(" stdout F hello\n"));
  EXPECT_EQ(dir_.root().Stat("logs/a/0.log")->st_mode & 07777, 0640u);
  EXPECT_EQ(Text("victim"), "");
}

// On a full disk whole entries are lost, and the log says so when there is room again.
TEST_F(LogFileTest, AFullDiskCostsWholeEntriesAndIsNoted) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting a small tmpfs needs root";
  ASSERT_TRUE(dir_.root().MakeDirs("small").ok());
  const std::string small = dir_.path() + "/small";
  ASSERT_EQ(mount("plimsoll-test", small.c_str(), "tmpfs", 0, "size=64k"), 0);
  ASSERT_EQ(log_.Open((small + "/log").c_str()), 0);
  // Four fill the disk to the last byte, so that the note has no room either.
  const std::string line(16 * 1024 - kOverhead, 'x');
  for (int i = 0; i < 8; ++i) Add(line);
  const std::string full = Text("small/log");
  EXPECT_EQ(full.size() % (line.size() + kOverhead), 0u) << "an entry is cut";
  EXPECT_EQ(full.size(), 64u * 1024);
  ASSERT_EQ(truncate((small + "/log").c_str(), 0), 0);
  Add("after");
  EXPECT_THAT(Text("small/log"),
              HasSubstr(" stderr F [plimsoll: " +
                        std::to_string(8 * (line.size() + kOverhead) - full.size()) +
                        " bytes of log lost: No space left on device]\n"));
  EXPECT_THAT(Text("small/log"), EndsWith(" stdout F after\n"));
  EXPECT_EQ(log_.Open(path().c_str()), 0);  // releases the mount
  EXPECT_EQ(umount(small.c_str()), 0);
}

}  // namespace
}  // namespace plimsoll::monitor
