#include "cluster_socket/claim_table.h"

#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sqlite/small_disk_for_test.h"

namespace plimsoll::cluster {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Claim ClaimOf(const std::string& number) {
  return {.claim_uid = absl::StrCat("claim-", number),
          .pod_uid = absl::StrCat("pod-", number),
          .classes = {{"rdt", "gold"}, {"example.com/lane", "fast"}},
          .told_unix_seconds = 1790000000};
}

class ClaimTableTest : public ::testing::Test {
 protected:
  absl::Status Open() {
    table_.reset();
    content_ = {};
    auto table = ClaimTable::Open(dir_.root(), &content_);
    if (table.ok()) table_ = *std::move(table);
    return table.status();
  }

  TestDir dir_;
  StoredClaims content_;
  std::unique_ptr<ClaimTable> table_;
};

TEST_F(ClaimTableTest, KeepsAllOfAClaim) {
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(content_.by_uid, IsEmpty());
  EXPECT_FALSE(content_.scheduled);
  ASSERT_TRUE(table_->Put(ClaimOf("1")).ok());
  ASSERT_TRUE(table_->Put(ClaimOf("2")).ok());
  ASSERT_TRUE(table_->SetScheduled(true).ok());
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(content_.by_uid.size(), 2u);
  EXPECT_EQ(content_.by_uid.at("claim-1"), ClaimOf("1"));
  EXPECT_EQ(content_.by_uid.at("claim-2"), ClaimOf("2"));
  EXPECT_TRUE(content_.scheduled);
}

TEST_F(ClaimTableTest, PutReplacesTheWholeClaim) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(table_->Put(ClaimOf("1")).ok());
  Claim changed = ClaimOf("1");
  changed.pod_uid = "another";
  changed.classes = {{"rdt", "silver"}};
  ASSERT_TRUE(table_->Put(changed).ok());
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(content_.by_uid.size(), 1u);
  EXPECT_EQ(content_.by_uid.at("claim-1"), changed);
}

TEST_F(ClaimTableTest, RemovesOnlyThatClaim) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(table_->Put(ClaimOf("1")).ok());
  ASSERT_TRUE(table_->Put(ClaimOf("2")).ok());
  ASSERT_TRUE(table_->Remove("claim-1").ok());
  ASSERT_TRUE(table_->Remove("claim-1").ok());
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(content_.by_uid.size(), 1u);
  EXPECT_TRUE(content_.by_uid.contains("claim-2"));
}

TEST_F(ClaimTableTest, ANodeWithoutClaimsHasNoFile) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(table_->Remove("claim-1").ok());
  ASSERT_TRUE(table_->SetScheduled(false).ok());
  EXPECT_FALSE(*dir_.root().Has(ClaimTable::kFileName));
  ASSERT_TRUE(table_->SetScheduled(true).ok());
  EXPECT_TRUE(*dir_.root().Has(ClaimTable::kFileName));
  ASSERT_TRUE(table_->SetScheduled(false).ok());
  ASSERT_TRUE(Open().ok());
  EXPECT_FALSE(content_.scheduled);
}

TEST_F(ClaimTableTest, TheFileIsRootsAlone) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(table_->Put(ClaimOf("1")).ok());
  EXPECT_EQ(dir_.root().Stat(ClaimTable::kFileName)->st_mode & 0777, 0600u);
}

TEST_F(ClaimTableTest, DamageIsAnErrorWithARemedy) {
  ASSERT_TRUE(dir_.root().ReplaceFile(ClaimTable::kFileName, std::string(4096, 'x'), 0600).ok());
  const absl::Status status = Open();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(dir_.root().PathOf(ClaimTable::kFileName)),
                    HasSubstr("no pod starts"), HasSubstr("-wal away")));
}

TEST_F(ClaimTableTest, ALinkThatLeadsNowhereIsNoNodeWithoutClaims) {
  ASSERT_EQ(symlink("gone", dir_.root().PathOf(ClaimTable::kFileName).c_str()), 0);
  const absl::Status status = Open();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(dir_.root().PathOf(ClaimTable::kFileName)),
                    HasSubstr("leads nowhere"), HasSubstr("To mend it")));
}

TEST_F(ClaimTableTest, AnythingInTheFilesPlaceWhileItRunsIsNotMissing) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(dir_.root().MakeDirs(ClaimTable::kFileName).ok());
  EXPECT_EQ(table_->Put(ClaimOf("1")).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ClaimTableTest, ANewerTableIsLeftAlone) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(table_->Put(ClaimOf("1")).ok());
  table_.reset();
  {
    auto database = sqlite::Database::Open(dir_.root().PathOf(ClaimTable::kFileName),
                                           sqlite::Durability::kFull);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE((*database)->Execute("PRAGMA user_version = 2").ok());
  }
  const absl::Status status = Open();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("schema version 2, this one knows up to 1"));
}

class ClaimTableDiskTest : public sqlite::SmallDiskTest {};

TEST_F(ClaimTableDiskTest, AFullDiskChangesNothing) {
  StoredClaims content;
  auto table = ClaimTable::Open(*root_, &content);
  ASSERT_TRUE(table.ok());
  ASSERT_TRUE((*table)->Put(ClaimOf("0")).ok());
  absl::Status status;
  int kept = 1;
  for (; status.ok() && kept < 100'000; ++kept) {
    Claim large = ClaimOf(absl::StrCat(kept));
    for (int i = 0; i < 30; ++i) large.classes[absl::StrCat("type-", i)] = std::string(300, 'x');
    status = (*table)->Put(large);
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  table->reset();
  auto again = ClaimTable::Open(*root_, &content);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(content.by_uid.size(), static_cast<size_t>(kept - 1));
}

TEST_F(ClaimTableDiskTest, ClaimsEndOnAFullDisk) {
  StoredClaims content;
  auto table = ClaimTable::Open(*root_, &content);
  ASSERT_TRUE(table.ok());
  for (int i = 0; i < 50; ++i) ASSERT_TRUE((*table)->Put(ClaimOf(absl::StrCat(i))).ok());
  Fill();
  EXPECT_TRUE(root_->Exists(ClaimTable::kReserveName));
  // The log has room for some of them in the file's last page.
  absl::Status status;
  for (int i = 50; status.ok() && i < 10'000; ++i) status = (*table)->Put(ClaimOf(absl::StrCat(i)));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_TRUE(root_->Exists(ClaimTable::kReserveName));
  for (int i = 0; i < 50; ++i) {
    const absl::Status removed = (*table)->Remove(absl::StrCat("claim-", i));
    EXPECT_TRUE(removed.ok()) << removed;
  }
  EXPECT_FALSE(root_->Exists(ClaimTable::kReserveName));
}

}  // namespace
}  // namespace plimsoll::cluster
