// Images: names, ids and digests, lists, removal.
#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "conformance/image_test.h"

namespace plimsoll::conformance {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

PROMISE_TEST(
    ImageTest, APulledOneIsKnownByEveryName,
    "An image that was pulled by tag is found by that tag, by the reference that PullImage "
    "gave, by its id and by its digest, and is the same each time") {
  const std::string image = Push("known:v1", "known\n");
  EXPECT_FALSE(IsThere(image));
  const std::string reference = Pull(image);
  EXPECT_THAT(reference, Not(IsEmpty()));
  const cri::Image status = ImageStatus(image);
  EXPECT_THAT(status.id(), Not(IsEmpty()));
  EXPECT_GT(status.size(), 0u);
  EXPECT_THAT(status.repo_tags(), Contains(image));
  const std::string digest = DigestIn(status, WithoutTag(image));
  EXPECT_THAT(digest, Not(IsEmpty()));
  for (const std::string& name : {reference, status.id(), digest}) {
    EXPECT_EQ(ImageStatus(name).id(), status.id()) << name;
  }
}

PROMISE_TEST(ImageTest, ItsListEntryIsItsStatus,
             "ListImages has each image once, with the id, tags, digests and size of its status") {
  const std::string image = Push("listed:v1", "listed\n");
  Pull(image);
  const cri::Image status = ImageStatus(image);
  const std::vector<cri::Image> list = List();
  const auto is_it = [&](const cri::Image& each) { return each.id() == status.id(); };
  ASSERT_EQ(std::count_if(list.begin(), list.end(), is_it), 1);
  const cri::Image& entry = *std::find_if(list.begin(), list.end(), is_it);
  EXPECT_THAT(entry.repo_tags(), ::testing::UnorderedElementsAreArray(status.repo_tags()));
  EXPECT_THAT(entry.repo_digests(), ::testing::UnorderedElementsAreArray(status.repo_digests()));
  EXPECT_EQ(entry.size(), status.size());
}

PROMISE_TEST(ImageTest, ListsByName,
             "ListImages with an image in the filter gives that one, and an empty list when it "
             "isn't there") {
  const std::string image = Push("filtered:v1", "filtered\n");
  EXPECT_THAT(List(image), IsEmpty());
  Pull(image);
  const std::vector<cri::Image> list = List(image);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].id(), ImageStatus(image).id());
}

PROMISE_TEST(ImageTest, AStreamedListIsTheList, "StreamImages gives what ListImages gives") {
  Pull(Push("streamed:v1", "streamed\n"));
  const auto stream = client_.Open(cri::StreamImagesRequest(), absl::Seconds(30));
  cri::StreamImagesResponse part;
  std::vector<std::string> streamed;
  while (stream->Read(&part)) {
    for (const cri::Image& image : part.images()) streamed.push_back(image.id());
  }
  const absl::Status status = stream->Finish();
  if (IsLacking(status)) GTEST_SKIP() << status.message();
  EXPECT_OK(status);
  std::vector<std::string> listed;
  for (const cri::Image& image : List()) listed.push_back(image.id());
  EXPECT_THAT(streamed, ::testing::UnorderedElementsAreArray(listed));
}

PROMISE_TEST(ImageTest, AnAbsentOneIsNoError,
             "ImageStatus of an image that isn't there has no image and is no error") {
  cri::ImageStatusRequest request;
  request.mutable_image()->set_image(absl::StrCat("127.0.0.1:1/none-of-", session_.run(), ":v1"));
  const auto response = client_.Ask<cri::ImageStatusResponse>(request);
  ASSERT_OK(response);
  EXPECT_FALSE(response->has_image());
}

PROMISE_TEST(ImageTest, VerboseStatusHasInfo,
             "ImageStatus has info when it is asked to be verbose") {
  const std::string image = Push("verbose:v1", "verbose\n");
  Pull(image);
  cri::ImageStatusRequest request;
  request.mutable_image()->set_image(image);
  request.set_verbose(true);
  const auto response = client_.Ask<cri::ImageStatusResponse>(request);
  ASSERT_OK(response);
  EXPECT_GT(response->info_size(), 0);
}

PROMISE_TEST(
    ImageTest, TellsItsUser,
    "An image's user is its uid where it is a number and its username where it is a name") {
  Recipe recipe;
  std::string why;
  recipe.user = "app";
  const std::string named = Publish(recipe, "who:name", &why);
  recipe.user = "1234:4321";
  const std::string numbered = Publish(recipe, "who:number", &why);
  ASSERT_THAT(why, IsEmpty());
  Pull(named);
  Pull(numbered);
  EXPECT_EQ(ImageStatus(named).username(), "app");
  EXPECT_FALSE(ImageStatus(named).has_uid());
  EXPECT_EQ(ImageStatus(numbered).uid().value(), 1234);
  EXPECT_EQ(ImageStatus(numbered).username(), "");
}

PROMISE_TEST(ImageTest, TwoTagsAreOneImage,
             "The same image under two tags is one image with both, and goes with the last") {
  const std::string one = Push("twice:one", "twice\n");
  const std::string two = Push("twice:two", "twice\n");
  Pull(one);
  Pull(two);
  const cri::Image status = ImageStatus(one);
  EXPECT_EQ(ImageStatus(two).id(), status.id());
  EXPECT_THAT(status.repo_tags(), Contains(one));
  EXPECT_THAT(status.repo_tags(), Contains(two));
  ASSERT_OK(Remove(status.id()));
  EXPECT_FALSE(IsThere(one));
  EXPECT_FALSE(IsThere(two));
  EXPECT_FALSE(IsThere(status.id()));
}

PROMISE_TEST(ImageTest, TwoRepositoriesAreOneImage,
             "The same image from two repositories is one image with a digest of each") {
  const std::string one = Push("here/same:v1", "same\n");
  const std::string two = Push("there/same:v1", "same\n");
  Pull(one);
  Pull(two);
  const cri::Image status = ImageStatus(one);
  EXPECT_EQ(ImageStatus(two).id(), status.id());
  EXPECT_THAT(DigestIn(status, WithoutTag(one)), Not(IsEmpty()));
  EXPECT_THAT(DigestIn(status, WithoutTag(two)), Not(IsEmpty()));
}

PROMISE_TEST(ImageTest, ADigestIsAName,
             "An image is pulled by digest; it has that digest and no tag, and containers are made "
             "of it") {
  const std::string image = Push("digest:v1", "by digest\n");
  Pull(image);
  const std::string digest = DigestIn(ImageStatus(image), WithoutTag(image));
  ASSERT_THAT(digest, Not(IsEmpty()));
  ASSERT_OK(Remove(ImageStatus(image).id()));
  ASSERT_FALSE(IsThere(digest));
  Pull(digest);
  const cri::Image status = ImageStatus(digest);
  EXPECT_THAT(status.repo_digests(), Contains(digest));
  EXPECT_THAT(status.repo_tags(), IsEmpty());
  EXPECT_EQ(Content(digest), "by digest\n");
}

PROMISE_TEST(ImageTest, AMovedTagIsTheNewImages,
             "A tag that was moved in the registry is the new image's after the next pull, and no "
             "longer the old one's") {
  const std::string image = Push("moved:v1", "old\n");
  Pull(image);
  const cri::Image old = ImageStatus(image);
  Push("moved:v1", "new\n");
  Pull(image);
  EXPECT_NE(ImageStatus(image).id(), old.id());
  EXPECT_EQ(Content(image), "new\n");
  const std::vector<cri::Image> list = List();
  int holders = 0;
  for (const cri::Image& each : list) {
    const auto& tags = each.repo_tags();
    if (std::find(tags.begin(), tags.end(), image) != tags.end()) ++holders;
  }
  EXPECT_EQ(holders, 1);
}

PROMISE_TEST(ImageTest, RemovalByTagTakesTheTag, "RemoveImage by a tag takes that tag away") {
  const std::string image = Push("tag:v1", "tag\n");
  Pull(image);
  ASSERT_OK(Remove(image));
  EXPECT_FALSE(IsThere(image));
}

PROMISE_TEST(ImageTest, RemovalByDigestTakesTheDigest,
             "RemoveImage by a digest of an image that has no other name removes it") {
  const std::string image = Push("gone:v1", "gone\n");
  Pull(image);
  const std::string digest = DigestIn(ImageStatus(image), WithoutTag(image));
  ASSERT_OK(Remove(ImageStatus(image).id()));
  Pull(digest);
  const std::string id = ImageStatus(digest).id();
  ASSERT_OK(Remove(digest));
  EXPECT_FALSE(IsThere(digest));
  EXPECT_FALSE(IsThere(id));
}

PROMISE_TEST(ImageTest, RemovalMayBeAskedAgain,
             "RemoveImage of an image that has been removed is no error") {
  const std::string image = Push("again:v1", "again\n");
  Pull(image);
  for (int i = 0; i < 3; ++i) EXPECT_OK(Remove(image));
}

PROMISE_TEST(ImageTest, ARemovedOneMayBePulledAgain,
             "An image can be pulled again after it was removed, and is whole") {
  const std::string image = Push("back:v1", "back\n");
  Pull(image);
  const std::string id = ImageStatus(image).id();
  ASSERT_OK(Remove(image));
  Pull(image);
  EXPECT_EQ(ImageStatus(image).id(), id);
  EXPECT_EQ(Content(image), "back\n");
}

PROMISE_TEST(ImageTest, RemovalLeavesContainersRunning,
             "A container goes on with its files when its image is removed") {
  const std::string image = Push("used:v1", "used\n");
  Pull(image);
  cri::ContainerConfig config = Sleeper();
  config.mutable_image()->set_image(image);
  const std::string id = Start(RunPod(), config);
  // Some runtimes refuse while it is in use.
  Remove(image).IgnoreError();
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_RUNNING);
  EXPECT_EQ(Exec(id, "cat /content"), "used\n");
}

PROMISE_TEST(ImageTest, OfAnIndexItIsThisMachines,
             "Of an index of several platforms the image of this machine's is pulled, and its tag "
             "is the index's") {
  Recipe recipe;
  recipe.index = true;
  recipe.files = {{"content", "for here\n"}};
  std::string why;
  const std::string image = Publish(recipe, "index:v1", &why);
  ASSERT_THAT(why, IsEmpty());
  Pull(image);
  EXPECT_THAT(ImageStatus(image).repo_tags(), Contains(image));
  EXPECT_EQ(Content(image), "for here\n");
}

PROMISE_TEST(ImageTest, LayersMayBeZstd,
             "An image whose layers are compressed with zstd is pulled and run") {
  Recipe recipe;
  recipe.zstd = true;
  recipe.files = {{"content", "zstd\n"}};
  std::string why;
  const std::string image = Publish(recipe, "zstd:v1", &why);
  ASSERT_THAT(why, IsEmpty());
  Pull(image);
  EXPECT_EQ(Content(image), "zstd\n");
}

PROMISE_TEST(ImageTest, AnUnknownOneIsNamed,
             "PullImage of an image that the registry doesn't have fails with its name, and no "
             "image is there") {
  const auto registry = session_.GetRegistry(RegistryKind::kPlain);
  ASSERT_OK(registry);
  const std::string image =
      (*registry)->Name(absl::StrCat("conformance-", session_.run(), "/none:v1"));
  const auto pulled = TryPull(image);
  EXPECT_FALSE(pulled.ok());
  EXPECT_THAT(std::string(pulled.status().message()), HasSubstr("none"));
  EXPECT_FALSE(IsThere(image));
}

PROMISE_TEST(ImageTest, ManyPullsOfOneAreOne,
             "Pulls of one image at the same time all succeed, with the same reference") {
  const std::string image = Push("crowd:v1", std::string(300000, 'x'));
  constexpr size_t kPulls = 6;
  std::vector<absl::StatusOr<std::string>> results(kPulls, absl::UnknownError("not asked"));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kPulls; ++i) {
    threads.emplace_back([&, i] { results[i] = TryPull(image); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) {
    EXPECT_OK(result);
    EXPECT_EQ(result.value_or(""), results[0].value_or(""));
  }
}

PROMISE_TEST(ImageTest, APulledOneIsNotPinned, "An image that a client pulled is not pinned") {
  const std::string image = Push("loose:v1", "loose\n");
  Pull(image);
  EXPECT_FALSE(ImageStatus(image).pinned());
}

}  // namespace
}  // namespace plimsoll::conformance
