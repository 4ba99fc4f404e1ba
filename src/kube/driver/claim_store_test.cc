#include "kube/driver/claim_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/dir_for_test.h"
#include "kube/driver/node_for_test.h"

namespace plimsoll::kube {
namespace {

PreparedClaim Prepared(const std::string& uid) {
  return {ClaimForTest(uid),
          {{{"a", "rdt-gold", "s"}, {qos::Level::kContainer, "rdt", "gold"}},
           {{"b", "pod-lane-fast", ""}, {qos::Level::kPod, "lane", "fast"}}},
          "pod-1"};
}

class ClaimStoreTest : public testing::Test {
 protected:
  std::unique_ptr<ClaimStore> Open() {
    auto store = ClaimStore::Open(dir_.root());
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  TestDir dir_;
};

TEST_F(ClaimStoreTest, AClaimSurvivesARestart) {
  ASSERT_TRUE(Open()->Put(Prepared("u1")).ok());
  const auto store = Open();
  EXPECT_EQ(store->Find("u1").value(), Prepared("u1"));
  EXPECT_EQ(store->Find("u2").value(), std::nullopt);
  EXPECT_EQ(store->Count().value(), 1);
}

TEST_F(ClaimStoreTest, APutReplacesAndARemoveForgets) {
  const auto store = Open();
  ASSERT_TRUE(store->Put(Prepared("u1")).ok());
  PreparedClaim changed = Prepared("u1");
  changed.devices.pop_back();
  changed.pod_uid.clear();
  ASSERT_TRUE(store->Put(changed).ok());
  EXPECT_EQ(store->Find("u1").value(), changed);
  EXPECT_EQ(store->Count().value(), 1);
  EXPECT_TRUE(store->Remove("u1").ok());
  EXPECT_TRUE(store->Remove("u1").ok());
  EXPECT_EQ(store->Find("u1").value(), std::nullopt);
}

TEST_F(ClaimStoreTest, ClaimsOfPodsAreListed) {
  const auto store = Open();
  EXPECT_EQ(store->ListOfPods().value(), std::vector<PreparedClaim>());
  PreparedClaim without = Prepared("u2");
  without.pod_uid.clear();
  for (const PreparedClaim& each : {Prepared("u3"), without, Prepared("u1")}) {
    ASSERT_TRUE(store->Put(each).ok());
  }
  EXPECT_THAT(store->ListOfPods().value(), testing::ElementsAre(Prepared("u1"), Prepared("u3")));
}

TEST_F(ClaimStoreTest, ADamagedRowHasNoDevicesAndKeepsItsPod) {
  ASSERT_TRUE(Open()->Put(Prepared("u1")).ok());
  for (const char* text : {"", "{}", "[1]", "[{\"device\": \"d\"}]"}) {
    {
      auto database =
          sqlite::Database::Open(dir_.root().PathOf("claims.db"), sqlite::Durability::kFull);
      ASSERT_TRUE(database.ok());
      auto spoil = (*database)->Prepare("UPDATE claims SET devices = ?");
      ASSERT_TRUE(spoil.ok() && spoil->Run(text).ok());
    }
    const auto found = Open()->Find("u1");
    ASSERT_TRUE(found.ok() && found->has_value()) << text;
    EXPECT_TRUE((*found)->devices.empty()) << text;
    EXPECT_EQ((*found)->pod_uid, "pod-1");
  }
}

TEST_F(ClaimStoreTest, ANewerDatabaseIsNotTouched) {
  Open();
  {
    auto database =
        sqlite::Database::Open(dir_.root().PathOf("claims.db"), sqlite::Durability::kFull);
    ASSERT_TRUE((*database)->Execute("PRAGMA user_version = 9").ok());
  }
  const absl::Status status = ClaimStore::Open(dir_.root()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("newer plimsoll-kube"));
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("Run that version again, or move"));
}

TEST_F(ClaimStoreTest, AMissingTableIsNamedWithAdvice) {
  Open();
  {
    auto database =
        sqlite::Database::Open(dir_.root().PathOf("claims.db"), sqlite::Durability::kFull);
    ASSERT_TRUE((*database)->Execute("DROP TABLE claims").ok());
  }
  const absl::Status status = ClaimStore::Open(dir_.root()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("has no table \"claims\"; a start of"));
}

TEST_F(ClaimStoreTest, OnlyTheOwnerReadsTheFile) {
  const auto mode = [this] { return dir_.root().Stat("claims.db")->st_mode & 0777; };
  Open();
  EXPECT_EQ(mode(), 0600u);
  ASSERT_EQ(chmod(dir_.root().PathOf("claims.db").c_str(), 0644), 0);
  Open();
  EXPECT_EQ(mode(), 0600u);
}

TEST_F(ClaimStoreTest, WhatIsNoRegularFileIsNamedWithARemedy) {
  const std::string path = dir_.root().PathOf("claims.db");
  const auto refused = [&](const char* kind) {
    const absl::Status status = ClaimStore::Open(dir_.root()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()),
                testing::HasSubstr(path + ": is " + kind + ", not a regular file; move it away"));
    ASSERT_EQ(std::remove(path.c_str()), 0);
  };
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  refused("a directory");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  refused("a FIFO");
  ASSERT_EQ(symlink("elsewhere", path.c_str()), 0);
  refused("a symlink");
  EXPECT_FALSE(dir_.root().Exists("elsewhere"));
}

TEST_F(ClaimStoreTest, AFileThatIsNoDatabaseIsNamedWithAdvice) {
  ASSERT_TRUE(dir_.root().ReplaceFile("claims.db", std::string(5000, 'x')).ok());
  const absl::Status status = ClaimStore::Open(dir_.root()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("a start of plimsoll-kube sets it aside"));
}

}  // namespace
}  // namespace plimsoll::kube
