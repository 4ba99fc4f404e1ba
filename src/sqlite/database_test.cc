#include "sqlite/database.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::sqlite {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DatabaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto database = Database::Open(path_, Durability::kNormal);
    ASSERT_TRUE(database.ok()) << database.status();
    database_ = *std::move(database);
    ASSERT_TRUE(database_
                    ->Execute("CREATE TABLE t (k TEXT PRIMARY KEY, n INTEGER NOT NULL, "
                              "b BLOB) STRICT")
                    .ok());
  }

  TestDir dir_;
  const std::string path_ = dir_.root().PathOf("test.db");
  std::unique_ptr<Database> database_;
};

TEST_F(DatabaseTest, ValuesRoundTrip) {
  const std::string bytes("\0\xff\x01", 3);
  const std::string text("a\0b", 3);
  auto put = database_->Prepare("INSERT INTO t VALUES (?, ?, ?)");
  ASSERT_TRUE(put.ok()) << put.status();
  ASSERT_TRUE(put->Run(text, INT64_MIN, Blob{bytes}).ok());
  ASSERT_TRUE(put->Run("", true, Blob{""}).ok());

  auto get = database_->Prepare("SELECT k, n, b FROM t ORDER BY n");
  std::vector<std::string> texts;
  std::vector<int64_t> integers;
  ASSERT_TRUE(get->Query([&] {
                   texts.push_back(get->Bytes(0));
                   integers.push_back(get->Integer(1));
                   texts.push_back(get->Bytes(2));
                   return absl::OkStatus();
                 })
                  .ok());
  EXPECT_THAT(texts, ElementsAre(text, bytes, "", ""));
  EXPECT_THAT(integers, ElementsAre(INT64_MIN, 1));
  EXPECT_EQ(*database_->QueryInteger("SELECT count(*) FROM t WHERE b IS NULL OR k IS NULL"), 0);
}

// SQLite would take a log with a damaged header for an empty one.
TEST_F(DatabaseTest, ALogThatLostItsHeaderIsDataLoss) {
  ASSERT_EQ(*database_->QueryText("PRAGMA journal_mode = WAL"), "wal");
  ASSERT_TRUE(database_->Execute("INSERT INTO t VALUES ('a', 1, NULL)").ok());
  const FsRoot killed = *FsRoot::OpenOrCreate(dir_.root().PathOf("killed"));
  ASSERT_TRUE(killed.ReplaceFile("test.db", *dir_.root().Read("test.db")).ok());
  const std::string log = *dir_.root().Read("test.db-wal");
  const auto open_with = [&](const std::string& bytes) {
    EXPECT_TRUE(killed.ReplaceFile("test.db-wal", bytes).ok());
    return Database::Open(killed.PathOf("test.db"), Durability::kFull, "; mend it");
  };
  for (const size_t at : {0, 5, 9, 17, 30}) {
    std::string damaged = log;
    damaged[at] ^= 0x55;
    const absl::Status status = open_with(damaged).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << at << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("test.db-wal has a broken header"));
    EXPECT_THAT(std::string(status.message()), ::testing::EndsWith("; mend it"));
    EXPECT_EQ(*killed.Read("test.db-wal"), damaged) << "the log was touched";
  }
  // The header alone is lost, the commits are there.
  EXPECT_TRUE(absl::IsDataLoss(open_with(std::string(32, 0) + log.substr(32)).status()));
  // A power cut may leave these of a log that had no commit yet.
  for (const std::string& harmless :
       {std::string(), log.substr(0, 20), log.substr(0, 32), std::string(32, 'x'),
        std::string(32, 0), std::string(log.size(), 0)}) {
    EXPECT_TRUE(open_with(harmless).ok()) << harmless.size();
  }
  // The index of a killed process knows what was committed.
  ASSERT_TRUE(killed.ReplaceFile("test.db-shm", *dir_.root().Read("test.db-shm")).ok());
  const FsRoot lost = *FsRoot::OpenOrCreate(dir_.root().PathOf("lost"));
  for (const char* name : {"test.db", "test.db-shm"}) {
    ASSERT_TRUE(lost.ReplaceFile(name, *dir_.root().Read(name)).ok());
  }
  for (const bool is_there : {false, true}) {
    if (is_there) {
      ASSERT_TRUE(lost.ReplaceFile("test.db-wal", log.substr(0, 20)).ok());
    }
    const absl::Status status =
        Database::Open(lost.PathOf("test.db"), Durability::kFull, "").status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(is_there ? "test.db-wal is cut off" : "test.db-wal is not there"));
  }
  // A database that was moved away with its log is begun again, beside the index that stayed.
  ASSERT_TRUE(lost.RemoveFile("test.db").ok());
  ASSERT_TRUE(lost.RemoveFile("test.db-wal").ok());
  EXPECT_TRUE(Database::Open(lost.PathOf("test.db"), Durability::kFull, "").ok());
  auto whole = open_with(log);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(*(*whole)->QueryInteger("SELECT count(*) FROM t"), 1);
}

TEST_F(DatabaseTest, ItsFileIsTheOwnersAlone) {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    ASSERT_TRUE(database_
                    ->Execute("PRAGMA journal_mode = WAL; INSERT INTO t VALUES ('" +
                              std::string(suffix) + "', 1, NULL)")
                    .ok());
    EXPECT_EQ(dir_.root().Stat(std::string("test.db") + suffix)->st_mode & 0777, 0600u) << suffix;
  }
}

TEST_F(DatabaseTest, OnlyARegularFileIsOpened) {
  const std::string fifo = dir_.root().PathOf("fifo");
  const std::string nowhere = dir_.root().PathOf("nowhere");
  const std::string link = dir_.root().PathOf("link");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(symlink("gone", nowhere.c_str()), 0);
  ASSERT_EQ(symlink("test.db", link.c_str()), 0);
  const std::pair<std::string, std::string> others[] = {
      {fifo, "is a FIFO, not a regular file; do so"},
      {dir_.path(), "is a directory, not a regular file; do so"},
      {nowhere, "is a symbolic link that leads nowhere; do so"}};
  for (const auto& [path, fault] : others) {
    const absl::Status status = Database::Open(path, Durability::kFull, "; do so").status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_EQ(status.message(), "database " + path + ": " + fault);
  }
  EXPECT_FALSE(dir_.root().Exists("gone"));
  EXPECT_TRUE(Database::Open(link, Durability::kFull).ok());
}

TEST_F(DatabaseTest, StatementCanBeRunAgainAfterAnError) {
  auto put = database_->Prepare("INSERT INTO t VALUES (?, ?, NULL)");
  ASSERT_TRUE(put->Run("a", 1).ok());
  const absl::Status twice = put->Run("a", 2);
  EXPECT_TRUE(absl::IsFailedPrecondition(twice)) << twice;
  EXPECT_THAT(twice.message(), HasSubstr("test.db: UNIQUE constraint failed: t.k"));
  EXPECT_TRUE(put->Run("b", 2).ok());
}

TEST_F(DatabaseTest, AnErrorOfTheRowEndsTheQuery) {
  ASSERT_TRUE(database_->Execute("INSERT INTO t VALUES ('a', 1, NULL), ('b', 2, NULL)").ok());
  auto get = database_->Prepare("SELECT k FROM t ORDER BY k");
  int rows = 0;
  const auto refuse = [&] {
    ++rows;
    return absl::DataLossError("no");
  };
  EXPECT_TRUE(absl::IsDataLoss(get->Query(refuse)));
  EXPECT_EQ(rows, 1);
  EXPECT_TRUE(absl::IsDataLoss(get->Query(refuse)));  // starts at the first row again
}

TEST_F(DatabaseTest, TooManyValuesIsAnError) {
  auto get = database_->Prepare("SELECT k FROM t WHERE k = ?");
  EXPECT_FALSE(get->Run("a", 2).ok());
  EXPECT_TRUE(get->Run("a").ok());
}

TEST_F(DatabaseTest, TransactionRollsBackUnlessCommitted) {
  {
    auto transaction = Transaction::Begin(*database_);
    ASSERT_TRUE(transaction.ok());
    ASSERT_TRUE(database_->Execute("INSERT INTO t VALUES ('a', 1, NULL)").ok());
  }
  EXPECT_EQ(*database_->QueryInteger("SELECT count(*) FROM t"), 0);
  auto transaction = Transaction::Begin(*database_);
  ASSERT_TRUE(transaction.ok());
  ASSERT_TRUE(database_->Execute("INSERT INTO t VALUES ('a', 1, NULL)").ok());
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(*database_->QueryInteger("SELECT count(*) FROM t"), 1);
}

TEST_F(DatabaseTest, BadSqlIsInternal) {
  EXPECT_TRUE(absl::IsInternal(database_->Execute("SELEKT")));
  EXPECT_TRUE(absl::IsInternal(database_->Prepare("SELECT x FROM t").status()));
}

TEST_F(DatabaseTest, NotADatabaseIsDataLoss) {
  ASSERT_TRUE(dir_.root().ReplaceFile("other", std::string(4096, 'x')).ok());
  const auto database = Database::Open(dir_.root().PathOf("other"), Durability::kFull);
  absl::Status status = database.status();
  if (status.ok()) status = (*database)->QueryInteger("PRAGMA user_version").status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

TEST_F(DatabaseTest, CannotOpenIsFailedPrecondition) {
  const absl::Status status = Database::Open("/nonexistent/x.db", Durability::kFull).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("unable to open database file"));
}

}  // namespace
}  // namespace plimsoll::sqlite
