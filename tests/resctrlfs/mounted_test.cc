// The file system as mounted, with real threads: "tasks" of the kernel's documentation.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/mounts.h"
#include "resctrlfs/member.h"
#include "resctrlfs/mounted_test_base.h"

namespace plimsoll::resctrlfs {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

TEST_F(MountedTest, IsSeenAsResctrlBelowTheFakeRoot) {
  const auto mounts = linux::ReadMounts(root());
  ASSERT_TRUE(mounts.ok()) << mounts.status();
  ASSERT_EQ(mounts->size(), 1U);
  EXPECT_EQ(mounts->front().fs_type, "resctrl");
  EXPECT_EQ(mounts->front().mount_point, "/sys/fs/resctrl");
  EXPECT_THAT(*root().List("sys/fs/resctrl"), Contains("schemata"));
  EXPECT_EQ(Read("schemata"), "    MB:0=100;2=100\n    L3:0=fffff;2=fffff\n");
  EXPECT_THAT(*root().Read("proc/mounts"), HasSubstr(" /sys/fs/resctrl resctrl "));
}

TEST_F(MountedTest, ShowsItsMountOptions) {
  Layout layout = TwoSockets();
  layout.options.cdp = true;
  layout.options.mba_mbps = true;
  Start(layout);
  EXPECT_THAT(linux::ReadMounts(root())->front().super_options,
              ElementsAre("rw", "cdp", "mba_MBps"));
  EXPECT_THAT(*root().List("sys/fs/resctrl/info"),
              ElementsAre("L3CODE", "L3DATA", "L3_MON", "MB", "last_cmd_status"));
}

TEST_F(MountedTest, FilesCanBeNeitherMadeNorRemoved) {
  EXPECT_EQ(open(At("new").c_str(), O_CREAT | O_WRONLY, 0644), -1);
  EXPECT_EQ(errno, EACCES);
  EXPECT_EQ(unlink(At("tasks").c_str()), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(symlink("tasks", At("link").c_str()), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(open(At("size").c_str(), O_WRONLY), -1);
  EXPECT_EQ(errno, EACCES);
  struct stat status = {};
  ASSERT_EQ(stat(At("size").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode, S_IFREG | 0444U);
  EXPECT_EQ(status.st_size, 0);
}

TEST_F(MountedTest, ErrorsCarryTheirErrnoAndWords) {
  ASSERT_EQ(Mkdir("gold"), 0);
  EXPECT_EQ(Write("gold/schemata", "L3:0=f7"), EINVAL);
  EXPECT_THAT(resctrl_->LastCommandStatus(), HasSubstr("not consecutive"));
  EXPECT_EQ(Write("gold/schemata", "L3:0=f0"), 0);
  EXPECT_EQ(resctrl_->LastCommandStatus(), "ok\n");
  EXPECT_EQ(Write("gold/tasks", std::string(5000, ' ')), E2BIG);
  EXPECT_EQ(Mkdir("gold"), EEXIST);
  EXPECT_EQ(Mkdir("gold/x"), EPERM);
  EXPECT_EQ(Rmdir("gold/mon_data"), EPERM);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(Mkdir(absl::StrCat("g", i)), 0);
  EXPECT_EQ(Mkdir("g6"), ENOSPC);
  EXPECT_THAT(resctrl_->LastCommandStatus(), HasSubstr("CLOSID"));
}

TEST_F(MountedTest, AThreadIsMovedAndNoneBesideIt) {
  Member member;
  const pid_t thread = member.NewThread();
  EXPECT_THAT(Tasks("."), Contains(member.pid()));
  EXPECT_THAT(Tasks("."), Contains(thread));
  ASSERT_EQ(Mkdir("gold"), 0);
  ASSERT_EQ(Move(thread, "gold"), 0);
  EXPECT_THAT(Tasks("gold"), ElementsAre(thread));
  EXPECT_THAT(Tasks("."), Contains(member.pid()));
  EXPECT_THAT(Tasks("."), Not(Contains(thread)));
}

TEST_F(MountedTest, ChildrenAndThreadsInherit) {
  Member member;
  ASSERT_EQ(Mkdir("gold"), 0);
  ASSERT_EQ(Move(member.pid(), "gold"), 0);
  const pid_t child = member.Fork();
  const pid_t thread = member.NewThread();
  EXPECT_THAT(Tasks("gold"), UnorderedElementsAre(member.pid(), child, thread));
  // A thread that ended and was reaped is gone.
  EXPECT_EQ(member.Ask(absl::StrCat("end ", child)), "ended");
  EXPECT_THAT(Tasks("gold"), UnorderedElementsAre(member.pid(), thread));
  EXPECT_EQ(Move(child, "gold"), ESRCH);
  EXPECT_THAT(resctrl_->LastCommandStatus(), HasSubstr(absl::StrCat("no thread ", child)));
}

TEST_F(MountedTest, ZeroIsTheThreadThatWrites) {
  Member member;
  ASSERT_EQ(Mkdir("gold"), 0);
  const std::vector<std::string> answer =
      absl::StrSplit(member.Ask("join " + At("gold/tasks")), ' ');
  ASSERT_EQ(answer.size(), 2U);
  EXPECT_EQ(answer[1], "0");
  EXPECT_EQ(Read("gold/tasks"), answer[0] + "\n");
}

TEST_F(MountedTest, MonitoringGroupsTakeTheirControlGroupsThreads) {
  Member member;
  ASSERT_EQ(Mkdir("gold") + Mkdir("silver") + Mkdir("gold/mon_groups/m"), 0);
  EXPECT_EQ(Move(member.pid(), "gold/mon_groups/m"), EINVAL);
  ASSERT_EQ(Move(member.pid(), "gold"), 0);
  ASSERT_EQ(Move(member.pid(), "gold/mon_groups/m"), 0);
  const pid_t child = member.Fork();
  EXPECT_THAT(Tasks("gold/mon_groups/m"), UnorderedElementsAre(member.pid(), child));
  EXPECT_THAT(Tasks("gold"), UnorderedElementsAre(member.pid(), child));
  ASSERT_EQ(Move(child, "silver"), 0);
  EXPECT_THAT(Tasks("gold/mon_groups/m"), ElementsAre(member.pid()));
  ASSERT_EQ(Rmdir("gold/mon_groups/m"), 0);
  EXPECT_THAT(Tasks("gold"), ElementsAre(member.pid()));
  ASSERT_EQ(Rmdir("gold"), 0);
  EXPECT_THAT(Tasks("."), Contains(member.pid()));
}

TEST_F(MountedTest, AMonitoringGroupMovesWithItsThreads) {
  Member member;
  ASSERT_EQ(Mkdir("gold") + Mkdir("silver") + Mkdir("gold/mon_groups/m"), 0);
  ASSERT_EQ(Move(member.pid(), "gold") + Move(member.pid(), "gold/mon_groups/m"), 0);
  ASSERT_EQ(rename(At("gold/mon_groups/m").c_str(), At("silver/mon_groups/n").c_str()), 0);
  EXPECT_THAT(Tasks("gold"), IsEmpty());
  EXPECT_THAT(Tasks("silver/mon_groups/n"), ElementsAre(member.pid()));
  EXPECT_EQ(rename(At("gold").c_str(), At("lead").c_str()), -1);
  EXPECT_EQ(errno, EPERM);
}

// Users other than root need write permission, and then move their own threads.
TEST_F(MountedTest, UsersMoveTheirOwnThreads) {
  Member member;
  ASSERT_EQ(Mkdir("gold"), 0);
  // The way to the file is open to all, and so is the file.
  ASSERT_EQ(chmod(absl::StrCat(resctrl_->mount_point(), "/../../../..").c_str(), 0755), 0);
  ASSERT_EQ(member.Ask("become 65534"), "done");
  const std::string write = absl::StrCat("write ", At("gold/tasks"), " ");
  EXPECT_EQ(member.Ask(absl::StrCat(write, member.pid())), absl::StrCat(EACCES));
  ASSERT_EQ(chmod(At("gold/tasks").c_str(), 0666), 0);
  EXPECT_EQ(member.Ask(absl::StrCat(write, member.pid())), "0");
  EXPECT_EQ(member.Ask(absl::StrCat(write, getpid())), absl::StrCat(EPERM));
  EXPECT_THAT(resctrl_->LastCommandStatus(), HasSubstr("another user's"));
}

TEST_F(MountedTest, ARemovedGroupsOpenFilesAreDead) {
  ASSERT_EQ(Mkdir("gold"), 0);
  const UniqueFd tasks(open(At("gold/tasks").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(tasks.valid());
  ASSERT_EQ(Rmdir("gold"), 0);
  char byte = '0';
  EXPECT_EQ(read(tasks.get(), &byte, 1), -1);
  EXPECT_EQ(errno, ENODEV);
  EXPECT_EQ(write(tasks.get(), &byte, 1), -1);
  EXPECT_EQ(errno, ENODEV);
  ASSERT_EQ(Mkdir("gold"), 0);
  EXPECT_EQ(Read("gold/tasks"), "");
}

// A reader with a small buffer gets one state of the file, and a new one from the start again.
TEST_F(MountedTest, AReadIsASnapshot) {
  Member member;
  ASSERT_EQ(Mkdir("gold"), 0);
  ASSERT_EQ(Move(member.pid(), "gold"), 0);
  const UniqueFd tasks(open(At("gold/tasks").c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(1, ' ');
  ASSERT_EQ(read(tasks.get(), text.data(), 1), 1);
  member.Fork();
  for (char c; read(tasks.get(), &c, 1) == 1;) text += c;
  EXPECT_EQ(text, absl::StrCat(member.pid(), "\n"));
  ASSERT_EQ(lseek(tasks.get(), 0, SEEK_SET), 0);
  char buffer[64];
  EXPECT_GT(read(tasks.get(), buffer, sizeof buffer), static_cast<ssize_t>(text.size()));
}

TEST_F(MountedTest, RemovalOutrunsForks) {
  Member member;
  ASSERT_EQ(Mkdir("gold"), 0);
  ASSERT_EQ(Move(member.pid(), "gold"), 0);
  ASSERT_EQ(member.Ask("storm"), "storm");
  ASSERT_EQ(Rmdir("gold"), 0);
  EXPECT_THAT(Tasks("."), Contains(member.pid()));
}

TEST_F(MountedTest, CountersAreWhatTheTestSays) {
  ASSERT_EQ(Mkdir("gold") + Mkdir("gold/mon_groups/m"), 0);
  ASSERT_TRUE(resctrl_->SetCounter("gold", 2, "llc_occupancy", 1000).ok());
  ASSERT_TRUE(resctrl_->SetCounter("gold/mon_groups/m", 2, "llc_occupancy", 24).ok());
  EXPECT_EQ(Read("gold/mon_data/mon_L3_02/llc_occupancy"), "1024\n");
  EXPECT_EQ(Read("gold/mon_groups/m/mon_data/mon_L3_02/llc_occupancy"), "24\n");
  EXPECT_EQ(Read("gold/mon_data/mon_L3_00/llc_occupancy"), "0\n");
  ASSERT_TRUE(resctrl_->SetCounter("gold/mon_groups/m", 0, "mbm_local_bytes", "Unavailable").ok());
  EXPECT_EQ(Read("gold/mon_groups/m/mon_data/mon_L3_00/mbm_local_bytes"), "Unavailable\n");
  EXPECT_THAT(resctrl_->SetCounter("lead", 0, "llc_occupancy", 1).ToString(),
              HasSubstr("no group"));
  EXPECT_THAT(resctrl_->SetCounter("gold", 1, "llc_occupancy", 1).ToString(),
              HasSubstr("of cache 1"));
}

TEST_F(MountedTest, RefusesOnOrderAndTellsWhatItWasAsked) {
  ASSERT_TRUE(resctrl_->RefuseNext("write", "gold/schemata", EIO).ok());
  ASSERT_TRUE(resctrl_->RefuseNext("mkdir", "silver", ENOMEM).ok());
  ASSERT_EQ(Mkdir("gold"), 0);
  EXPECT_EQ(Write("gold/schemata", "L3:0=f"), EIO);
  EXPECT_EQ(Mkdir("silver"), ENOMEM);
  EXPECT_EQ(Mkdir("silver"), 0);
  EXPECT_THAT(*resctrl_->TakeJournal(), ElementsAre("mkdir gold", "write gold/schemata L3:0=f: EIO",
                                                    "mkdir silver: ENOMEM", "mkdir silver"));
}

// The kernel lists threads by how long they have been members. A member of another machine's group
// is last there: the first to be missed in a list that is too short.
TEST_F(MountedTest, ListsEverybodyWhileOthersFork) {
  const auto other = ResctrlFsFixture::Start(Layout());
  ASSERT_TRUE(other.ok()) << other.status();
  Member forking;
  Member quiet;
  ASSERT_EQ(forking.Ask("storm"), "storm");
  ASSERT_EQ(Mkdir("gold"), 0);
  ASSERT_EQ(Move(quiet.pid(), "gold"), 0);
  for (int reading = 0; reading < 300; ++reading) {
    ASSERT_THAT(*(*other)->Members(""), Contains(quiet.pid())) << "reading " << reading;
  }
}

TEST_F(MountedTest, TwoMachinesKnowNothingOfEachOther) {
  const auto other = ResctrlFsFixture::Start(Layout());
  ASSERT_TRUE(other.ok()) << other.status();
  Member member;
  ASSERT_EQ(Mkdir("gold"), 0);
  ASSERT_EQ(Move(member.pid(), "gold"), 0);
  EXPECT_THAT(*(*other)->Members(""), Contains(member.pid()));
  EXPECT_THAT(*resctrl_->Members(""), Not(Contains(member.pid())));
  EXPECT_THAT(*(*other)->root().List("sys/fs/resctrl"), Not(Contains("gold")));
}

}  // namespace
}  // namespace plimsoll::resctrlfs
