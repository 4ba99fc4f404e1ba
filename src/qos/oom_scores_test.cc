#include "qos/oom_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "linux/capabilities.h"
#include "linux/process.h"

namespace plimsoll::qos {
namespace {

using ::testing::HasSubstr;

class OomScoresTest : public testing::Test {
 protected:
  void SetUp() override {
    if (own() > 500) GTEST_SKIP() << "this process' own oom_score_adj is " << own();
    for (int i = 0; i < 3; ++i) {
      children_.push_back(*Spawn({.argv = {"/bin/sleep", "600"}}));
      members_.push_back(children_.back().pid());
    }
    std::sort(members_.begin(), members_.end());
  }
  void TearDown() override {
    for (Child& child : children_) {
      child.Signal(SIGKILL).IgnoreError();
      child.Wait().IgnoreError();
    }
  }
  int own() const { return Score(getpid()); }
  int Score(pid_t pid) const {
    return *linux::ReadOomScoreAdj(host_, *linux::IdentifyProcess(host_, pid));
  }

  const FsRoot host_ = *FsRoot::Open("/");
  std::vector<Child> children_;
  std::vector<pid_t> members_;
};

TEST_F(OomScoresTest, AllMembersGetItAndLoseIt) {
  OomScores scores(host_, [&] { return members_; });
  ASSERT_TRUE(scores.SetAll(700).ok());
  EXPECT_EQ(scores.changed(), 3u);
  for (const pid_t pid : members_) EXPECT_EQ(Score(pid), 700);
  ASSERT_TRUE(scores.SetAll(700).ok());
  EXPECT_EQ(scores.changed(), 3u) << "they had it";
  EXPECT_EQ(scores.Undo(), absl::OkStatus());
  for (const pid_t pid : members_) EXPECT_EQ(Score(pid), own());
}

// The stranger's pid was a member's when members were listed.
TEST_F(OomScoresTest, AStrangerWithAMembersPidIsLeftAlone) {
  int looks = 0;
  OomScores scores(host_, [&] {
    std::vector<pid_t> members = members_;
    if (++looks == 2) members.erase(members.begin());
    return members;
  });
  ASSERT_TRUE(scores.SetAll(700).ok());
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(Score(members_[0]), own());
  EXPECT_EQ(Score(members_[1]), 700);
  EXPECT_EQ(Score(members_[2]), 700);
}

TEST_F(OomScoresTest, WhoHasEndedDoesNotMatter) {
  ASSERT_TRUE(children_[0].Signal(SIGKILL).ok());
  ASSERT_TRUE(children_[0].Wait().ok());
  OomScores scores(host_, [&] { return members_; });
  ASSERT_TRUE(scores.SetAll(700).ok());
  EXPECT_EQ(scores.changed(), 2u);
  for (Child& child : children_) child.Signal(SIGKILL).IgnoreError();
  for (size_t i = 1; i < children_.size(); ++i) EXPECT_TRUE(children_[i].Wait().ok());
  EXPECT_EQ(scores.Undo(), absl::OkStatus());
}

TEST_F(OomScoresTest, WhoCannotBeListedIsTold) {
  bool gone = false;
  OomScores scores(host_, [&]() -> absl::StatusOr<std::vector<pid_t>> {
    if (gone) return absl::InternalError("no list");
    return members_;
  });
  ASSERT_TRUE(scores.SetAll(700).ok());
  gone = true;
  EXPECT_FALSE(scores.SetAll(800).ok());
  EXPECT_THAT(scores.Undo().message(), HasSubstr("no list"));
}

TEST_F(OomScoresTest, WhatIsNoNumberIsNamed) {
  const TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("proc/5").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("proc/5/oom_score_adj", "much\n").ok());
  OomScores scores(dir.root(), [] { return std::vector<pid_t>{5}; });
  EXPECT_EQ(scores.SetAll(700).message(),
            absl::StrCat(dir.path(), "/proc/5/oom_score_adj: not a number"));
}

TEST_F(OomScoresTest, ARefusalNamesTheFileAndTheCapability) {
  if (*linux::HasCapability(host_, 24)) {
    GTEST_SKIP() << "root has CAP_SYS_RESOURCE here, so nothing is refused";
  }
  OomScores scores(host_, [&] { return members_; });
  const absl::Status status = scores.SetAll(-1000);
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("/oom_score_adj"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("(to lower it needs CAP_SYS_RESOURCE)"));
}

}  // namespace
}  // namespace plimsoll::qos
