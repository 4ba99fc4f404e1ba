// The race between forks and moves, and its end.
#include "resctrlfs/hiding.h"

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "resctrlfs/freezer.h"
#include "resctrlfs/member.h"
#include "resctrlfs/mounted_test_base.h"

namespace plimsoll::resctrlfs {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class HidingTest : public MountedTest {
 protected:
  void SetUp() override {
    MountedTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(Mkdir("old") + Mkdir("new"), 0);
    ASSERT_EQ(Move(member_.pid(), "old"), 0);
  }

  Member member_;
};

TEST_F(HidingTest, AMoveLeavesAHiddenChildBehind) {
  const pid_t early = member_.Fork();
  ASSERT_TRUE(resctrl_->HideNewThreads().ok());
  const pid_t late = member_.Fork();
  EXPECT_THAT(Tasks("old"), UnorderedElementsAre(member_.pid(), early));
  EXPECT_THAT(*resctrl_->Members("old"), UnorderedElementsAre(member_.pid(), early, late));
  EXPECT_EQ(Move(late, "new"), ESRCH);
  // A mover that relies on what it sees is done now.
  ASSERT_EQ(Move(member_.pid(), "new") + Move(early, "new"), 0);
  EXPECT_THAT(Tasks("old"), IsEmpty());
  // The fork ends, and the child appears.
  ASSERT_TRUE(resctrl_->ShowAllThreads().ok());
  EXPECT_THAT(Tasks("old"), ElementsAre(late));
  EXPECT_EQ(Move(late, "new"), 0);
}

// That holds for a child of a hidden thread, and for one whose parent was moved before.
TEST_F(HidingTest, ChildrenHaveTheGroupOfTheirParentAtTheFork) {
  ASSERT_TRUE(resctrl_->HideNewThreads().ok());
  const pid_t first = member_.Fork();
  ASSERT_EQ(Move(member_.pid(), "new"), 0);
  const pid_t second = member_.Fork();
  EXPECT_THAT(Tasks("new"), ElementsAre(member_.pid()));
  ASSERT_TRUE(resctrl_->ShowAllThreads().ok());
  EXPECT_THAT(Tasks("old"), ElementsAre(first));
  EXPECT_THAT(Tasks("new"), UnorderedElementsAre(member_.pid(), second));
}

TEST_F(HidingTest, AgeCounts) {
  ASSERT_TRUE(resctrl_->HideThreadsFor(absl::Hours(1)).ok());
  EXPECT_THAT(Tasks("old"), IsEmpty());
  ASSERT_TRUE(resctrl_->HideThreadsFor(absl::Milliseconds(50)).ok());
  const pid_t child = member_.Fork();
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (Tasks("old").size() < 2 && absl::Now() < deadline) {
  }
  EXPECT_THAT(Tasks("old"), UnorderedElementsAre(member_.pid(), child));
}

// No fork is under way in a frozen group.
TEST_F(HidingTest, NothingFrozenIsHidden) {
  const std::unique_ptr<Freezer> freezer = Freezer::Make(member_.pid());
  if (freezer == nullptr) GTEST_SKIP() << "needs a cgroup freezer, v1 or v2";
  ASSERT_TRUE(resctrl_->HideNewThreads().ok());
  const pid_t child = member_.Fork();
  EXPECT_THAT(Tasks("old"), ElementsAre(member_.pid()));
  ASSERT_TRUE(freezer->Freeze());
  EXPECT_THAT(Tasks("old"), UnorderedElementsAre(member_.pid(), child));
  EXPECT_EQ(Move(child, "new"), 0);
  // Running on doesn't hide it again.
  ASSERT_TRUE(freezer->Thaw());
  EXPECT_THAT(Tasks("new"), ElementsAre(child));
}

// The right way to move: freeze, move all visible threads, thaw.
TEST_F(HidingTest, AMoverThatFreezesLosesNobody) {
  const std::unique_ptr<Freezer> freezer = Freezer::Make(member_.pid());
  if (freezer == nullptr) GTEST_SKIP() << "needs a cgroup freezer, v1 or v2";
  ASSERT_EQ(member_.Ask("storm"), "storm");
  const char* groups[] = {"old", "new"};
  for (int round = 0; round < 10; ++round) {
    const std::string from = groups[round % 2];
    ASSERT_TRUE(resctrl_->HideNewThreads().ok());
    const pid_t child = member_.Fork();
    ASSERT_TRUE(freezer->Freeze());
    const std::vector<pid_t> threads = Tasks(from);
    EXPECT_THAT(threads, Contains(child));
    for (pid_t thread : threads) {
      const int error = Move(thread, groups[1 - round % 2]);
      EXPECT_TRUE(error == 0 || error == ESRCH) << error;
    }
    EXPECT_THAT(*resctrl_->Members(from), IsEmpty());
    ASSERT_TRUE(freezer->Thaw());
    ASSERT_TRUE(resctrl_->ShowAllThreads().ok());
    EXPECT_THAT(Tasks(from), IsEmpty());
  }
}

// A process that is moved into a group was forked elsewhere.
TEST_F(HidingTest, WhoIsMovedOrMovesItselfIsSeen) {
  ASSERT_TRUE(resctrl_->HideNewThreads().ok());
  Member stranger;
  EXPECT_THAT(Tasks("."), Contains(stranger.pid()));
  ASSERT_EQ(Move(stranger.pid(), "old"), 0);
  EXPECT_THAT(Tasks("old"), UnorderedElementsAre(member_.pid(), stranger.pid()));

  const std::string answer = member_.Ask("join " + At("new/tasks"));
  EXPECT_THAT(answer, ::testing::EndsWith(" 0"));
  EXPECT_EQ(absl::StrCat(Tasks("new").front(), " 0"), answer);
}

TEST_F(HidingTest, RemovalTakesHiddenOnesToo) {
  ASSERT_TRUE(resctrl_->HideNewThreads().ok());
  const pid_t child = member_.Fork();
  ASSERT_EQ(Rmdir("old"), 0);
  EXPECT_THAT(*resctrl_->Members(""), Contains(child));
}

}  // namespace
}  // namespace plimsoll::resctrlfs
