// Remains of a file system that ended: none, however it ended.
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "resctrlfs/member.h"
#include "resctrlfs/mounted_test_base.h"

namespace plimsoll::resctrlfs {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kRecords[] = "run/plimsoll-test-resctrlfs";

// Set for a run of this program that starts a file system and dies, before any test.
constexpr char kDie[] = "RESCTRLFS_TEST_DIES";

class Dying : public ::testing::Environment {
  void SetUp() override {
    if (std::getenv(kDie) == nullptr) return;
    const auto resctrl = ResctrlFsFixture::Start(Layout());
    ASSERT_TRUE(resctrl.ok()) << resctrl.status();
    std::printf("mounted on %s\n", (*resctrl)->mount_point().c_str());
    std::fflush(stdout);
    kill(getpid(), SIGKILL);
  }
};
const ::testing::Environment* const kDying = ::testing::AddGlobalTestEnvironment(new Dying);

// Traces of one file system, looked for from outside. Tests that run beside this one may have
// others.
class CleanupTest : public MountedTest {
 protected:
  void SetUp() override {
    MountedTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(Mkdir("gold"), 0);
    ASSERT_EQ(Mkdir("gold/mon_groups/m"), 0);
    ASSERT_EQ(Move(member_.pid(), "gold"), 0);
    ASSERT_EQ(Move(member_.pid(), "gold/mon_groups/m"), 0);
    mount_point_ = resctrl_->mount_point();
    const auto names = host_.List(kRecords);
    for (const std::string& name : *names) {
      if (absl::StrContains(*host_.Read(absl::StrCat(kRecords, "/", name)), mount_point_)) {
        hierarchy_ = name;
      }
    }
    ASSERT_THAT(hierarchy_, Not(IsEmpty()));
    ASSERT_THAT(CgroupsOfMember(), HasSubstr(absl::StrCat("name=", hierarchy_, ":/group")));
  }

  std::string CgroupsOfMember() {
    return *host_.Read(absl::StrCat("proc/", member_.pid(), "/cgroup"));
  }
  // The remains; empty: none.
  std::string Left() {
    std::string left;
    if (absl::StrContains(*host_.Read("proc/self/mountinfo"), mount_point_)) left += "mount ";
    if (absl::StrContains(CgroupsOfMember(), hierarchy_)) left += "hierarchy ";
    if (host_.Exists(absl::StrCat(kRecords, "/", hierarchy_))) left += "record ";
    return left;
  }
  // Returns Left, once there are none or time is up.
  std::string LeftInTheEnd() {
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (!Left().empty() && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(5));
    return Left();
  }

  const FsRoot host_ = *FsRoot::Open("/");
  Member member_;
  std::string mount_point_;
  std::string hierarchy_;
};

TEST_F(CleanupTest, AfterStop) {
  EXPECT_EQ(Left(), "mount hierarchy record ");
  const absl::Status stopped = resctrl_->Stop();
  EXPECT_TRUE(stopped.ok()) << stopped;
  EXPECT_EQ(Left(), "");
  EXPECT_EQ(member_.Ask("fork").empty(), false);  // the member lives on
}

TEST_F(CleanupTest, AfterStopWithFilesOpenAndForksUnderWay) {
  const auto held = resctrl_->OpenFs();
  const auto tasks = held->OpenFile("gold/tasks", 0);
  ASSERT_EQ(member_.Ask("storm"), "storm");
  const absl::Status stopped = resctrl_->Stop();
  EXPECT_TRUE(stopped.ok()) << stopped;
  EXPECT_EQ(Left(), "");
}

TEST_F(CleanupTest, AfterSigterm) {
  ASSERT_EQ(kill(resctrl_->pid(), SIGTERM), 0);
  EXPECT_EQ(LeftInTheEnd(), "");
  EXPECT_TRUE(resctrl_->Stop().ok());
}

TEST_F(CleanupTest, AfterAnUnmountByHand) {
  ASSERT_EQ(umount2(mount_point_.c_str(), 0), 0);
  EXPECT_EQ(LeftInTheEnd(), "");
  EXPECT_TRUE(resctrl_->Stop().ok());
}

TEST_F(CleanupTest, AfterAKillByTheNextStart) {
  resctrl_->Kill();
  EXPECT_EQ(Left(), "mount hierarchy record ");
  const auto next = ResctrlFsFixture::Start(Layout());
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(Left(), "");
}

// The death of a test closes its end of the program's input.
TEST_F(CleanupTest, AfterTheDeathOfTheTest) {
  Command test;
  test.executable = "/proc/self/exe";
  test.argv = {"resctrlfs_test"};
  test.environment.push_back(absl::StrCat(kDie, "=1"));
  const auto result = RunProgram(test);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->exit.signal, SIGKILL) << result->out;
  const size_t begin = result->out.find("mounted on ") + 11;
  mount_point_ = result->out.substr(begin, result->out.find('\n', begin) - begin);
  ASSERT_THAT(mount_point_, ::testing::StartsWith("/"));
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (absl::StrContains(*host_.Read("proc/self/mountinfo"), mount_point_) &&
         absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_THAT(*host_.Read("proc/self/mountinfo"), Not(HasSubstr(mount_point_)));
  const size_t root = mount_point_.find("/root/");
  EXPECT_TRUE(host_.RemoveTree(mount_point_.substr(0, root)).ok());
}

TEST(StartTest, SaysWhatIsWrongWithALayout) {
  if (const std::string why = ResctrlFsFixture::WhyNot(); !why.empty()) GTEST_SKIP() << why;
  Layout layout;
  layout.options.mba_mbps = true;
  EXPECT_THAT(ResctrlFsFixture::Start(layout).status().ToString(), HasSubstr("mba_MBps needs"));
}

}  // namespace
}  // namespace plimsoll::resctrlfs
