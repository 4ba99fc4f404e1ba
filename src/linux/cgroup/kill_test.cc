// Killing through the file cgroup.kill of cgroup v2. CgroupHostTest kills on this machine's layout.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/monotonic_time.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"
#include "linux/cgroup/members.h"
#include "linux/cgroup/tree.h"

namespace plimsoll::linux {
namespace {

// While it lives, the process can have one more descriptor open, and no second one.
class OneDescriptor {
 public:
  OneDescriptor() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const UniqueFd lowest(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const struct rlimit one = {.rlim_cur = static_cast<rlim_t>(lowest.get()) + 1,
                               .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &one);
  }
  ~OneDescriptor() { setrlimit(RLIMIT_NOFILE, &before_); }
  OneDescriptor(const OneDescriptor&) = delete;
  OneDescriptor& operator=(const OneDescriptor&) = delete;

 private:
  struct rlimit before_ = {};
};

// A v2 hierarchy of plain files with the group /a of one process. As in the kernel, a write to
// cgroup.kill kills the process, and the group lists it for a moment longer.
class TreeWithKillFile : public CgroupTree {
 public:
  TreeWithKillFile(const FsRoot& mount, pid_t pid) : CgroupTree(mount), pid_(pid) {
    EXPECT_TRUE(mount.MakeDirs("a").ok());
    EXPECT_TRUE(mount.ReplaceFile("a/cgroup.kill", "").ok());
    EXPECT_TRUE(mount.ReplaceFile("a/cgroup.procs", absl::StrCat(pid, "\n")).ok());
  }

  absl::Status Write(absl::string_view group, absl::string_view file,
                     absl::string_view value) override {
    const absl::Status written = CgroupTree::Write(group, file, value);
    if (written.ok() && file == "cgroup.kill") {
      kill(pid_, SIGKILL);
      ++kills_;
    }
    return written;
  }
  absl::StatusOr<std::string> Read(absl::string_view group, absl::string_view file) const override {
    absl::StatusOr<std::string> text = CgroupTree::Read(group, file);
    const bool has_left = text.ok() && kills_ > 0 && ++looks_since_ > 2;
    return has_left ? "" : text;
  }

  int kills() const { return kills_; }

 private:
  const pid_t pid_;
  int kills_ = 0;
  mutable int looks_since_ = 0;
};

// The one descriptor that is free serves each list and the write in turn. With a process's pidfd
// open there is none for the second list, and so no exit to wait for.
TEST(CgroupKillTest, ByFileNeedsNoDescriptorForEachProcess) {
  const TestDir dir;
  // It sends no signal when it ends, so the reaper of other tests' children leaves it to this one.
  const auto child = static_cast<pid_t>(syscall(SYS_clone, 0, nullptr, nullptr, nullptr, 0));
  while (child == 0) pause();
  TreeWithKillFile tree(dir.root(), child);
  // The undefined behaviour sanitizer looks at an object through a pipe at the first call on it.
  const auto members = ListProcesses({&tree}, "/a", /*recursive=*/false);
  EXPECT_EQ(members.value_or(std::vector<pid_t>()), std::vector<pid_t>{child}) << members.status();
  absl::Status killed;
  {
    const OneDescriptor one;
    killed = KillProcesses({&tree}, nullptr, "/a", MonotonicNow() + absl::Seconds(20));
  }
  EXPECT_TRUE(killed.ok()) << killed;
  EXPECT_GT(tree.kills(), 0);
  if (tree.kills() == 0) kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, __WALL), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

// Processes that survive, thousands of them: an error goes to clients and logs.
TEST(CgroupKillTest, ErrorsOfManyProcessesAreShort) {
  const TestDir dir;
  const FsRoot& mount = dir.root();
  ASSERT_TRUE(mount.MakeDirs("a").ok());
  std::string pids;
  // Above the kernel's highest number, so that they are nobody's.
  for (int i = 0; i < 3700; ++i) absl::StrAppend(&pids, (1 << 22) + 1 + i, "\n");
  ASSERT_TRUE(mount.ReplaceFile("a/cgroup.procs", pids).ok());
  CgroupTree tree(mount);
  const absl::Status killed = KillProcesses({&tree}, nullptr, "/a", MonotonicNow());
  EXPECT_TRUE(absl::IsDeadlineExceeded(killed)) << killed;
  const absl::Status removed = RemoveGroup({&tree}, "/a");
  EXPECT_TRUE(absl::IsFailedPrecondition(removed)) << removed;
  for (const absl::Status& status : {killed, removed}) {
    EXPECT_LT(status.message().size(), 200u);
    EXPECT_NE(status.message().find("3700 processes (4194305, "), std::string::npos) << status;
  }
  EXPECT_EQ(InWords({7, 8}), "processes 7, 8 are");
}

}  // namespace
}  // namespace plimsoll::linux
