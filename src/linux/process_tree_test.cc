#include "linux/process_tree.h"

#include <unistd.h>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string StatText(const std::string& name, const std::string& rest) {
  return "7 (" + name + ") " + rest + " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 4711 0 0\n";
}

std::vector<pid_t> PidsOf(const std::vector<ProcessEntry>& entries) {
  std::vector<pid_t> pids;
  for (const ProcessEntry& entry : entries) pids.push_back(entry.id.pid);
  return pids;
}

TEST(ProcessTree, ReadsWhatTheKernelWrites) {
  TestDir dir;
  for (const auto& [pid, text] :
       {std::pair("1", StatText("init", "S 0")), std::pair("7", StatText("a) S 1 (b", "S 1")),
        std::pair("9", StatText("child", "Z 7")), std::pair("11", StatText("grandchild", "R 9"))}) {
    ASSERT_TRUE(dir.root().MakeDirs(std::string("proc/") + pid).ok());
    ASSERT_TRUE(dir.root().ReplaceFile(std::string("proc/") + pid + "/stat", text).ok());
  }
  ASSERT_TRUE(dir.root().MakeDirs("proc/self").ok());
  ASSERT_TRUE(dir.root().MakeDirs("proc/13").ok());  // a process that has just ended
  const auto table = ListProcessTable(dir.root());
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(PidsOf(*table), ElementsAre(1, 11, 7, 9));
  EXPECT_EQ((*table)[0].id.start_time_ticks, 4711u);
  EXPECT_TRUE((*table)[3].zombie);
  EXPECT_THAT(PidsOf(DescendantsOf(*table, 7)), ElementsAre(9, 11));
  EXPECT_THAT(DescendantsOf(*table, 11), IsEmpty());
  // Half a table would make strangers of children.
  ASSERT_TRUE(dir.root().ReplaceFile("proc/9/stat", "9 (cut off").ok());
  EXPECT_EQ(ListProcessTable(dir.root()).status().code(), absl::StatusCode::kInternal);
}

TEST(ProcessTree, FindsAChildOfThisProcess) {
  const FsRoot host = *FsRoot::Open("/");
  auto child = Spawn({.argv = {"/bin/sleep", "100"}});
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_THAT(PidsOf(DescendantsOf(*ListProcessTable(host), getpid())),
              ::testing::Contains(child->pid()));
  // Spawn returns when the kernel has removed the old program, a moment before the new one has its
  // arguments.
  const absl::Time end = absl::Now() + absl::Seconds(10);
  while (ReadWords(host, child->pid(), "cmdline")->empty() && absl::Now() < end) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_THAT(*ReadWords(host, child->pid(), "cmdline"), ElementsAre("/bin/sleep", "100"));
  ASSERT_TRUE(child->Signal(9).ok());
  ASSERT_TRUE(child->Wait().ok());
  EXPECT_THAT(*ReadWords(host, child->pid(), "environ"), IsEmpty());
}

TEST(ProcessTree, HasNoWordsOfAProcessThatHasMadeThemTooLarge) {
  TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("proc/7").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("proc/7/environ", std::string((16 << 20) + 1, 'x')).ok());
  const auto words = ReadWords(dir.root(), 7, "environ");
  ASSERT_TRUE(words.ok()) << words.status();
  EXPECT_THAT(*words, IsEmpty());
}

TEST(ProcessTree, KillsAllBelowAndNotTheAncestor) {
  const FsRoot host = *FsRoot::Open("/");
  auto shell =
      Spawn({.argv = {"/bin/sh", "-c", "sh -c 'sleep 100 & sleep 100; :' & wait; exec sleep 100"}});
  ASSERT_TRUE(shell.ok()) << shell.status();
  const auto below = [&] { return DescendantsOf(*ListProcessTable(host), shell->pid()); };
  ASSERT_TRUE(WaitUntil([&] { return below().size() == 3; }));
  EXPECT_TRUE(*KillDescendants(host, shell->pid()));
  EXPECT_TRUE(WaitUntil([&] { return below().empty(); }));
  EXPECT_FALSE(*KillDescendants(host, shell->pid()));
  EXPECT_FALSE(shell->Wait(absl::Now() + absl::Milliseconds(1)).ok());
  ASSERT_TRUE(shell->Signal(9).ok());
  ASSERT_TRUE(shell->Wait().ok());
}

}  // namespace
}  // namespace plimsoll::linux
