#include "image/layer_store.h"

#include <sys/stat.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/fault_injection.h"
#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/names/digest.h"

namespace plimsoll::image {
namespace {

using ::testing::IsEmpty;

std::string failing_step;  // a hook is a plain function

TEST(LayerStore, UnpacksOnceWhenAskedConcurrently) {
  TestDir dir;
  const auto store = LayerStore::Open(dir.root());
  ASSERT_TRUE(store.ok());
  std::atomic<int> unpacked = 0;
  std::vector<LayerStore::Hold> holds(4);
  std::vector<std::thread> threads;
  for (LayerStore::Hold& hold : holds) {
    threads.emplace_back([&] {
      auto got = (*store)->Ensure(DigestOf("chain"), [&](const FsRoot& diff) {
        ++unpacked;
        EXPECT_TRUE(diff.ReplaceFile("f", "x").ok());
        return absl::StatusOr<ImageUsage>(ImageUsage{1, 1});
      });
      ASSERT_TRUE(got.ok());
      hold = *std::move(got);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unpacked, 1);
  holds.pop_back();
  EXPECT_TRUE((*store)->Diff(DigestOf("chain"))->Exists("f"));
  holds.clear();
  EXPECT_FALSE((*store)->Diff(DigestOf("chain")).ok());
}

TEST(LayerStore, FailureLeavesNothingAndTheNextOneTries) {
  TestDir dir;
  const auto store = LayerStore::Open(dir.root());
  ASSERT_TRUE(store.ok());
  const auto failed = (*store)->Ensure(DigestOf("c"), [](const FsRoot& diff) {
    EXPECT_TRUE(diff.ReplaceFile("part", "x").ok());
    return absl::StatusOr<ImageUsage>(absl::DataLossError("cut short"));
  });
  EXPECT_TRUE(absl::IsDataLoss(failed.status()));
  EXPECT_THAT(*dir.root().List("work"), IsEmpty());
  EXPECT_THAT(*dir.root().List("layers"), IsEmpty());
  EXPECT_TRUE((*store)
                  ->Ensure(DigestOf("c"),
                           [](const FsRoot&) { return absl::StatusOr<ImageUsage>(ImageUsage()); })
                  .ok());
}

TEST(LayerStore, EachFailingStepOfPublishingLeavesNothing) {
  TestDir dir;
  const auto store = LayerStore::Open(dir.root());
  ASSERT_TRUE(store.ok());
  const auto unpack = [](const FsRoot& diff) -> absl::StatusOr<ImageUsage> {
    PLIMSOLL_RETURN_IF_ERROR(diff.ReplaceFile("f", "x"));
    return ImageUsage{1, 1};
  };
  for (const char* step : {"sync work/", "rename work/", "sync layers"}) {
    failing_step = step;
    SetFaultHook([](absl::string_view verb, absl::string_view object) {
      return absl::StartsWith(absl::StrCat(verb, " ", object), failing_step)
                 ? absl::InternalError(failing_step)
                 : absl::OkStatus();
    });
    const absl::Status failed = (*store)->Ensure(DigestOf("c"), unpack).status();
    SetFaultHook(nullptr);
    EXPECT_EQ(failed.message(), step);
    EXPECT_THAT(*dir.root().List("work"), IsEmpty()) << step;
    EXPECT_THAT(*dir.root().List("layers"), IsEmpty()) << step;
    EXPECT_TRUE(absl::IsNotFound((*store)->Acquire(DigestOf("c")).status())) << step;
  }
  const auto hold = (*store)->Ensure(DigestOf("c"), unpack);
  EXPECT_TRUE(hold.ok()) << hold.status();
  EXPECT_TRUE((*store)->Diff(DigestOf("c"))->Exists("f"));
}

// A single disk error is no reason to delete data.
TEST(LayerStore, LayerThatCanNotBeReadIsNotRemoved) {
  TestDir dir;
  const std::string layer = absl::StrCat("layers/", DigestHex(DigestOf("c")));
  ASSERT_TRUE(dir.root().MakeDirs(layer + "/diff").ok());
  ASSERT_TRUE(dir.root().MakeDirs(layer + "/usage").ok());  // read(2) fails with EISDIR
  const auto store = LayerStore::Open(dir.root());
  EXPECT_TRUE(absl::IsInternal(store.status())) << store.status();
  EXPECT_TRUE(dir.root().Exists(layer + "/diff"));
}

TEST(LayerStore, DamagedLayerIsUnpackedAnewWhenNobodyUsesIt) {
  TestDir dir;
  const std::string id = DigestOf("c");
  const std::string layer = absl::StrCat("layers/", DigestHex(id));
  const auto unpack = [](const FsRoot&) { return absl::StatusOr<ImageUsage>(ImageUsage()); };
  ASSERT_TRUE(dir.root().MakeDirs(layer + "/diff").ok());
  const auto store = LayerStore::Open(dir.root());
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE(absl::IsNotFound((*store)->Acquire(id).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition((*store)->Ensure(id, unpack).status()));
  EXPECT_TRUE(dir.root().Exists(layer + "/diff"));
  ASSERT_TRUE((*store)->CollectGarbage().ok());
  EXPECT_FALSE(dir.root().Exists(layer));
  const auto hold = (*store)->Ensure(id, unpack);
  ASSERT_TRUE(hold.ok()) << hold.status();
  EXPECT_TRUE(dir.root().Exists(layer + "/usage"));
}

TEST(LayerStore, ALayerWhoseFilesAreGoneIsUnpackedAnewThoughItIsInUse) {
  TestDir dir;
  const std::string id = DigestOf("c");
  const std::string layer = absl::StrCat("layers/", DigestHex(id));
  const auto store = LayerStore::Open(dir.root());
  ASSERT_TRUE(store.ok()) << store.status();
  const auto unpack = [](const FsRoot& diff) -> absl::StatusOr<ImageUsage> {
    PLIMSOLL_RETURN_IF_ERROR(diff.ReplaceFile("f", "x"));
    return ImageUsage{1, 1};
  };
  auto first = (*store)->Ensure(id, unpack);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(dir.root().RemoveTree(layer).ok());
  const absl::Status gone = (*store)->Acquire(id).status();
  EXPECT_TRUE(absl::IsNotFound(gone)) << gone;
  EXPECT_TRUE(absl::StrContains(gone.message(), "/diff is gone; pull or import")) << gone;
  const auto failed = (*store)->Ensure(
      id, [](const FsRoot&) { return absl::StatusOr<ImageUsage>(absl::DataLossError("cut")); });
  EXPECT_TRUE(absl::IsDataLoss(failed.status())) << failed.status();
  auto second = (*store)->Ensure(id, unpack);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(dir.root().Exists(layer + "/diff/f"));
  EXPECT_TRUE((*store)->Acquire(id).ok());
  // It goes with the last of its holders.
  *first = LayerStore::Hold();
  EXPECT_TRUE(dir.root().Exists(layer + "/diff/f"));
  *second = LayerStore::Hold();
  EXPECT_FALSE(dir.root().Exists(layer));
}

TEST(LayerStore, ALayerWhoseFilesAreGoneIsCollectedWithoutThem) {
  TestDir dir;
  const std::string id = DigestOf("c");
  const auto unpack = [](const FsRoot&) { return absl::StatusOr<ImageUsage>(ImageUsage{7, 1}); };
  const std::string layer = absl::StrCat("layers/", DigestHex(id));
  {
    const auto earlier = LayerStore::Open(dir.root());
    const auto kept = (*earlier)->Ensure(id, unpack);
    ASSERT_TRUE(kept.ok()) << kept.status();
    (*earlier)->Close();
  }
  const auto store = LayerStore::Open(dir.root());
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->SizeOf(id), 7u);
  EXPECT_GT((*store)->TotalUsage().inodes, 0u);
  ASSERT_TRUE(dir.root().RemoveTree(layer).ok());
  const absl::Status collected = (*store)->CollectGarbage();
  EXPECT_TRUE(collected.ok()) << collected;
  EXPECT_EQ((*store)->SizeOf(id), 0u);
  EXPECT_EQ((*store)->TotalUsage().inodes, 0u);
  EXPECT_TRUE((*store)->Ensure(id, unpack).ok());
}

TEST(LayerStore, RootOfALayerCanBeEnteredByAnyone) {
  TestDir dir;
  const auto store = LayerStore::Open(dir.root());
  const auto hold = (*store)->Ensure(
      DigestOf("c"), [](const FsRoot&) { return absl::StatusOr<ImageUsage>(ImageUsage()); });
  ASSERT_TRUE(hold.ok());
  struct stat info = {};
  ASSERT_EQ(stat((*store)->DiffPath(DigestOf("c")).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0755u);
}

}  // namespace
}  // namespace plimsoll::image
