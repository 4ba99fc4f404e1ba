#include "agent/pods/records/pod_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "sqlite/small_disk_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PodStoreTest : public testing::Test {
 protected:
  std::unique_ptr<PodStore> Open() {
    auto store = PodStore::Open(dir_.root());
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  static PodRecord RecordOf(const std::string& name) {
    PodRecord pod;
    pod.uid = "uid-" + name;
    pod.key = {"default", name};
    pod.object = {{"kind", "Pod"}, {"spec", {{"text", "ä\n\"'"}}}};
    pod.created = absl::FromUnixNanos(1234567890123456789);
    return pod;
  }
  // Damages the database from outside.
  void Execute(const std::string& sql) {
    const auto database =
        sqlite::Database::Open(dir_.root().PathOf(PodStore::kFileName), sqlite::Durability::kFull);
    ASSERT_TRUE(database.ok()) << database.status();
    ASSERT_TRUE((*database)->Execute(sql).ok());
  }

  TestDir dir_;
};

TEST_F(PodStoreTest, ARecordComesBackWhole) {
  PodRecord pod = RecordOf("a");
  pod.file = "/etc/plimsoll/manifests/a.yaml";
  pod.deleted = absl::FromUnixNanos(1234567890123456790);
  pod.grace_s = 7;
  pod.verdict = PodVerdict{"OutOfcpu", "too much"};
  pod.first_id = 0x70000000;
  pod.grant.devices = {{"web", {{"example.com/gpu", {"vendor.com/gpu=0", "vendor.com/gpu=1"}}}}};
  pod.grant.containers["web"] = {
      .cpus = *resources::CpuSet::Parse("2-3"), .cpu_count = 2, .memory = {}};
  ASSERT_TRUE(Open()->Put({pod}).ok());
  const auto loaded = Open()->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->unreadable, IsEmpty());
  ASSERT_EQ(loaded->pods.size(), 1u);
  const PodRecord& read = loaded->pods.front();
  EXPECT_EQ(read.uid, pod.uid);
  EXPECT_EQ(read.key, pod.key);
  EXPECT_EQ(read.object, pod.object);
  EXPECT_EQ(read.file, pod.file);
  EXPECT_EQ(read.created, pod.created);
  EXPECT_EQ(read.deleted, pod.deleted);
  EXPECT_EQ(read.grace_s, 7);
  ASSERT_TRUE(read.verdict.has_value());
  EXPECT_EQ(read.verdict->reason, "OutOfcpu");
  EXPECT_EQ(read.verdict->message, "too much");
  EXPECT_EQ(read.first_id, pod.first_id);
  EXPECT_EQ(read.grant, pod.grant);
}

TEST_F(PodStoreTest, AChangeOfALivingPodComesBack) {
  PodRecord pod = RecordOf("a");
  pod.generation = 3;
  pod.allocated_generation = 2;
  pod.restarting = {{"main", "an id"}};
  pod.allocated = {{"kind", "Pod"}, {"spec", {{"of", "before"}}}};
  pod.actuated = {{"kind", "Pod"}, {"spec", {{"of", "long before"}}}};
  pod.pending = PodVerdict{"Deferred", "no room"};
  ASSERT_TRUE(Open()->Put({pod}).ok());
  const auto loaded = Open()->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_EQ(loaded->pods.size(), 1u);
  const PodRecord& read = loaded->pods.front();
  EXPECT_EQ(read.generation, 3);
  EXPECT_EQ(read.allocated_generation, 2);
  EXPECT_EQ(read.restarting, pod.restarting);
  EXPECT_EQ(read.allocated, pod.allocated);
  EXPECT_EQ(read.Allocated(), pod.allocated);
  EXPECT_EQ(read.actuated, pod.actuated);
  ASSERT_TRUE(read.pending.has_value());
  EXPECT_EQ(read.pending->reason, "Deferred");
  EXPECT_EQ(read.pending->message, "no room");
}

TEST_F(PodStoreTest, ADatabaseOfTheFirstSchemaIsReadOn) {
  ASSERT_TRUE(Open()->Put({RecordOf("a")}).ok());
  Execute("ALTER TABLE pods DROP COLUMN extra; DROP TABLE wishes");
  Execute("PRAGMA user_version = 1");
  const auto loaded = Open()->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_EQ(loaded->pods.size(), 1u);
  EXPECT_EQ(loaded->pods.front().generation, 1);
  EXPECT_EQ(loaded->pods.front().Allocated(), RecordOf("a").object);
}

TEST_F(PodStoreTest, DamagedFurtherMembersAreNamed) {
  ASSERT_TRUE(Open()->Put({RecordOf("a")}).ok());
  Execute("UPDATE pods SET extra = '{\"pending\": 1}'");
  const auto loaded = Open()->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_EQ(loaded->unreadable.size(), 1u);
  EXPECT_THAT(loaded->unreadable.front().why, HasSubstr("further members"));
}

TEST_F(PodStoreTest, AnEqualUidReplacesAndRemoveForgets) {
  const auto store = Open();
  PodRecord pod = RecordOf("a");
  ASSERT_TRUE(store->Put({pod}).ok());
  pod.grace_s = 1;
  ASSERT_TRUE(store->Put({pod, RecordOf("b")}).ok());
  auto loaded = store->Load();
  ASSERT_EQ(loaded->pods.size(), 2u);
  EXPECT_EQ(loaded->pods.front().grace_s, 1);
  ASSERT_TRUE(store->Remove(pod.uid).ok());
  ASSERT_TRUE(store->Remove("unknown").ok());
  EXPECT_EQ(store->Load()->pods.size(), 1u);
  EXPECT_THAT(*store->Uids(), ElementsAre("uid-b"));
}

TEST_F(PodStoreTest, ANameIsTakenOnceAndNothingOfTheCallIsKept) {
  const auto store = Open();
  ASSERT_TRUE(store->Put({RecordOf("a")}).ok());
  PodRecord namesake = RecordOf("a");
  namesake.uid = "another";
  EXPECT_EQ(store->Put({RecordOf("b"), namesake}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(store->Load()->pods.size(), 1u);
}

TEST_F(PodStoreTest, ADatabaseOfANewerAgentIsLeftAlone) {
  Open();
  Execute("PRAGMA user_version = 99");
  const absl::Status status = PodStore::Open(dir_.root()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr(absl::StrCat(dir_.path(),
                                   "/agent.db: written by a newer plimsoll-agent (schema "
                                   "version 99, this one knows up to 3)")),
            HasSubstr("nothing was changed, and pods run on. Run the newer version again")));
}

// A package is not replaced by an older one that can't read the database: its preinst reads the
// file.
TEST_F(PodStoreTest, TheFilesHeaderHasTheSchemaWhileTheAgentRuns) {
  Open();
  Execute("DROP TABLE wishes; PRAGMA user_version = 2");
  const auto store = Open();
  const std::string file = dir_.root().Read(PodStore::kFileName).value();
  ASSERT_GE(file.size(), 64u);
  EXPECT_EQ(file.substr(60, 4), std::string({0, 0, 0, static_cast<char>(3)}));
}

TEST_F(PodStoreTest, AnUnreadableRowIsNamedAndTheOthersLoad) {
  ASSERT_TRUE(Open()->Put({RecordOf("a"), RecordOf("b")}).ok());
  Execute("UPDATE pods SET object = 'no json' WHERE name = 'a'");
  const auto loaded = Open()->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_EQ(loaded->unreadable.size(), 1u);
  EXPECT_EQ(loaded->unreadable.front().record.key.name, "a");
  EXPECT_EQ(loaded->unreadable.front().record.uid, "uid-a");
  EXPECT_THAT(loaded->unreadable.front().why, HasSubstr("no JSON object"));
  ASSERT_EQ(loaded->pods.size(), 1u);
  EXPECT_EQ(loaded->pods.front().key.name, "b");
}

TEST_F(PodStoreTest, UnreadableMembersMakeARowUnreadable) {
  ASSERT_TRUE(Open()->Put({RecordOf("a"), RecordOf("b"), RecordOf("c"), RecordOf("d")}).ok());
  Execute("UPDATE pods SET extra = 'no json' WHERE name = 'a'");
  Execute("UPDATE pods SET extra = '{\"devices\": 3}' WHERE name = 'b'");
  Execute("UPDATE pods SET extra = '{\"devices\": {\"a\": {\"r\": [3]}}}' WHERE name = 'c'");
  const auto loaded = Open()->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_EQ(loaded->unreadable.size(), 3u);
  EXPECT_EQ(loaded->unreadable.front().record.key.name, "a");
  EXPECT_EQ(loaded->unreadable.back().record.key.name, "c");
  EXPECT_EQ(loaded->pods.size(), 1u);
}

// The table as the first schema made it.
TEST_F(PodStoreTest, ADatabaseOfTheFirstSchemaGetsDevices) {
  ASSERT_TRUE(Open()->Put({RecordOf("a")}).ok());
  Execute("ALTER TABLE pods DROP COLUMN extra; DROP TABLE wishes");
  Execute("PRAGMA user_version = 1");
  const auto store = Open();
  ASSERT_NE(store, nullptr);
  PodRecord pod = RecordOf("b");
  pod.grant.devices = {{"web", {{"example.com/gpu", {"vendor.com/gpu=0"}}}}};
  ASSERT_TRUE(store->Put({pod}).ok());
  const auto loaded = store->Load();
  ASSERT_EQ(loaded->pods.size(), 2u);
  EXPECT_TRUE(loaded->pods.front().grant.devices.empty());
  EXPECT_EQ(loaded->pods.back().grant.devices, pod.grant.devices);
}

TEST_F(PodStoreTest, DevicesOfAnEarlierFormAreReadIntoTheGrant) {
  ASSERT_TRUE(Open()->Put({RecordOf("a")}).ok());
  Execute("UPDATE pods SET extra = '{\"devices\": {\"web\": {\"example.com/gpu\": [\"g\"]}}}'");
  const auto loaded = Open()->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_EQ(loaded->pods.size(), 1u);
  const DeviceClaims devices = {{"web", {{"example.com/gpu", {"g"}}}}};
  EXPECT_EQ(loaded->pods.front().grant.devices, devices);
}

TEST_F(PodStoreTest, AnUnreadableGrantMakesARowUnreadable) {
  ASSERT_TRUE(Open()->Put({RecordOf("a")}).ok());
  Execute("UPDATE pods SET extra = '{\"grant\": {\"pod\": {\"cpus\": \"x\"}}}'");
  const auto loaded = Open()->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->pods, IsEmpty());
  ASSERT_EQ(loaded->unreadable.size(), 1u);
  EXPECT_THAT(loaded->unreadable.front().why, HasSubstr("further members"));
}

// The tables as the second schema made them.
TEST_F(PodStoreTest, ADatabaseOfTheSecondSchemaGetsImportedGrants) {
  ASSERT_TRUE(Open()->Put({RecordOf("a")}).ok());
  Execute("DROP TABLE wishes; PRAGMA user_version = 2");
  const auto store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->Load()->pods.size(), 1u);
  EXPECT_TRUE(store->PutImportedGrants({{"u", {"default", "b"}, PodGrant()}}).ok());
  EXPECT_EQ(Open()->AllImportedGrants()->size(), 1u);
}

PodGrant GrantOfCpus(const std::string& cpus) {
  PodGrant grant;
  grant.containers["main"].cpus = *resources::CpuSet::Parse(cpus);
  return grant;
}

TEST_F(PodStoreTest, AnImportedGrantIsForItsUidOrItsNameAndIsUsedUpWithThePodsRow) {
  ASSERT_TRUE(Open()
                  ->PutImportedGrants({{"u1", {"default", "a"}, GrantOfCpus("1")},
                                       {"u2", {"default", "b"}, GrantOfCpus("2")},
                                       {"u3", {"other", "x"}, GrantOfCpus("3")}})
                  .ok());
  const auto store = Open();
  EXPECT_EQ(**store->ImportedGrantFor("new", {"default", "a"}), GrantOfCpus("1"));
  EXPECT_EQ(**store->ImportedGrantFor("u2", {"default", "a"}), GrantOfCpus("2"))
      << "the uid counts first";
  EXPECT_FALSE(store->ImportedGrantFor("new", {"other", "a"})->has_value());
  PodRecord renamed = RecordOf("c");
  renamed.object["metadata"]["uid"] = "u3";
  EXPECT_EQ(UidIn(renamed.object), "u3");
  ASSERT_TRUE(store->Put({RecordOf("a"), renamed}).ok());
  EXPECT_FALSE(store->ImportedGrantFor("new", {"default", "a"})->has_value());
  const auto left = Open()->AllImportedGrants();
  ASSERT_EQ(left->size(), 1u);
  EXPECT_EQ(left->front().uid, "u2");
  EXPECT_EQ(left->front().key.name, "b");
}

TEST_F(PodStoreTest, AFailedPutUsesNoImportedGrantUp) {
  const auto store = Open();
  ASSERT_TRUE(store->Put({RecordOf("a")}).ok());
  ASSERT_TRUE(store->PutImportedGrants({{"u", {"default", "b"}, GrantOfCpus("1")}}).ok());
  PodRecord namesake = RecordOf("a");
  namesake.uid = "another";
  EXPECT_FALSE(store->Put({RecordOf("b"), namesake}).ok());
  EXPECT_TRUE(store->ImportedGrantFor("new", {"default", "b"})->has_value());
}

TEST_F(PodStoreTest, NewImportedGrantsTakeThePlaceOfAll) {
  const auto store = Open();
  ASSERT_TRUE(store->PutImportedGrants({{"u1", {"default", "a"}, GrantOfCpus("1")}}).ok());
  ASSERT_TRUE(store->PutImportedGrants({{"u2", {"default", "b"}, GrantOfCpus("2")}}).ok());
  EXPECT_FALSE(store->ImportedGrantFor("u1", {"default", "a"})->has_value());
  EXPECT_TRUE(store->ImportedGrantFor("u2", {"default", "x"})->has_value());
}

TEST_F(PodStoreTest, ADamagedImportedGrantIsNone) {
  ASSERT_TRUE(Open()->PutImportedGrants({{"u1", {"default", "a"}, GrantOfCpus("1")}}).ok());
  Execute("UPDATE wishes SET pod_grant = 'no json'");
  const auto store = Open();
  EXPECT_FALSE(store->ImportedGrantFor("u1", {"default", "a"})->has_value());
  EXPECT_THAT(*store->AllImportedGrants(), IsEmpty());
}

class PodStoreOnASmallDiskTest : public sqlite::SmallDiskTest {
 protected:
  static PodRecord RecordOf(int number) {
    PodRecord pod;
    pod.uid = absl::StrCat("uid-", number);
    pod.key = {"default", absl::StrCat("pod-", number)};
    pod.object = {{"kind", "Pod"}, {"text", std::string(2000, 'x')}};
    return pod;
  }
  // Fills the disk, then the room that is left in the database's log. Returns the pods on record.
  std::vector<PodRecord> FillWithPods(PodStore& store) {
    std::vector<PodRecord> pods = {RecordOf(0)};
    EXPECT_TRUE(store.Put(pods).ok());
    Fill();
    for (int i = 1; i < 1000; ++i) {
      const absl::Status status = store.Put({RecordOf(i)});
      if (absl::IsResourceExhausted(status)) return pods;
      EXPECT_TRUE(status.ok()) << status;
      pods.push_back(RecordOf(i));
    }
    ADD_FAILURE() << "the disk never was full";
    return pods;
  }
};

TEST_F(PodStoreOnASmallDiskTest, PodsCanBeDeletedOnAFullDisk) {
  auto store = PodStore::Open(*root_);
  ASSERT_TRUE(store.ok()) << store.status();
  std::vector<PodRecord> pods = FillWithPods(**store);
  for (PodRecord& pod : pods) {
    pod.deleted = absl::FromUnixSeconds(1);
    const absl::Status deleted = (*store)->Put({pod});
    ASSERT_TRUE(deleted.ok()) << deleted;
  }
  for (const PodRecord& pod : pods) ASSERT_TRUE((*store)->Remove(pod.uid).ok());
  EXPECT_THAT(*(*store)->Uids(), IsEmpty());
}

// Past its deadline, or evicted. A pod that is refused as it comes is no end.
TEST_F(PodStoreOnASmallDiskTest, PodsOnRecordCanFailOnAFullDiskAndNewOnesCannot) {
  auto store = PodStore::Open(*root_);
  ASSERT_TRUE(store.ok()) << store.status();
  std::vector<PodRecord> pods = FillWithPods(**store);
  PodRecord refused = RecordOf(5000);
  refused.verdict = PodVerdict{"OutOfcpu", "too much"};
  EXPECT_TRUE(absl::IsResourceExhausted((*store)->Put({refused})));
  PodRecord last = pods.back();
  last.verdict = PodVerdict{"Evicted", "no room"};
  EXPECT_TRUE(absl::IsResourceExhausted((*store)->Put({last, refused}))) << "not all of them end";
  for (PodRecord& pod : pods) {
    pod.verdict = PodVerdict{"DeadlineExceeded", "too long"};
    const absl::Status ended = (*store)->Put({pod});
    ASSERT_TRUE(ended.ok()) << ended;
  }
  const auto loaded = (*store)->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (const PodRecord& pod : loaded->pods) EXPECT_TRUE(pod.verdict.has_value());
}

TEST_F(PodStoreOnASmallDiskTest, AnAgentStartsOnAFullDisk) {
  auto store = PodStore::Open(*root_);
  ASSERT_TRUE(store.ok()) << store.status();
  const std::vector<PodRecord> pods = FillWithPods(**store);
  store->reset();
  Fill();
  store = PodStore::Open(*root_);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->Load()->pods.size(), pods.size());
  EXPECT_TRUE((*store)->Remove(pods.front().uid).ok());
}

TEST_F(PodStoreTest, ADamagedFileSaysWhatToDo) {
  ASSERT_TRUE(dir_.root().ReplaceFile(PodStore::kFileName, std::string(8192, 'x')).ok());
  const absl::Status status = PodStore::Open(dir_.root()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("move it and its log"));
}

}  // namespace
}  // namespace plimsoll::agent
