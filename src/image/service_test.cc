#include <sys/stat.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/disk_usage.h"
#include "base/fault_injection.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/catalog_for_test.h"
#include "image/image_for_test.h"
#include "image/image_service.h"
#include "image/layer_store.h"
#include "image/names/digest.h"
#include "image/tar_for_test.h"

namespace plimsoll::image {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    EXPECT_TRUE(dir_.root().MakeDirs("store").ok());
    Reopen();
  }
  void Reopen() {
    service_.reset();
    auto service =
        ImageService::Open(*dir_.root().Sub("store"), &catalog_, {.host = *FsRoot::Open("/")});
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }
  // Adds an image of layers with these contents, under this name.
  Image Add(const std::string& name, const std::vector<std::string>& contents) {
    TestLayout layout;
    std::vector<std::string> tars;
    for (const std::string& content : contents) {
      tars.push_back(TarBuilder().File("file", content).Build());
    }
    layout.List(layout.AddImage(tars, {{"Labels", {{"of", contents.back()}}}}));
    const std::string path = absl::StrCat("layout-", ++added_);
    layout.WriteTo(dir_.root(), path);
    const auto image = service_->Import(dir_.root().PathOf(path), name, nullptr);
    EXPECT_TRUE(image.ok()) << image.status();
    return image.value_or(Image());
  }
  std::vector<std::string> LayersOnDisk() { return *dir_.root().List("store/layers"); }
  std::vector<std::string> BlobsOnDisk() { return *dir_.root().List("store/blobs/sha256"); }

  TestDir dir_;
  TestCatalog catalog_;
  std::unique_ptr<ImageService> service_;
  int added_ = 0;
};

TEST_F(ServiceTest, FindsByNameIdAndPrefix) {
  const Image image = Add("hello", {"a"});
  const std::string hex(DigestHex(image.record.id));
  for (const std::string& text :
       {std::string("hello"), std::string("hello:latest"), std::string("docker.io/library/hello"),
        image.record.id, hex, hex.substr(0, 12), hex.substr(0, 3), image.record.id.substr(0, 15)}) {
    const auto found = service_->Find(text);
    ASSERT_TRUE(found.ok()) << text << ": " << found.status();
    EXPECT_EQ(found->record, image.record) << text;
  }
  EXPECT_TRUE(absl::IsNotFound(service_->Find("hello:2").status()));
  EXPECT_TRUE(absl::IsNotFound(service_->Find(std::string(64, '0')).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(service_->Find("No Name").status()));
  EXPECT_THAT(std::string(service_->Find("other").status().message()),
              HasSubstr("docker.io/library/other:latest"));
}

TEST_F(ServiceTest, LayersAreSharedByChain) {
  const Image one = Add("one", {"base", "1"});
  const Image two = Add("two", {"base", "2"});
  EXPECT_THAT(LayersOnDisk(), SizeIs(3));
  EXPECT_EQ(one.record.chain_ids[0], two.record.chain_ids[0]);
  // The same content over another base has another chain id.
  Add("three", {"other", "1"});
  EXPECT_THAT(LayersOnDisk(), SizeIs(5));
}

TEST_F(ServiceTest, LayersThatAreGoneAreBackWhenTheImageIsImportedAgain) {
  const Image image = Add("one", {"base", "1"});
  for (const std::string& layer : LayersOnDisk()) {
    ASSERT_TRUE(dir_.root().RemoveTree("store/layers/" + layer).ok());
  }
  const absl::Status refused = service_->Lease(image.record.id).status();
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("is gone"), HasSubstr("import the image again")));
  EXPECT_EQ(Add("one", {"base", "1"}).record.id, image.record.id);
  const auto lease = service_->Lease(image.record.id);
  ASSERT_TRUE(lease.ok()) << lease.status();
  for (const std::string& directory : (*lease)->lower_directories()) {
    struct stat info = {};
    EXPECT_EQ(stat(absl::StrCat(directory, "/file").c_str(), &info), 0) << directory;
  }
  EXPECT_THAT(*dir_.root().List("store/work"), IsEmpty());
}

TEST_F(ServiceTest, RemovingAnImageKeepsLayersOfOthers) {
  Add("one", {"base", "1"});
  const Image two = Add("two", {"base", "2"});
  ASSERT_TRUE(service_->Remove("one").ok());
  EXPECT_THAT(service_->List(), SizeIs(1));
  EXPECT_THAT(LayersOnDisk(),
              UnorderedElementsAre(std::string(DigestHex(two.record.chain_ids[0])),
                                   std::string(DigestHex(two.record.chain_ids[1]))));
  EXPECT_THAT(BlobsOnDisk(), SizeIs(2));
  ASSERT_TRUE(service_->Remove(two.record.id).ok());
  EXPECT_THAT(LayersOnDisk(), IsEmpty());
  EXPECT_THAT(BlobsOnDisk(), IsEmpty());
  EXPECT_THAT(*dir_.root().List("store/work"), IsEmpty());
  EXPECT_TRUE(service_->Remove("two").ok()) << "removing what isn't there";
}

TEST_F(ServiceTest, NamesGoOneByOneAndTheImageWithTheLast) {
  const Image image = Add("one", {"a"});
  Add("one:2", {"a"});
  ASSERT_TRUE(service_->Remove("one").ok());
  EXPECT_THAT(service_->Find(image.record.id)->record.repo_tags,
              ElementsAre("docker.io/library/one:2"));
  ASSERT_TRUE(service_->Remove("one:2").ok());
  EXPECT_THAT(service_->List(), IsEmpty());
}

TEST_F(ServiceTest, IdRemovesAllNames) {
  const Image image = Add("one", {"a"});
  Add("two", {"a"});
  ASSERT_TRUE(service_->Remove(image.record.id).ok());
  EXPECT_THAT(service_->List(), IsEmpty());
}

TEST_F(ServiceTest, TagMovesToTheNewImage) {
  const Image old = Add("app", {"1"});
  const Image now = Add("app", {"2"});
  EXPECT_EQ(service_->Find("app")->record.id, now.record.id);
  EXPECT_THAT(service_->Find(old.record.id)->record.repo_tags, IsEmpty());
  Reopen();
  EXPECT_EQ(service_->Find("app")->record.id, now.record.id);
}

TEST_F(ServiceTest, LeaseListsDirectoriesTopFirst) {
  const Image image = Add("two", {"low", "high"});
  const auto lease = service_->Lease(image.record.id);
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ((*lease)->chain_ids(), image.record.chain_ids);
  ASSERT_THAT((*lease)->lower_directories(), SizeIs(2));
  EXPECT_EQ(*FsRoot::Open((*lease)->lower_directories()[0])->Read("file"), "high");
  EXPECT_EQ(*FsRoot::Open((*lease)->lower_directories()[1])->Read("file"), "low");
  EXPECT_TRUE(absl::IsNotFound(service_->Lease("sha256:none").status()));
}

TEST_F(ServiceTest, LeaseKeepsLayersOfARemovedImage) {
  const Image image = Add("one", {"a", "b"});
  auto lease = *service_->Lease(image.record.id);
  auto second = *service_->LeaseChain(image.record.chain_ids);
  ASSERT_TRUE(service_->Remove("one").ok());
  EXPECT_THAT(service_->List(), IsEmpty());
  EXPECT_THAT(*catalog_.LoadImages(), IsEmpty());
  ASSERT_TRUE(service_->CollectGarbage().ok());
  EXPECT_THAT(LayersOnDisk(), SizeIs(2));
  lease.reset();
  EXPECT_THAT(LayersOnDisk(), SizeIs(2));
  second.reset();
  EXPECT_THAT(LayersOnDisk(), IsEmpty());
}

TEST_F(ServiceTest, LeaseMayOutliveTheService) {
  const Image image = Add("one", {"a"});
  auto lease = *service_->Lease(image.record.id);
  service_.reset();
  EXPECT_EQ(*FsRoot::Open(lease->lower_directories()[0])->Read("file"), "a");
}

TEST_F(ServiceTest, SurvivesARestart) {
  const Image image = Add("one", {"a", "b"});
  ASSERT_TRUE(dir_.root().MakeDirs("store/work/half-done").ok());
  Reopen();
  ASSERT_THAT(service_->List(), SizeIs(1));
  EXPECT_EQ(service_->List()[0].record, image.record);
  EXPECT_EQ(service_->List()[0].config.labels, image.config.labels);
  EXPECT_THAT(*dir_.root().List("store/work"), IsEmpty());
  ASSERT_TRUE(service_->CollectGarbage().ok());
  EXPECT_THAT(LayersOnDisk(), SizeIs(2));
}

// The kernel lets the parent of a new program go on before the program's environment is visible.
void AwaitEnvironment(pid_t pid) {
  const FsRoot proc = *FsRoot::Open("/proc");
  const absl::Time end = absl::Now() + absl::Seconds(20);
  while (proc.Read(absl::StrCat(pid, "/environ")).value_or("").empty() && absl::Now() < end) {
    absl::SleepFor(absl::Milliseconds(1));
  }
}

// The skopeo of a pull whose daemon was killed.
TEST_F(ServiceTest, WhatStillWritesIntoAnAbandonedPullIsEnded) {
  service_.reset();
  const std::string work = dir_.path() + "/store/work/abandoned";
  ASSERT_TRUE(dir_.root().MakeDirs("store/work/abandoned").ok());
  auto stray = Spawn({.argv = {"/bin/sleep", "300"}, .environment = {"HOME=" + work}});
  auto other = Spawn({.argv = {"/bin/sleep", "300"}, .environment = {"HOME=" + work + "2"}});
  ASSERT_TRUE(stray.ok() && other.ok());
  absl::Cleanup end_both = [&] {
    stray->Signal(9).IgnoreError();
    other->Signal(9).IgnoreError();
  };
  AwaitEnvironment(stray->pid());
  AwaitEnvironment(other->pid());
  Reopen();
  const auto ended = stray->Wait(absl::Now() + absl::Seconds(20));
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->signal, 9);
  EXPECT_FALSE(dir_.root().Exists("store/work/abandoned"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(other->Wait(absl::Now()).status()));
}

TEST_F(ServiceTest, LayersOfARunningContainerSurviveARestartWithoutTheirImage) {
  const Image kept = Add("kept", {"a"});
  const Image dropped = Add("dropped", {"b"});
  auto first = *service_->Lease(kept.record.id);
  auto second = *service_->Lease(dropped.record.id);
  ASSERT_TRUE(service_->Remove("kept").ok());
  ASSERT_TRUE(service_->Remove("dropped").ok());
  const std::vector<std::string> chain = first->chain_ids();
  service_.reset();
  auto service =
      ImageService::Open(*dir_.root().Sub("store"), &catalog_, {.host = *FsRoot::Open("/")});
  ASSERT_TRUE(service.ok());
  EXPECT_THAT(LayersOnDisk(), SizeIs(2)) << "Open removes nothing";
  auto again = (*service)->LeaseChain(chain);
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_TRUE((*service)->CollectGarbage().ok());
  EXPECT_THAT(LayersOnDisk(), ElementsAre(std::string(DigestHex(chain[0]))));
  EXPECT_TRUE(absl::IsNotFound((*service)->LeaseChain(second->chain_ids()).status()));
  again->reset();
  EXPECT_THAT(LayersOnDisk(), IsEmpty());
  first.reset();  // the former service's: touches nothing any more
}

TEST_F(ServiceTest, ImageWithoutItsLayersIsDropped) {
  const Image image = Add("one", {"a"});
  service_.reset();
  ASSERT_TRUE(dir_.root()
                  .RemoveTree(absl::StrCat("store/layers/", DigestHex(image.record.chain_ids[0])))
                  .ok());
  Reopen();
  EXPECT_THAT(service_->List(), IsEmpty());
  EXPECT_THAT(*catalog_.LoadImages(), IsEmpty());
  EXPECT_THAT(service_->Damaged(),
              ElementsAre(AllOf(HasSubstr("docker.io/library/one:latest"),
                                HasSubstr(image.record.id), HasSubstr("pull or import it again"))));
  Reopen();
  EXPECT_THAT(service_->Damaged(), IsEmpty()) << "it is no longer there";
}

TEST_F(ServiceTest, ImageWhoseRowCantBeReadIsDroppedAndCanComeBack) {
  const Image image = Add("one", {"a"});
  const Image other = Add("two", {"b"});
  catalog_.Damage(image.record.id, "database row: column blobs");
  Reopen();
  EXPECT_TRUE(absl::IsNotFound(service_->Find("one").status()));
  EXPECT_TRUE(service_->Find("two").ok());
  EXPECT_THAT(service_->Damaged(), ElementsAre(AllOf(HasSubstr(image.record.id),
                                                     HasSubstr("database row: column blobs"))));
  EXPECT_THAT(catalog_.DamagedImages(), IsEmpty());
  EXPECT_EQ(Add("one", {"a"}).record.id, image.record.id);
  EXPECT_TRUE(service_->Lease(image.record.id).ok());
}

// The order of loading must not matter, so each of the two is damaged once.
TEST_F(ServiceTest, DamagedImageLeavesLayersThatAnotherShares) {
  for (const std::string damaged : {"one", "two"}) {
    const Image one = Add("one", {"base", "1"});
    const Image two = Add("two", {"base", "2"});
    const Image& broken = damaged == "one" ? one : two;
    const Image& whole = damaged == "one" ? two : one;
    service_.reset();
    ASSERT_TRUE(dir_.root()
                    .RemoveFile(absl::StrCat("store/blobs/sha256/", DigestHex(broken.record.id)))
                    .ok());
    Reopen();
    EXPECT_TRUE(absl::IsNotFound(service_->Find(broken.record.id).status()));
    const auto lease = service_->Lease(whole.record.id);
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_EQ(*FsRoot::Open((*lease)->lower_directories()[1])->Read("file"), "base");
    EXPECT_THAT(LayersOnDisk(), SizeIs(3)) << "until it is known what containers use";
    ASSERT_TRUE(service_->CollectGarbage().ok());
    EXPECT_THAT(LayersOnDisk(), SizeIs(2));
  }
}

TEST_F(ServiceTest, DamagedImageLeavesLayersOfItsRunningContainers) {
  const Image image = Add("one", {"base", "1"});
  service_.reset();
  ASSERT_TRUE(
      dir_.root().RemoveFile(absl::StrCat("store/blobs/sha256/", DigestHex(image.record.id))).ok());
  Reopen();
  EXPECT_THAT(service_->List(), IsEmpty());
  auto lease = service_->LeaseChain(image.record.chain_ids);
  ASSERT_TRUE(lease.ok()) << lease.status();
  ASSERT_TRUE(service_->CollectGarbage().ok());
  EXPECT_EQ(*FsRoot::Open((*lease)->lower_directories()[0])->Read("file"), "1");
  lease->reset();
  EXPECT_THAT(LayersOnDisk(), IsEmpty());
}

TEST_F(ServiceTest, LayerWithADamagedRecordIsKeptForContainersOnly) {
  const Image image = Add("one", {"a"});
  service_.reset();
  const std::string layer = absl::StrCat("store/layers/", DigestHex(image.record.chain_ids[0]));
  ASSERT_TRUE(dir_.root().ReplaceFile(layer + "/usage", std::string(1000, '1')).ok());
  Reopen();
  EXPECT_THAT(service_->List(), IsEmpty());
  EXPECT_TRUE(dir_.root().Exists(layer + "/diff/file"));
  auto lease = service_->LeaseChain(image.record.chain_ids);
  ASSERT_TRUE(lease.ok()) << lease.status();
  ASSERT_TRUE(service_->CollectGarbage().ok());
  EXPECT_TRUE(dir_.root().Exists(layer + "/diff/file"));
  lease->reset();
  EXPECT_THAT(LayersOnDisk(), IsEmpty());
  EXPECT_EQ(Add("one", {"a"}).record.chain_ids, image.record.chain_ids) << "is unpacked anew";
}

TEST_F(ServiceTest, ChangedConfigBlobIsDropped) {
  const Image image = Add("one", {"a"});
  ASSERT_TRUE(
      dir_.root()
          .ReplaceFile(absl::StrCat("store/blobs/sha256/", DigestHex(image.record.id)), "{}")
          .ok());
  Reopen();
  EXPECT_THAT(service_->List(), IsEmpty());
  EXPECT_EQ(Add("one", {"a"}).record.id, image.record.id) << "can be imported again";
}

TEST_F(ServiceTest, FailedCatalogWriteChangesNothing) {
  const Image old = Add("app", {"1"});
  for (int writes : {0, 1}) {  // of the two writes: the new image, and the old one losing its tag
    catalog_.FailAfter(writes);
    TestLayout layout;
    layout.List(layout.AddImage({TarBuilder().File("file", "new").Build()}));
    const std::string path = absl::StrCat("failing-", writes);
    layout.WriteTo(dir_.root(), path);
    EXPECT_FALSE(service_->Import(dir_.root().PathOf(path), "app", nullptr).ok());
    catalog_.FailAfter(-1);
    EXPECT_THAT(service_->List(), SizeIs(1));
    EXPECT_EQ(service_->Find("app")->record, old.record);
    EXPECT_THAT(*catalog_.LoadImages(), SizeIs(1));
    EXPECT_THAT(LayersOnDisk(), SizeIs(1));
    EXPECT_THAT(BlobsOnDisk(), SizeIs(2));
  }
}

TEST_F(ServiceTest, OnAFullDiskTheFilesMakeRoomForTheRemoval) {
  Add("one", {"a"});
  Add("two", {"b"});
  catalog_.FailRemovals(1);
  EXPECT_TRUE(service_->Remove("one").ok());
  EXPECT_THAT(service_->List(), SizeIs(1));
  EXPECT_THAT(*catalog_.LoadImages(), SizeIs(1));
  EXPECT_THAT(LayersOnDisk(), SizeIs(1));
  EXPECT_THAT(BlobsOnDisk(), SizeIs(2)) << "the other's";
}

TEST_F(ServiceTest, OnAFullDiskAnImageStaysWhoseRemovalMakesNoRoom) {
  const Image image = Add("one", {"base"});
  const auto stays = [&] {
    catalog_.FailRemovals(1);
    const absl::Status refused = service_->Remove("one");
    EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("makes no room"));
    const auto found = service_->Find("one");
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->record, image.record);
    EXPECT_TRUE(service_->Lease(image.record.id).ok());
    EXPECT_TRUE(dir_.root().Exists(absl::StrCat("store/blobs/sha256/", DigestHex(image.record.id))))
        << "a restart would drop it";
  };
  auto lease = service_->Lease(image.record.id);
  ASSERT_TRUE(lease.ok()) << lease.status();
  stays();
  lease->reset();
  Add("two", {"base", "2"});
  stays();
  ASSERT_TRUE(service_->Remove("two").ok());
  Reopen();
  stays();  // no layer goes yet
  ASSERT_TRUE(service_->CollectGarbage().ok());
  catalog_.FailRemovals(1);
  EXPECT_TRUE(service_->Remove("one").ok());
  EXPECT_THAT(*catalog_.LoadImages(), IsEmpty());
}

TEST_F(ServiceTest, ARemovalWithoutRoomIsFinishedByTheNext) {
  const Image image = Add("one", {"a"});
  catalog_.FailRemovals(4);  // the first call tries twice
  for (const std::string& name : {std::string("one"), std::string("one"), image.record.id}) {
    const absl::Status failed = service_->Remove(name);
    EXPECT_TRUE(absl::IsResourceExhausted(failed)) << failed;
    EXPECT_THAT(std::string(failed.message()),
                AllOf(HasSubstr("docker.io/library/one:latest"), HasSubstr(image.record.id)));
    EXPECT_THAT(service_->List(), IsEmpty());
    EXPECT_THAT(LayersOnDisk(), IsEmpty());
  }
  ASSERT_THAT(*catalog_.LoadImages(), SizeIs(1));
  EXPECT_TRUE(service_->Remove("one").ok());
  EXPECT_THAT(*catalog_.LoadImages(), IsEmpty());

  // An image that comes back in between stays.
  Add("one", {"a"});
  catalog_.FailRemovals(2);
  EXPECT_TRUE(absl::IsResourceExhausted(service_->Remove("one")));
  Add("one", {"a"});
  EXPECT_TRUE(service_->Remove("another").ok());
  EXPECT_THAT(*catalog_.LoadImages(), SizeIs(1));
  EXPECT_TRUE(service_->Find("one").ok());
}

TEST_F(ServiceTest, ARowThatIsLeftIsNoOtherRemovalsError) {
  Add("one", {"a"});
  catalog_.FailRemovals(3);
  EXPECT_TRUE(absl::IsResourceExhausted(service_->Remove("one")));
  const absl::Status removed = service_->Remove("another");
  EXPECT_TRUE(removed.ok()) << removed;
  EXPECT_THAT(*catalog_.LoadImages(), SizeIs(1));
  EXPECT_TRUE(service_->Remove("another").ok());
  EXPECT_THAT(*catalog_.LoadImages(), IsEmpty());
}

TEST_F(ServiceTest, ARowThatIsLeftGoesAsSoonAsThereIsRoom) {
  Add("one", {"a"});
  catalog_.FailRemovals(2);
  EXPECT_TRUE(absl::IsResourceExhausted(service_->Remove("one")));
  const Image two = Add("two", {"b"});
  EXPECT_THAT(*catalog_.LoadImages(), ElementsAre(two.record));
  catalog_.FailRemovals(2);
  EXPECT_TRUE(absl::IsResourceExhausted(service_->Remove("two")));
  EXPECT_THAT(*catalog_.LoadImages(), SizeIs(1));
  ASSERT_TRUE(service_->CollectGarbage().ok());
  EXPECT_THAT(*catalog_.LoadImages(), IsEmpty());
}

// Called once, just before a layer's directory is removed; a hook is a plain function.
std::function<void()> on_layer_removal;
std::atomic<bool> awaits_layer_removal = false;

absl::Status TellOfLayerRemoval(absl::string_view verb, absl::string_view object) {
  if (verb == "remove" && absl::StartsWith(object, "work/") &&
      awaits_layer_removal.exchange(false)) {
    on_layer_removal();
  }
  return absl::OkStatus();
}

// Removing large layers takes time; meanwhile other calls come, even for the same image.
TEST_F(ServiceTest, AnImageComesBackWhileItsLayersAreRemovedForRoom) {
  const Image image = Add("one", {"a"});
  std::thread client;
  absl::Notification is_back;
  on_layer_removal = [&] {
    client = std::thread([&] {
      EXPECT_EQ(Add("one", {"a"}).record.id, image.record.id);
      is_back.Notify();
    });
    EXPECT_TRUE(is_back.WaitForNotificationWithTimeout(absl::Seconds(60)))
        << "it waits for the removal";
  };
  catalog_.FailRemovals(1);
  awaits_layer_removal = true;
  SetFaultHook(TellOfLayerRemoval);
  const absl::Status removed = service_->Remove("one");
  if (client.joinable()) client.join();
  SetFaultHook(nullptr);
  EXPECT_TRUE(is_back.HasBeenNotified()) << "no layer was removed";
  EXPECT_TRUE(removed.ok()) << removed;
  EXPECT_THAT(*catalog_.LoadImages(), SizeIs(1));
  const auto lease = service_->Lease(image.record.id);
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(*FsRoot::Open((*lease)->lower_directories()[0])->Read("file"), "a");
}

TEST_F(ServiceTest, ARemovalThatWasCutOffIsFinishedByTheNextStart) {
  const Image image = Add("one", {"low", "high"});
  auto lease = service_->LeaseChain({image.record.chain_ids[0]});
  ASSERT_TRUE(lease.ok()) << lease.status();
  catalog_.FailRemovals(2);
  EXPECT_TRUE(absl::IsResourceExhausted(service_->Remove("one")));
  Reopen();
  EXPECT_THAT(service_->List(), IsEmpty());
  EXPECT_THAT(*catalog_.LoadImages(), IsEmpty());
  EXPECT_THAT(service_->Damaged(), ElementsAre(HasSubstr("its removal was cut off")));
  EXPECT_EQ(Add("one", {"low", "high"}).record.id, image.record.id);
}

TEST_F(ServiceTest, UsageIsRemembered) {
  Add("one", {"12345", "123"});
  const auto before = service_->Usage();
  ASSERT_TRUE(before.ok());
  EXPECT_GE(before->bytes, 8u);
  EXPECT_GE(before->inodes, 2u);
  Reopen();
  EXPECT_EQ(service_->Usage()->bytes, before->bytes);
  EXPECT_EQ(service_->Usage()->inodes, before->inodes);
  ASSERT_TRUE(service_->CollectGarbage().ok());
  ASSERT_TRUE(service_->Remove("one").ok());
  EXPECT_EQ(service_->Usage()->bytes, 0u);
}

// The number that du(1) shows, not the files' apparent sizes.
TEST_F(ServiceTest, UsageIsWhatTheDiskHolds) {
  const std::string content(3 << 20, 'x');
  const Image image = Add("one", {content, "small"});
  EXPECT_EQ(image.record.size_bytes, content.size() + 5);
  const auto usage = service_->Usage();
  ASSERT_TRUE(usage.ok()) << usage.status();
  uint64_t expected = 0;
  for (const char* directory : {"store/layers", "store/blobs"}) {
    const auto walked = MeasureTree(*dir_.root().Sub(directory));
    ASSERT_TRUE(walked.ok()) << walked.status();
    expected += walked->bytes;
  }
  // Directories and our own notes add a few blocks for each layer.
  EXPECT_LE(usage->bytes, expected + (256 << 10));
  EXPECT_GE(usage->bytes + (256 << 10), expected);
  EXPECT_EQ(usage->inodes, 2u + BlobsOnDisk().size());
}

TEST_F(ServiceTest, UsageOfLayersOfAnEarlierVersionIsTheirContents) {
  Add("one", {"12345"});
  const std::string layer = absl::StrCat("store/layers/", LayersOnDisk().at(0));
  const uint64_t now = service_->Usage()->bytes;
  ASSERT_TRUE(dir_.root().ReplaceFile(layer + "/usage", "5 1\n").ok());
  Reopen();
  const uint64_t before = service_->Usage()->bytes;
  ASSERT_TRUE(dir_.root().ReplaceFile(layer + "/usage", "5 1 70000\n").ok());
  Reopen();
  EXPECT_EQ(service_->Usage()->bytes, before - 5 + 70000);
  EXPECT_LE(before, now);
  EXPECT_TRUE(service_->Find("one").ok());
}

TEST_F(ServiceTest, ProgressNamesEachLayer) {
  TestLayout layout;
  layout.List(
      layout.AddImage({TarBuilder().File("a", "").Build(), TarBuilder().File("b", "").Build()}));
  layout.WriteTo(dir_.root(), "layout");
  std::vector<std::string> steps;
  const auto note = [&](const Progress& progress) {
    steps.push_back(progress.step);
    EXPECT_EQ(progress.total_bytes, 0u) << "layers are no bytes";
  };
  ASSERT_TRUE(service_->Import(dir_.root().PathOf("layout"), "x", note).ok());
  EXPECT_THAT(
      steps, ElementsAre(HasSubstr("reading"), "unpacking layer 1 of 2", "unpacking layer 2 of 2"));
}

TEST_F(ServiceTest, ConcurrentImportsAndRemovals) {
  TestLayout layout;
  layout.List(layout.AddImage({TarBuilder().File("a", std::string(100'000, 'a')).Build()}));
  layout.WriteTo(dir_.root(), "layout");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      for (int round = 0; round < 3; ++round) {
        const std::string name = absl::StrCat("name", i);
        const auto image = service_->Import(dir_.root().PathOf("layout"), name, nullptr);
        EXPECT_TRUE(image.ok()) << image.status();
        EXPECT_TRUE(service_->Find(name).ok());
        EXPECT_TRUE(service_->Remove(name).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(service_->List(), IsEmpty());
  EXPECT_THAT(LayersOnDisk(), IsEmpty());
  EXPECT_THAT(*dir_.root().List("store/work"), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::image
