#include "runtime/store/schema.h"

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Migration kFirst = {"CREATE TABLE a (id TEXT PRIMARY KEY, n INTEGER) STRICT"};
constexpr Migration kSecond = {
    "CREATE TABLE b (id TEXT PRIMARY KEY, a TEXT REFERENCES a (id)) STRICT;"
    "INSERT INTO b SELECT id || '-b', id FROM a"};
constexpr Migration kBroken = {"DELETE FROM b; CREATE TABLE nonsense ("};
constexpr Migration kDangling = {"DELETE FROM a"};

class SchemaTest : public ::testing::Test {
 protected:
  std::unique_ptr<sqlite::Database> Open(const std::string& name = "s.db") {
    auto database = sqlite::Database::Open(root_.PathOf(name), sqlite::Durability::kNormal);
    EXPECT_TRUE(database.ok()) << database.status();
    EXPECT_EQ(*(*database)->QueryText("PRAGMA journal_mode = WAL"), "wal");
    return *std::move(database);
  }
  absl::Status MigrateTo(sqlite::Database& database, std::vector<Migration> migrations) {
    return Migrate(database, root_, "s.db", migrations);
  }

  TestDir dir_;
  const FsRoot& root_ = dir_.root();
};

TEST_F(SchemaTest, AnEmptyDatabaseTakesAllMigrationsWithoutACopy) {
  auto database = Open();
  ASSERT_TRUE(MigrateTo(*database, {kFirst, kSecond}).ok());
  EXPECT_EQ(*database->QueryInteger("PRAGMA user_version"), 2);
  EXPECT_EQ(*database->QueryInteger("SELECT count(*) FROM b"), 0);
  EXPECT_FALSE(root_.Exists("s.db.v0"));
  EXPECT_TRUE(MigrateTo(*database, {kFirst, kSecond}).ok());  // nothing to do
  EXPECT_FALSE(root_.Exists("s.db.v2"));
}

TEST_F(SchemaTest, AnOlderDatabaseIsCopiedFirst) {
  auto database = Open();
  ASSERT_TRUE(MigrateTo(*database, {kFirst}).ok());
  ASSERT_TRUE(database->Execute("INSERT INTO a VALUES ('x', 7)").ok());  // is in the log only
  ASSERT_TRUE(MigrateTo(*database, {kFirst, kSecond}).ok());
  EXPECT_EQ(*database->QueryText("SELECT id FROM b"), "x-b");

  ASSERT_TRUE(root_.Exists("s.db.v1"));
  EXPECT_FALSE(root_.Exists("s.db.v1.part"));
  EXPECT_EQ(root_.Stat("s.db.v1")->st_mode & 0777, 0600u);
  EXPECT_TRUE(CheckFile(root_, "s.db.v1", 1).ok());  // the earlier build would take it
  auto copy = Open("s.db.v1");
  EXPECT_EQ(*copy->QueryInteger("PRAGMA user_version"), 1);
  EXPECT_EQ(*copy->QueryInteger("SELECT n FROM a"), 7);
  EXPECT_FALSE(copy->QueryInteger("SELECT count(*) FROM b").ok());
}

TEST_F(SchemaTest, ACopyOfAnEarlierAttemptIsReplaced) {
  auto database = Open();
  ASSERT_TRUE(MigrateTo(*database, {kFirst}).ok());
  ASSERT_TRUE(root_.ReplaceFile("s.db.v1", "old").ok());
  ASSERT_TRUE(root_.ReplaceFile("s.db.v1.part", "half done").ok());
  ASSERT_TRUE(MigrateTo(*database, {kFirst, kSecond}).ok());
  EXPECT_TRUE(CheckFile(root_, "s.db.v1", 1).ok());
}

TEST_F(SchemaTest, AFailedMigrationChangesNothing) {
  auto database = Open();
  ASSERT_TRUE(MigrateTo(*database, {kFirst}).ok());
  ASSERT_TRUE(database->Execute("INSERT INTO a VALUES ('x', 7)").ok());
  const absl::Status broken = MigrateTo(*database, {kFirst, kSecond, kBroken});
  EXPECT_THAT(broken.message(), HasSubstr("migrate to schema version 3"));
  EXPECT_EQ(*database->QueryInteger("PRAGMA user_version"), 1);
  EXPECT_FALSE(database->QueryInteger("SELECT count(*) FROM b").ok());
  EXPECT_EQ(*database->QueryInteger("SELECT n FROM a"), 7);
}

TEST_F(SchemaTest, AMigrationThatLeavesDanglingReferencesFails) {
  auto database = Open();
  ASSERT_TRUE(MigrateTo(*database, {kFirst}).ok());
  ASSERT_TRUE(database->Execute("INSERT INTO a VALUES ('x', 7)").ok());
  const absl::Status status = MigrateTo(*database, {kFirst, kSecond, kDangling});
  EXPECT_THAT(status.message(), HasSubstr("dangling references in table b"));
  EXPECT_EQ(*database->QueryInteger("SELECT count(*) FROM a"), 1);
}

TEST_F(SchemaTest, WithoutRoomForTheCopyNothingIsMigrated) {
  auto database = Open();
  ASSERT_TRUE(MigrateTo(*database, {kFirst}).ok());
  ASSERT_TRUE(root_.MakeDirs("s.db.v1").ok());  // a directory cannot be replaced by a file
  const absl::Status status = MigrateTo(*database, {kFirst, kSecond});
  EXPECT_THAT(status.message(), HasSubstr("copy before migration to " + root_.PathOf("s.db.v1")));
  EXPECT_EQ(*database->QueryInteger("PRAGMA user_version"), 1);
  EXPECT_FALSE(root_.Exists("s.db.v1.part"));
}

TEST_F(SchemaTest, ANewerVersionIsRefused) {
  auto database = Open();
  ASSERT_TRUE(MigrateTo(*database, {kFirst, kSecond}).ok());
  const absl::Status status = MigrateTo(*database, {kFirst});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(
      status.message(),
      HasSubstr("written by a newer Plimsoll (schema version 2, this build knows up to 1)"));
  // The version is in the file itself, with no log to read: its migration has folded it.
  EXPECT_EQ(CheckFile(root_, "s.db", 1), status);
  EXPECT_TRUE(CheckFile(root_, "s.db", 2).ok());
}

TEST_F(SchemaTest, AnotherProgramsDatabaseIsRefused) {
  auto database = Open();
  ASSERT_TRUE(database->Execute("CREATE TABLE theirs (x)").ok());
  const absl::Status unnamed = MigrateTo(*database, {kFirst});
  EXPECT_TRUE(absl::IsFailedPrecondition(unnamed)) << unnamed;
  EXPECT_THAT(unnamed.message(), HasSubstr("belongs to another program"));

  ASSERT_TRUE(database->Execute("PRAGMA application_id = 7").ok());
  database.reset();
  EXPECT_THAT(CheckFile(root_, "s.db", 9).message(), HasSubstr("(application_id 7)"));
}

TEST_F(SchemaTest, CheckFileOfNothingAndOfRubbish) {
  EXPECT_TRUE(CheckFile(root_, "none", 1).ok());
  ASSERT_TRUE(root_.ReplaceFile("empty", "").ok());
  EXPECT_TRUE(CheckFile(root_, "empty", 1).ok());
  ASSERT_TRUE(root_.ReplaceFile("short", "SQLite format 3").ok());
  EXPECT_TRUE(absl::IsDataLoss(CheckFile(root_, "short", 1)));
  ASSERT_TRUE(root_.ReplaceFile("text", std::string(5000, 'x')).ok());
  EXPECT_TRUE(absl::IsDataLoss(CheckFile(root_, "text", 1)));
  EXPECT_THAT(*root_.List("."), ElementsAre("empty", "short", "text"));
}

}  // namespace
}  // namespace plimsoll::runtime
