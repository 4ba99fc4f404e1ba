#include "runtime/store/log_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/store/store.h"
#include "sqlite/database.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr size_t kFrame = 24 + 4096;
constexpr size_t kCommits = 8;

// The files of SQLite after a kill: copied while it has them open.
class LogCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    {
      auto database =
          sqlite::Database::Open(live_.PathOf("plimsoll.db"), sqlite::Durability::kNormal);
      ASSERT_TRUE(database.ok()) << database.status();
      ASSERT_EQ(*(*database)->QueryText("PRAGMA journal_mode = WAL"), "wal");
      ASSERT_TRUE((*database)->Execute("CREATE TABLE t (a)").ok());
      for (size_t i = 1; i < kCommits; ++i) {
        ASSERT_TRUE((*database)->Execute(absl::StrCat("INSERT INTO t VALUES (", i, ")")).ok());
      }
      Kill();
    }
    log_ = *killed_.Read("plimsoll.db-wal");
    ASSERT_GT(log_.size(), 32 + kCommits * kFrame);
    ASSERT_TRUE(CheckLog(killed_, "plimsoll.db").ok()) << CheckLog(killed_, "plimsoll.db");
  }
  void Kill() {
    for (const char* name : {"plimsoll.db", "plimsoll.db-wal", "plimsoll.db-shm"}) {
      ASSERT_TRUE(killed_.ReplaceFile(name, *live_.Read(name)).ok());
    }
  }
  absl::Status CheckWith(const std::string& log) {
    EXPECT_TRUE(killed_.ReplaceFile("plimsoll.db-wal", log).ok());
    return CheckLog(killed_, "plimsoll.db");
  }
  // The log with some bytes of a frame (from 1) overwritten.
  std::string Damaged(size_t frame, size_t at, size_t count = 1) const {
    std::string log = log_;
    for (size_t i = 0; i < count; ++i) log[32 + (frame - 1) * kFrame + at + i] ^= 0x55;
    return log;
  }
  size_t frames() const { return (log_.size() - 32) / kFrame; }
  void ForgetIndex() { ASSERT_TRUE(killed_.RemoveFile("plimsoll.db-shm").ok()); }

  TestDir dir_;
  const FsRoot live_ = *FsRoot::OpenOrCreate(dir_.path() + "/live");
  const FsRoot killed_ = *FsRoot::OpenOrCreate(dir_.path() + "/killed");
  std::string log_;
};

TEST_F(LogCheckTest, EachBrokenFrameIsDataLoss) {
  for (size_t frame = 1; frame <= frames(); ++frame) {
    // Offsets of its page number, size after commit, salts, checksum, page.
    for (const size_t at : {0, 7, 9, 17, 2000}) {
      const absl::Status status = CheckWith(Damaged(frame, at));
      EXPECT_TRUE(absl::IsDataLoss(status)) << frame << ", " << at << ": " << status;
      EXPECT_THAT(status.message(),
                  HasSubstr(absl::StrCat(killed_.PathOf("plimsoll.db-wal"), " is broken at frame ",
                                         frame, " of ", frames())));
      EXPECT_THAT(status.message(), HasSubstr("ends every running pod"));
    }
  }
  EXPECT_TRUE(CheckWith(log_).ok());
}

TEST_F(LogCheckTest, ALogThatIsCutOffOrGoneIsDataLoss) {
  EXPECT_THAT(CheckWith(log_.substr(0, log_.size() - 1)).message(), HasSubstr("is broken at"));
  EXPECT_THAT(CheckWith("").message(), HasSubstr("is empty"));
  EXPECT_THAT(CheckWith(log_.substr(0, 20)).message(), HasSubstr("broken header"));
  ASSERT_TRUE(killed_.RemoveFile("plimsoll.db-wal").ok());
  EXPECT_THAT(CheckLog(killed_, "plimsoll.db").message(), HasSubstr("is not there"));
}

TEST_F(LogCheckTest, ABrokenHeaderIsDataLossWithAndWithoutIndex) {
  std::string log = log_;
  log[17] ^= 1;  // of a salt
  EXPECT_THAT(CheckWith(log).message(), HasSubstr("broken header"));
  ForgetIndex();
  EXPECT_THAT(CheckWith(log).message(), HasSubstr("broken header"));
}

TEST_F(LogCheckTest, AnotherLogIsDataLoss) {
  std::string other;
  {
    const FsRoot place = *FsRoot::OpenOrCreate(dir_.path() + "/other");
    auto database = sqlite::Database::Open(place.PathOf("a.db"), sqlite::Durability::kNormal);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE((*database)->QueryText("PRAGMA journal_mode = WAL").ok());
    ASSERT_TRUE((*database)->Execute("CREATE TABLE t (a)").ok());
    other = *place.Read("a.db-wal");
  }
  EXPECT_THAT(CheckWith(other).message(), HasSubstr("isn't the one that was last written to"));
}

// The index says which commits were finished: frames after them were never acknowledged.
TEST_F(LogCheckTest, WhatWasNotCommittedMayBeTorn) {
  std::string tail = log_.substr(log_.size() - kFrame);
  EXPECT_TRUE(CheckWith(log_ + tail).ok());
  EXPECT_TRUE(CheckWith(log_ + tail + tail.substr(0, 100)).ok());
  ForgetIndex();
  EXPECT_TRUE(CheckWith(log_ + tail.substr(0, 100)).ok());
}

TEST_F(LogCheckTest, WithoutAnIndexAWrongLastFrameIsATornOne) {
  ForgetIndex();
  EXPECT_TRUE(CheckWith(log_).ok());
  EXPECT_TRUE(CheckWith("").ok());
  const size_t last = frames();
  EXPECT_TRUE(CheckWith(Damaged(last, 2000, 100)).ok());
  EXPECT_TRUE(absl::IsDataLoss(CheckWith(Damaged(last - 1, 2000, 100))));
  EXPECT_TRUE(absl::IsDataLoss(CheckWith(Damaged(1, 2000, 100))));
}

TEST_F(LogCheckTest, WhatACheckpointHasFoldedIsNotMissed) {
  auto database = sqlite::Database::Open(live_.PathOf("plimsoll.db"), sqlite::Durability::kNormal);
  ASSERT_TRUE(database.ok());
  ASSERT_TRUE((*database)->Execute("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)").ok());
  ASSERT_TRUE((*database)->Execute("PRAGMA wal_checkpoint(RESTART)").ok());
  // The log begins again and keeps frames of its last round behind.
  ASSERT_TRUE((*database)->Execute("INSERT INTO t VALUES (3)").ok());
  Kill();
  EXPECT_TRUE(CheckLog(killed_, "plimsoll.db").ok()) << CheckLog(killed_, "plimsoll.db");
  ForgetIndex();
  EXPECT_TRUE(CheckLog(killed_, "plimsoll.db").ok()) << CheckLog(killed_, "plimsoll.db");
  ASSERT_TRUE((*database)->Execute("PRAGMA wal_checkpoint(TRUNCATE)").ok());
  Kill();
  EXPECT_EQ(*killed_.Read("plimsoll.db-wal"), "");
  EXPECT_TRUE(CheckLog(killed_, "plimsoll.db").ok()) << CheckLog(killed_, "plimsoll.db");
}

// A transaction that needs more than the page cache writes frames before its end. A rollback leaves
// them there, with the same salts, under later writes.
TEST_F(LogCheckTest, FramesOfARolledBackTransactionAreNotMissed) {
  auto database = sqlite::Database::Open(live_.PathOf("plimsoll.db"), sqlite::Durability::kNormal);
  ASSERT_TRUE(database.ok());
  ASSERT_TRUE((*database)->Execute("INSERT INTO t VALUES (1)").ok());
  const size_t before = live_.Read("plimsoll.db-wal")->size();
  ASSERT_TRUE((*database)
                  ->Execute("BEGIN; WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM "
                            "n WHERE i < 600) INSERT INTO t SELECT zeroblob(4000) FROM n; ROLLBACK")
                  .ok());
  ASSERT_GT(live_.Read("plimsoll.db-wal")->size(), before + 2 * kFrame) << "nothing was spilled";
  ASSERT_TRUE((*database)->Execute("INSERT INTO t VALUES (2)").ok());
  Kill();
  EXPECT_TRUE(CheckLog(killed_, "plimsoll.db").ok()) << CheckLog(killed_, "plimsoll.db");
  ForgetIndex();
  EXPECT_TRUE(CheckLog(killed_, "plimsoll.db").ok()) << CheckLog(killed_, "plimsoll.db");
}

TEST_F(LogCheckTest, AStoreOfPodsRefusesADamagedLogAndTouchesNothing) {
  const FsRoot live = *FsRoot::OpenOrCreate(dir_.path() + "/store");
  const FsRoot killed = *FsRoot::OpenOrCreate(dir_.path() + "/store-killed");
  {
    auto store = Store::Open(live);
    ASSERT_TRUE(store.ok()) << store.status();
    for (const char* id : {"a", "b", "c"}) {
      ASSERT_TRUE((*store)->PutSandbox({.id = id, .state = SandboxState::kReady}).ok());
    }
    for (const char* name : {"plimsoll.db", "plimsoll.db-wal", "plimsoll.db-shm"}) {
      ASSERT_TRUE(killed.ReplaceFile(name, *live.Read(name)).ok());
    }
  }
  const std::string whole = *killed.Read("plimsoll.db-wal");
  std::string damaged = whole;
  for (size_t i = 0; i < 100; ++i) damaged[whole.size() / 2 + i] = '\xaa';
  ASSERT_TRUE(killed.ReplaceFile("plimsoll.db-wal", damaged).ok());
  const absl::Status status = Store::Open(killed, 3).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_EQ(*killed.Read("plimsoll.db-wal"), damaged);
  EXPECT_TRUE(absl::IsDataLoss(Store::Open(killed, 3).status())) << "each time";
  // With the log repaired, everything is there again.
  ASSERT_TRUE(killed.ReplaceFile("plimsoll.db-wal", whole).ok());
  const auto store = Store::Open(killed, 3);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_THAT(*(*store)->LoadSandboxes(), SizeIs(3));
}

}  // namespace
}  // namespace plimsoll::runtime
