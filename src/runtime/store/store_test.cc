#include "runtime/store/store.h"

#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/status.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/store/schema.h"
#include "sqlite/database.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SandboxRecord FullSandbox(const std::string& id) {
  return {.id = id,
          .state = SandboxState::kReady,
          .created_unix_nanos = 1700000000123456789,
          .boot_id = "b00t",
          .spec = {.name = "web", .uid = "u", .sysctls = {{"a", "b"}}},
          .client_config = std::string("\x0a\0\xff", 3),
          .cgroup_path = "/plimsoll/pod1",
          .owned_cgroups = {"/plimsoll", "/plimsoll/pod1"},
          .pause = {.pid = 8, .start_time_ticks = 9}};
}

ContainerRecord FullContainer(const std::string& id, const std::string& sandbox_id) {
  return {.id = id,
          .sandbox_id = sandbox_id,
          .state = ContainerState::kExited,
          .created_unix_nanos = 1,
          .started_unix_nanos = 2,
          .finished_unix_nanos = 3,
          .exit_code = 137,
          .oom_killed = true,
          .reason = "OOMKilled",
          .message = "it was too big",
          .boot_id = "b00t",
          .spec = {.name = "nginx", .args = {"-g", "daemon off;"}},
          .client_config = std::string("\0\0\x80", 3),
          .image_id = "sha256:1",
          .image_ref = "r@sha256:2",
          .chain_ids = {"sha256:3", "sha256:4"},
          .log_path = "/var/log/x",
          .cgroup_path = "/plimsoll/pod1/c",
          .stop_signal = 3,
          .user = ProcessUser{.uid = 4294967294, .gid = 7, .supplemental_groups = {0, 7}},
          .monitor = {.pid = 4, .start_time_ticks = UINT64_MAX},
          .init = {.pid = 5, .start_time_ticks = 6},
          .last_resources = {.cgroup = {.cpu_shares = 2, .memory_limit_bytes = -1},
                             .oom_score_adj = -998}};
}

image::ImageRecord FullImage(const std::string& id) {
  return {.id = id,
          .manifest_digest = "sha256:m",
          .repo_tags = {"docker.io/library/a:1", "docker.io/library/a:2"},
          .repo_digests = {"docker.io/library/a@sha256:m"},
          .chain_ids = {"sha256:c1", "sha256:c2"},
          .blobs = {"sha256:b"},
          .size_bytes = 1ull << 40,
          .pinned = true,
          .created_unix_nanos = 9};
}

class StoreTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Store> Open(const FsRoot& root) {
    auto store = Store::Open(root);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }

  TestDir dir_;
  const FsRoot& root_ = dir_.root();
};

TEST_F(StoreTest, StartsEmptyAndPrivate) {
  auto store = Open(root_);
  EXPECT_THAT(*store->LoadSandboxes(), IsEmpty());
  EXPECT_THAT(*store->LoadContainers(), IsEmpty());
  EXPECT_THAT(*store->LoadImages(), IsEmpty());
  ASSERT_TRUE(store->PutSandbox(FullSandbox("s")).ok());
  const std::vector<std::string> names = root_.List(".").value();
  for (const std::string& name : names) {
    EXPECT_EQ(root_.Stat(name)->st_mode & 0777, 0600u) << name;
  }
}

TEST_F(StoreTest, EveryFieldSurvivesARestart) {
  {
    auto store = Open(root_);
    ASSERT_TRUE(store->PutSandbox(FullSandbox("s")).ok());
    ASSERT_TRUE(store->PutContainer(FullContainer("c", "s")).ok());
    ASSERT_TRUE(store->PutImage(FullImage("i")).ok());
  }
  auto store = Open(root_);
  EXPECT_THAT(*store->LoadSandboxes(), ElementsAre(FullSandbox("s")));
  EXPECT_THAT(*store->LoadContainers(), ElementsAre(FullContainer("c", "s")));
  EXPECT_THAT(*store->LoadImages(), ElementsAre(FullImage("i")));
}

TEST_F(StoreTest, PutReplacesEveryField) {
  auto store = Open(root_);
  ASSERT_TRUE(store->PutSandbox(FullSandbox("s")).ok());
  ASSERT_TRUE(store->PutContainer(FullContainer("c", "s")).ok());
  ASSERT_TRUE(store->PutImage(FullImage("i")).ok());
  const SandboxRecord sandbox{.id = "s"};
  const ContainerRecord container{.id = "c", .sandbox_id = "s"};
  const image::ImageRecord image{.id = "i"};
  ASSERT_TRUE(store->PutSandbox(sandbox).ok());  // which has a container
  ASSERT_TRUE(store->PutContainer(container).ok());
  ASSERT_TRUE(store->PutImage(image).ok());
  EXPECT_THAT(*store->LoadSandboxes(), ElementsAre(sandbox));
  EXPECT_THAT(*store->LoadContainers(), ElementsAre(container));
  EXPECT_THAT(*store->LoadImages(), ElementsAre(image));
}

TEST_F(StoreTest, ASandboxGoesAfterItsContainers) {
  auto store = Open(root_);
  ASSERT_TRUE(store->PutSandbox(FullSandbox("s")).ok());
  ASSERT_TRUE(store->PutContainer(FullContainer("c", "s")).ok());
  const absl::Status refused = store->RemoveSandbox("s");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("remove sandbox s from the store (its containers must"));
  ASSERT_TRUE(store->RemoveContainer("c").ok());
  EXPECT_TRUE(store->RemoveSandbox("s").ok());
  EXPECT_THAT(*store->LoadSandboxes(), IsEmpty());
}

TEST_F(StoreTest, AContainerNeedsItsSandbox) {
  auto store = Open(root_);
  const absl::Status status = store->PutContainer(FullContainer("c", "s"));
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("store container c of sandbox s: "));
}

TEST_F(StoreTest, RemovingNothingIsFine) {
  auto store = Open(root_);
  EXPECT_TRUE(store->RemoveSandbox("s").ok());
  EXPECT_TRUE(store->RemoveContainer("c").ok());
  EXPECT_TRUE(store->RemoveImage("i").ok());
}

TEST_F(StoreTest, ThreadsDoNotDisturbEachOther) {
  auto store = Open(root_);
  constexpr int kThreads = 4;
  constexpr int kEach = 40;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&store, t] {
      const std::string sandbox = absl::StrCat("s", t);
      EXPECT_TRUE(store->PutSandbox(FullSandbox(sandbox)).ok());
      for (int i = 0; i < kEach; ++i) {
        const std::string id = absl::StrCat(t, "-", i);
        EXPECT_TRUE(store->PutContainer(FullContainer(id, sandbox)).ok());
        EXPECT_TRUE(store->LoadContainers().ok());
        EXPECT_TRUE(i % 10 != 0 || store->PutImage(FullImage(id)).ok());
        EXPECT_TRUE(i % 2 != 0 || store->RemoveContainer(id).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store->LoadSandboxes()->size(), kThreads);
  EXPECT_EQ(store->LoadContainers()->size(), kThreads * kEach / 2);
  EXPECT_EQ(store->LoadImages()->size(), kThreads * kEach / 10);
}

// A database of the build before schema 2, and the way back to that build, with the copy.
TEST_F(StoreTest, ADatabaseOfSchema1IsTakenOverAndItsCopyGoesBack) {
  const std::string path = root_.PathOf("plimsoll.db");
  {
    auto database = sqlite::Database::Open(path, sqlite::Durability::kNormal);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE((*database)->QueryText("PRAGMA journal_mode = WAL").ok());
    ASSERT_TRUE(Migrate(**database, root_, "plimsoll.db", Migrations().subspan(0, 1)).ok());
    ASSERT_TRUE(
        (*database)
            ->Execute("INSERT INTO sandboxes VALUES ('s', 1, 5, 'b', '{}', x'00', '/g', "
                      "'[\"/g\"]'); INSERT INTO containers VALUES ('c', 's', 2, 1, 2, 0, 0, "
                      "0, '', '', 'b', '{}', x'', '', '', '[]', '', '/g/c', 15, 4, 40, 5, "
                      "50, '{}')")
            .ok());
  }
  {
    auto store = Open(root_);
    ASSERT_NE(store, nullptr);
    const SandboxRecord sandbox = store->LoadSandboxes()->at(0);
    EXPECT_EQ(sandbox.owned_cgroups, std::vector<std::string>{"/g"});
    EXPECT_EQ(sandbox.pause, linux::ProcessId());
    const ContainerRecord container = store->LoadContainers()->at(0);
    EXPECT_EQ(container.init, (linux::ProcessId{.pid = 5, .start_time_ticks = 50}));
    EXPECT_EQ(container.user, std::nullopt);
    ASSERT_TRUE(store->PutContainer(FullContainer("d", "s")).ok());
  }
  ASSERT_TRUE(CheckFile(root_, "plimsoll.db.v1", 1).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckFile(root_, "plimsoll.db", 1)));
  // The older build finds everything once the copy is put back.
  ASSERT_EQ(rename(root_.PathOf("plimsoll.db.v1").c_str(), path.c_str()), 0);
  {
    auto database = sqlite::Database::Open(path, sqlite::Durability::kNormal);
    ASSERT_TRUE(database.ok());
    EXPECT_TRUE(CheckVersion(**database, path, 1).ok());
    EXPECT_EQ(*(*database)->QueryText("SELECT id FROM containers"), "c");
    EXPECT_FALSE((*database)->QueryInteger("SELECT pause_pid FROM sandboxes").ok());
  }
  EXPECT_THAT(*Open(root_)->LoadSandboxes(), ::testing::SizeIs(1));
}

// Both ways in which a newer version may stand in the files of a daemon that was killed.
TEST_F(StoreTest, ANewerSchemaIsRefusedAndNothingTouched) {
  ASSERT_TRUE(Open(root_)->PutSandbox(FullSandbox("s")).ok());
  const std::string path = root_.PathOf("plimsoll.db");
  for (const bool folded : {false, true}) {
    {
      auto database = sqlite::Database::Open(path, sqlite::Durability::kFull);
      ASSERT_TRUE(database.ok());
      (*database)->SetTidyOnClose(folded);
      ASSERT_TRUE((*database)->Execute("PRAGMA user_version = 99").ok());
    }
    const std::string before = *root_.Read("plimsoll.db");
    const std::string log_before = root_.Read("plimsoll.db-wal").value_or("none");
    EXPECT_EQ(log_before == "none", folded);
    const absl::Status status = Store::Open(root_).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("written by a newer Plimsoll (schema version 99"));
    EXPECT_EQ(*root_.Read("plimsoll.db"), before);
    EXPECT_EQ(root_.Read("plimsoll.db-wal").value_or("none"), log_before);
  }
}

TEST_F(StoreTest, ADamagedFileIsDataLoss) {
  {
    auto store = Open(root_);
    ASSERT_TRUE(store->PutSandbox(FullSandbox("s")).ok());
  }
  std::string bytes = *root_.Read("plimsoll.db");
  ASSERT_GT(bytes.size(), 8192u);
  std::memset(bytes.data() + 4096, 0x5a, 4096);
  ASSERT_TRUE(root_.ReplaceFile("plimsoll.db", bytes).ok());
  const absl::Status status = Store::Open(root_).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr(root_.PathOf("plimsoll.db")));
  EXPECT_THAT(status.message(), HasSubstr("ends every running pod"));
}

TEST_F(StoreTest, ATruncatedFileIsDataLossWithAdvice) {
  {
    auto store = Open(root_);
    ASSERT_TRUE(store->PutSandbox(FullSandbox("s")).ok());
  }
  const std::string bytes = *root_.Read("plimsoll.db");
  for (const size_t kept : {50u, 4096u, 8192u}) {
    ASSERT_LT(kept, bytes.size());
    ASSERT_TRUE(root_.ReplaceFile("plimsoll.db", bytes.substr(0, kept)).ok());
    const absl::Status status = Store::Open(root_).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << kept << ": " << status;
    EXPECT_THAT(status.message(), HasSubstr("ends every running pod")) << kept;
  }
}

// SQLite alone takes both for a new database.
TEST_F(StoreTest, OneThatRecordsNothingIsDataLossWherePodsMayRun) {
  ASSERT_TRUE(root_.ReplaceFile("plimsoll.db", "").ok());
  const absl::Status empty = Store::Open(root_, 2).status();
  EXPECT_TRUE(absl::IsDataLoss(empty)) << empty;
  EXPECT_THAT(empty.message(), HasSubstr("the run directory has 2 sandboxes"));
  EXPECT_EQ(*root_.Read("plimsoll.db"), "") << "not touched";
  ASSERT_TRUE(root_.RemoveFile("plimsoll.db").ok());
  {
    auto database =
        sqlite::Database::Open(root_.PathOf("plimsoll.db"), sqlite::Durability::kNormal);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE((*database)->Execute("CREATE TABLE t (a); DROP TABLE t").ok());
  }
  ASSERT_GT(root_.Stat("plimsoll.db")->st_size, 0);
  const absl::Status without_schema = Store::Open(root_, 1).status();
  EXPECT_TRUE(absl::IsDataLoss(without_schema)) << without_schema;
  EXPECT_THAT(without_schema.message(), HasSubstr("the run directory has 1 sandbox"));
  EXPECT_NE(Open(root_), nullptr) << "no pod can be lost";
  ASSERT_TRUE(Store::Open(root_, 1).ok()) << "its schema is there now";
  ASSERT_TRUE(root_.RemoveFile("plimsoll.db").ok());
  EXPECT_TRUE(Store::Open(root_, 1).ok()) << "moved away, for an empty one";
}

TEST_F(StoreTest, ADamagedRowHidesNeitherItselfNorTheOthers) {
  auto store = Open(root_);
  for (const char* id : {"s", "t"}) ASSERT_TRUE(store->PutSandbox(FullSandbox(id)).ok());
  for (const char* id : {"c", "d"}) ASSERT_TRUE(store->PutContainer(FullContainer(id, "s")).ok());
  ASSERT_TRUE(store->LoadContainers().ok());
  EXPECT_THAT(store->Damaged(), IsEmpty());
  auto database = sqlite::Database::Open(root_.PathOf("plimsoll.db"), sqlite::Durability::kNormal);
  ASSERT_TRUE((*database)->Execute("UPDATE sandboxes SET state = 9 WHERE id = 's'").ok());
  ASSERT_TRUE(
      (*database)->Execute("UPDATE containers SET spec = '{\"tty\":3}' WHERE id = 'c'").ok());

  const auto sandboxes = store->LoadSandboxes();
  const auto containers = store->LoadContainers();
  ASSERT_TRUE(sandboxes.ok() && containers.ok());
  SandboxRecord sandbox = FullSandbox("s");
  sandbox.state = SandboxState::kNotReady;
  EXPECT_THAT(*sandboxes, ElementsAre(sandbox, FullSandbox("t")));
  const std::string what =
      "database row container c, column spec: container spec: member 'tty': expected true or "
      "false, found number";
  ContainerRecord container = FullContainer("c", "s");
  container.state = ContainerState::kUnknown;
  container.reason = "Damaged";
  container.message = what;
  container.spec = {};
  EXPECT_THAT(*containers, ElementsAre(container, FullContainer("d", "s")));

  const std::vector<DamagedRow> damaged = store->Damaged();
  ASSERT_EQ(damaged.size(), 2u);
  EXPECT_EQ(damaged[0].id, "s");
  EXPECT_EQ(damaged[0].what, "database row sandbox s, column state: no such state: 9");
  EXPECT_EQ(damaged[1].id, "c");
  EXPECT_EQ(damaged[1].what, what);
  // The user may give it up and remove it.
  EXPECT_TRUE(store->RemoveContainer("c").ok());
  ASSERT_TRUE(store->LoadContainers().ok());
  EXPECT_EQ(store->Damaged().size(), 1u);
}

TEST_F(StoreTest, ADamagedImageDoesNotHideTheOthers) {
  auto store = Open(root_);
  for (const char* id : {"i", "j"}) ASSERT_TRUE(store->PutImage(FullImage(id)).ok());
  auto database = sqlite::Database::Open(root_.PathOf("plimsoll.db"), sqlite::Durability::kNormal);
  ASSERT_TRUE((*database)->Execute("UPDATE images SET repo_tags = '{' WHERE id = 'i'").ok());
  const auto images = store->LoadImages();
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_THAT(*images, ElementsAre(FullImage("j")));
  ASSERT_EQ(store->DamagedImages().size(), 1u);
  EXPECT_EQ(store->DamagedImages()[0].id, "i");
  EXPECT_THAT(store->DamagedImages()[0].what,
              HasSubstr("database row image i, column repo_tags: "));
  EXPECT_TRUE(store->RemoveImage("i").ok());
  ASSERT_TRUE(store->LoadImages().ok());
  EXPECT_TRUE(store->DamagedImages().empty());
}

// A tmpfs of its own for each test below.
TEST_F(StoreTest, OwnedObjectsSurviveByKind) {
  {
    auto store = *Store::Open(root_);
    ASSERT_TRUE(store->AddOwned("resctrl", "gold").ok());
    ASSERT_TRUE(store->AddOwned("resctrl", "gold").ok());
    ASSERT_TRUE(store->AddOwned("resctrl", "silver").ok());
    ASSERT_TRUE(store->AddOwned("other", "bronze").ok());
    ASSERT_TRUE(store->RemoveOwned("resctrl", "silver").ok());
    ASSERT_TRUE(store->RemoveOwned("resctrl", "never").ok());
  }
  auto store = *Store::Open(root_);
  EXPECT_THAT(*store->ListOwned("resctrl"), ElementsAre("gold"));
  EXPECT_THAT(*store->ListOwned("other"), ElementsAre("bronze"));
}

class SmallDiskTest : public StoreTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(root_.MakeDirs("disk").ok());
    path_ = root_.PathOf("disk");
    if (mount("plimsoll-test", path_.c_str(), "tmpfs", 0, "size=400k,mode=0700") != 0) {
      GTEST_SKIP() << "mounting a tmpfs: " << strerror(errno);
    }
    mounted_ = true;
  }
  void TearDown() override {
    EXPECT_TRUE(!mounted_ || umount2(path_.c_str(), MNT_DETACH) == 0) << strerror(errno);
  }

  std::string path_;
  bool mounted_ = false;
};

TEST_F(SmallDiskTest, AFullDiskIsResourceExhaustedAndLosesNothing) {
  FsRoot disk = *FsRoot::Open(path_);
  {
    auto store = Open(disk);
    ASSERT_TRUE(store->PutSandbox(FullSandbox("s")).ok());
    ContainerRecord big = FullContainer("0", "s");
    big.client_config.assign(20000, 'x');
    absl::Status status;
    int stored = 0;
    for (; status.ok() && stored < 100; ++stored) {
      big.id = absl::StrCat(stored);
      status = store->PutContainer(big);
    }
    ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("plimsoll.db: No space left on device"));
    EXPECT_EQ(ErrnoOf(status), ENOSPC);
    EXPECT_EQ(store->LoadContainers()->size(), static_cast<size_t>(stored - 1));
    EXPECT_TRUE(absl::IsResourceExhausted(store->PutContainer(big)));
  }
  auto store = Open(disk);
  ASSERT_NE(store, nullptr);
  EXPECT_THAT(*store->LoadSandboxes(), ElementsAre(FullSandbox("s")));
}

// Freed space may be gone again before anything is written.
TEST_F(SmallDiskTest, TheReserveOfAStartOnAFullDiskComesWithTheRoom) {
  FsRoot disk = *FsRoot::Open(path_);
  auto store = Open(disk);
  ASSERT_NE(store, nullptr);
  EXPECT_FALSE(disk.Exists("reserve")) << "there is no room for it";
  ASSERT_EQ(mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT, "size=16m"), 0);
  EXPECT_TRUE(WaitUntil([&] { return disk.Exists("reserve"); }));
}

TEST_F(SmallDiskTest, AReadOnlyDirectoryIsFailedPrecondition) {
  FsRoot disk = *FsRoot::Open(path_);
  for (const bool with_database : {false, true}) {
    ASSERT_TRUE(!with_database || Open(disk) != nullptr);
    ASSERT_EQ(mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, "size=400k"), 0);
    const absl::Status status = Store::Open(disk).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("is read-only"));
    ASSERT_EQ(mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT, "size=400k"), 0);
  }
}

}  // namespace
}  // namespace plimsoll::runtime
