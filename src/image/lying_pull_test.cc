// Pulls from registries that lie, break off, are slow or hang, and pulls shared by several callers.
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/monotonic_time.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/catalog_for_test.h"
#include "image/image_for_test.h"
#include "image/image_service.h"
#include "image/lying_registry_for_test.h"
#include "image/tar_for_test.h"

namespace plimsoll::image {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr absl::Duration kLiePatience = absl::Seconds(120);
using LyingAnswer = LyingRegistry::Answer;

class LyingPullTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!FindProgram("skopeo").ok()) GTEST_SKIP() << "no skopeo here: apt-get install skopeo";
    ASSERT_TRUE(dir_.root().MakeDirs("store").ok());
    auto service =
        ImageService::Open(*dir_.root().Sub("store"), &catalog_, {.host = *FsRoot::Open("/")});
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
    image_ = layout_.AddImage({Layer("low"), Layer("high")});
  }
  static std::string Layer(const std::string& name) {
    return TarBuilder().File(name, std::string(5000, name[0])).Build();
  }
  // The digest of the image's layer.
  std::string Blob(int index, const TestJson& image) const {
    return Manifest(image)["layers"][index]["digest"].get<std::string>();
  }
  std::string Blob(int index) const { return Blob(index, image_); }
  TestJson Manifest(const TestJson& image) const {
    return TestJson::parse(
        layout_.files.at(TestLayout::PathOf(image["digest"].get<std::string>())));
  }
  void Serve(LyingRegistry::Tamper tamper) {
    registry_.emplace(layout_, image_, std::move(tamper));
  }
  absl::StatusOr<Image> Pull(PullOptions options = {}, const ProgressFn& progress = nullptr) {
    options.insecure_registry = true;
    return service_->Pull(registry_->Name("lies:1"), options, progress);
  }
  // The error of a pull when `change` is applied to the answer for `digest` (or the tag "1").
  absl::Status Failure(const std::string& wanted, const std::function<void(LyingAnswer*)>& change) {
    Serve([wanted, change](const std::string& asked, LyingAnswer* answer) {
      if (asked == wanted) change(answer);
    });
    const absl::Status status = Pull().status();
    ExpectNothingLeft();
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("pull ", registry_->Name("lies:1"), ": ")));
    return status;
  }
  void ExpectNothingLeft() {
    EXPECT_THAT(service_->List(), IsEmpty());
    for (const char* part : {"store/layers", "store/work", "store/blobs/sha256"}) {
      EXPECT_THAT(*dir_.root().List(part), IsEmpty()) << part;
    }
  }
  size_t LayersThere() const { return dir_.root().List("store/layers")->size(); }

  TestDir dir_;
  TestCatalog catalog_;
  std::unique_ptr<ImageService> service_;
  TestLayout layout_;
  TestJson image_;
  std::optional<LyingRegistry> registry_;  // destroyed first: has threads of its own
};

TEST_F(LyingPullTest, AnHonestOneIsBelieved) {
  Serve([](const std::string&, LyingAnswer*) {});
  const auto image = Pull();
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->record.manifest_digest, image_["digest"].get<std::string>());
}

TEST_F(LyingPullTest, APlainRegistryOnLoopbackLeadsToNoOtherHost) {
  Serve([](const std::string& asked, LyingAnswer* answer) {
    if (asked != "1") return;
    answer->code = 307;
    answer->headers = "Location: http://192.0.2.1/v2/lies/manifests/1\r\n";
  });
  const absl::Time start = MonotonicNow();
  const auto image = service_->Pull(registry_->Name("lies:1"), {}, nullptr);
  EXPECT_FALSE(image.ok());
  EXPECT_THAT(std::string(image.status().message()),
              AllOf(HasSubstr(absl::StrCat(registry_->host(), " leads to 192.0.2.1; ")),
                    HasSubstr(absl::StrCat("list ", registry_->host(), " under"))));
  EXPECT_LT(MonotonicNow() - start, kLiePatience) << "nothing was sent to the other host";
  ExpectNothingLeft();
}

// Stores sign the addresses to which they redirect: who has one has the image.
TEST_F(LyingPullTest, ASignedAddressIsNotShown) {
  for (const char* to : {"http://127.0.0.1:1/blob", "file:///etc/passwd", "/v2/lies/manifests/1",
                         "http://user:signed@127.0.0.1:1/", "http://127.0.0.1:1/%zz"}) {
    for (const std::string& what : {std::string("1"), Blob(0)}) {
      Serve([&](const std::string& asked, LyingAnswer* answer) {
        if (!absl::StartsWith(asked, what)) return;
        *answer = {.code = 307,
                   .headers = absl::StrCat("Location: ", to, "?X-Signature=signed#signed\r\n")};
      });
      const absl::Status status = Pull().status();
      EXPECT_FALSE(status.ok()) << to;
      EXPECT_THAT(std::string(status.message()), Not(HasSubstr("signed"))) << to;
    }
  }
}

TEST_F(LyingPullTest, ALayerThatIsCutOff) {
  const absl::Status status = Failure(Blob(1), [](LyingAnswer* answer) {
    answer->length = answer->body.size();
    answer->body.resize(answer->body.size() / 2);
  });
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST_F(LyingPullTest, AConfigThatIsCutOff) {
  const std::string config = Manifest(image_)["config"]["digest"];
  const absl::Status status = Failure(config, [](LyingAnswer* answer) {
    answer->length = answer->body.size();
    answer->body.resize(7);
  });
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(absl::StrCat("config ", config)), HasSubstr("; 7 of ")));
}

TEST_F(LyingPullTest, ALayerThatIsShorterThanItsDigest) {
  const absl::Status status =
      Failure(Blob(1), [](LyingAnswer* answer) { answer->body.resize(answer->body.size() / 2); });
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

TEST_F(LyingPullTest, ALayerOfAnotherContent) {
  const absl::Status status = Failure(Blob(0), [](LyingAnswer* answer) {
    answer->body[answer->body.size() / 2] =
        static_cast<char>(~answer->body[answer->body.size() / 2]);
  });
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

TEST_F(LyingPullTest, ALayerWithoutEnd) {
  const absl::Status status = Failure(Blob(1), [](LyingAnswer* answer) {
    answer->body.assign(1 << 20, 'x');
    answer->endless = true;
  });
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("gives more than the"));
}

TEST_F(LyingPullTest, ALayerThatIsNotThere) {
  const absl::Status status =
      Failure(Blob(1), [](LyingAnswer* answer) { *answer = {.code = 404}; });
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
}

TEST_F(LyingPullTest, AManifestThatLiesAboutSizes) {
  TestJson manifest = Manifest(image_);
  manifest["config"]["size"] = manifest["config"]["size"].get<size_t>() + 1;
  image_ = layout_.AddBlob(manifest.dump(), kOciManifestType);
  const absl::Status config = Failure("", [](LyingAnswer*) {});
  EXPECT_TRUE(absl::IsDataLoss(config)) << config;
  EXPECT_THAT(std::string(config.message()), HasSubstr("the manifest says"));

  manifest["config"]["size"] = manifest["config"]["size"].get<size_t>() - 1;
  manifest["layers"][0]["size"] = 1;
  image_ = layout_.AddBlob(manifest.dump(), kOciManifestType);
  const absl::Status layer = Failure("", [](LyingAnswer*) {});
  EXPECT_TRUE(absl::IsDataLoss(layer)) << layer;

  manifest["config"]["size"] = uint64_t{1} << 62;
  image_ = layout_.AddBlob(manifest.dump(), kOciManifestType);
  const absl::Status huge = Failure("", [](LyingAnswer*) {});
  EXPECT_TRUE(absl::IsInvalidArgument(huge)) << huge;
}

TEST_F(LyingPullTest, ALayerThatIsShorterThanTheManifestSaysEndsThePullAtOnce) {
  // The reader gets everything behind a tar's end only at the end.
  image_ = layout_.AddImage({Layer("low"), Layer("high") + std::string(size_t{1} << 18, '\0')});
  TestJson manifest = Manifest(image_);
  const size_t size = manifest["layers"][1]["size"];
  manifest["layers"][1]["size"] = size + 1000;
  image_ = layout_.AddBlob(manifest.dump(), kOciManifestType);
  Serve([](const std::string&, LyingAnswer*) {});
  const absl::Status status = Pull({.stall_timeout = absl::Seconds(20)}).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(Blob(1)),
                    HasSubstr(absl::StrCat("the registry gives ", size, " bytes, fewer than the ",
                                           size + 1000, " that the manifest says"))));
  ExpectNothingLeft();
}

TEST_F(LyingPullTest, MoreThanTheDiskHasRoomForIsRefusedBeforeItIsFetched) {
  const std::string layer = Blob(1);
  TestJson manifest = Manifest(image_);
  manifest["layers"][1]["size"] = uint64_t{1'000'000'000'000'000};
  image_ = layout_.AddBlob(manifest.dump(), kOciManifestType);
  const absl::Status status = Failure(layer, [](LyingAnswer* answer) {
    answer->body.assign(1 << 20, 'x');
    answer->endless = true;
  });
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("has room for"));
  EXPECT_EQ(registry_->Asked(layer), 0);
}

TEST_F(LyingPullTest, ADigestThatLeadsToAnotherManifest) {
  const TestJson other = layout_.AddImage({Layer("other")});
  const std::string content =
      layout_.files.at(TestLayout::PathOf(other["digest"].get<std::string>()));
  const std::string wanted = image_["digest"];
  Serve([&](const std::string& asked, LyingAnswer* answer) {
    if (asked == wanted) answer->body = content;
  });
  const auto image = service_->Pull(absl::StrCat(registry_->Name("lies"), "@", wanted),
                                    {.insecure_registry = true}, nullptr);
  EXPECT_TRUE(absl::IsDataLoss(image.status())) << image.status();
  ExpectNothingLeft();
}

TEST_F(LyingPullTest, AnswersThatAreNoManifest) {
  EXPECT_TRUE(
      absl::IsUnavailable(Failure("1", [](LyingAnswer* answer) { *answer = {.code = 503}; })));
  const absl::Status html = Failure("1", [](LyingAnswer* answer) {
    *answer = {.type = "text/html", .body = "<html>log in first</html>"};
  });
  EXPECT_FALSE(html.ok());
}

TEST_F(LyingPullTest, HttpThatNoRegistrySpeaksIsNoErrorOfOurs) {
  const struct {
    const char* says;
    std::function<void(const std::string& path, LyingAnswer*)> change;
  } cases[] = {
      {"stopped after 10 redirects",
       [](const std::string& path, LyingAnswer* answer) {
         *answer = {.code = 302, .headers = absl::StrCat("Location: ", path, "\r\n")};
       }},
      {"unsupported protocol scheme \"file\"",
       [](const std::string&, LyingAnswer* answer) {
         *answer = {.code = 302, .headers = "Location: file:///etc/passwd\r\n"};
       }},
      {"server response headers exceeded 10485760 bytes",
       [](const std::string&, LyingAnswer* answer) {
         const std::string value = absl::StrCat(": ", std::string(120, 'x'), "\r\n");
         for (int i = 0; i < 100'000; ++i) absl::StrAppend(&answer->headers, "X-", i, value);
       }},
      {"418", [](const std::string&, LyingAnswer* answer) { *answer = {.code = 418}; }},
  };
  const std::string layer = Blob(1);
  for (const auto& each : cases) {
    for (const auto& [wanted, path] : {std::pair<std::string, std::string>("1", "manifests/1"),
                                       {layer, absl::StrCat("blobs/", layer)}}) {
      SCOPED_TRACE(absl::StrCat(each.says, ", ", path));
      const absl::Status status = Failure(wanted, [&each, path = path](LyingAnswer* answer) {
        each.change(absl::StrCat("/v2/lies/", path), answer);
      });
      EXPECT_TRUE(absl::IsUnavailable(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(each.says));
    }
  }
}

TEST_F(LyingPullTest, ARegistryThatWantsToBeLeftAloneIs) {
  const auto answer_429 = [](const std::string& after) {
    return [after](LyingAnswer* answer) {
      *answer = {.code = 429, .headers = absl::StrCat("Retry-After: ", after, "\r\n")};
    };
  };
  const absl::Time begin = MonotonicNow();
  const absl::Status later = Failure("1", answer_429("100000"));
  EXPECT_TRUE(absl::IsUnavailable(later)) << later;
  EXPECT_THAT(
      std::string(later.message()),
      HasSubstr("answers 429 Too Many Requests, and wants to be asked again after 27h46m40s"));
  EXPECT_LT(MonotonicNow() - begin, absl::Seconds(45)) << "skopeo would ask four times";
  const absl::Status soon = Failure("1", answer_429("0"));
  EXPECT_TRUE(absl::IsUnavailable(soon)) << soon;
  EXPECT_THAT(std::string(soon.message()), HasSubstr("StatusCode: 429"));
}

TEST_F(LyingPullTest, AManifestAboveTheLimitNamesIt) {
  const absl::Status status =
      Failure("1", [](LyingAnswer* answer) { answer->body.append(size_t{4} << 20, ' '); });
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("size of 4194304 bytes, the limit for an image's manifest or config"));
}

TEST_F(LyingPullTest, OneThatHangsIsGivenUp) {
  Serve([](const std::string& asked, LyingAnswer* answer) {
    if (asked == "1") *answer = {.length = 100, .hangs = true};
  });
  const absl::Status status = Pull({.stall_timeout = absl::Seconds(1)}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("nothing has come from registry " + registry_->host()),
                    HasSubstr(" for 1s")));
  ExpectNothingLeft();
}

TEST_F(LyingPullTest, LayersAreUnpackedWhileOthersAreOnTheWay) {
  const std::string last = Blob(1);
  std::atomic<bool> seen = false;
  Serve([&](const std::string& asked, LyingAnswer*) {
    if (asked != last) return;
    const absl::Time deadline = absl::Now() + kLiePatience;
    while (LayersThere() == 0 && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(10));
    seen = LayersThere() == 1;
  });
  const auto image = Pull();
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_TRUE(seen) << "the first was unpacked before the second came";
}

TEST_F(LyingPullTest, KnownLayersAreNotAskedFor) {
  const TestJson next = layout_.AddImage({Layer("low"), Layer("new")}, {{"Cmd", {"/new"}}});
  Serve([](const std::string&, LyingAnswer*) {});
  ASSERT_TRUE(Pull().ok());
  const auto second =
      service_->Pull(absl::StrCat(registry_->Name("lies@"), next["digest"].get<std::string>()),
                     {.insecure_registry = true}, nullptr);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(registry_->Asked(Blob(0)), 1) << "both have it";
  EXPECT_EQ(registry_->Asked(Blob(1, next)), 1);
  const auto lease = service_->Lease(second->record.id);
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ(FsRoot::Open((*lease)->lower_directories()[1])->Read("low")->size(), 5000u);
}

// A registry that has an image's manifest and config, but none of its layers.
class BarePullTest : public LyingPullTest {
 protected:
  void SetUp() override {
    LyingPullTest::SetUp();
    if (IsSkipped()) return;
    Serve([](const std::string&, LyingAnswer*) {});
    ASSERT_TRUE(Pull().ok());
    Copy([this](const std::string& asked, LyingAnswer* answer) {
      if (asked == Blob(0) || asked == Blob(1)) *answer = {.code = 404};
    });
  }
  // Another registry with the same image.
  void Copy(LyingRegistry::Tamper tamper) { other_.emplace(layout_, image_, std::move(tamper)); }
  absl::StatusOr<Image> PullOther() {
    return service_->Pull(other_->Name("lies:1"), {.insecure_registry = true}, nullptr);
  }
  void ExpectOneImageWith(size_t tags) {
    ASSERT_THAT(service_->List(), SizeIs(1));
    EXPECT_THAT(service_->List()[0].record.repo_tags, SizeIs(tags));
    EXPECT_EQ(LayersThere(), 2u);
  }

  std::optional<LyingRegistry> other_;
};

TEST_F(BarePullTest, ARegistryWithoutTheLayersDoesNotGetThoseThatAreHere) {
  const absl::Status refused = PullOther().status();
  EXPECT_TRUE(absl::IsNotFound(refused)) << refused;
  ExpectOneImageWith(1);
}

TEST_F(BarePullTest, AnotherRepositoryOfTheSameRegistryShowsItsOwn) {
  const auto image =
      service_->Pull(registry_->Name("lies2:1"), {.insecure_registry = true}, nullptr);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(registry_->Asked(Blob(0)), 2) << "once for each repository";
  EXPECT_EQ(registry_->Asked(Blob(1)), 2);
  ExpectOneImageWith(2);
}

TEST_F(BarePullTest, NorDoesAnImageOfItsOwnThatClaimsThem) {
  const std::string stolen = Blob(0);
  image_ = layout_.AddImage({Layer("low"), Layer("top")});
  Copy([stolen](const std::string& asked, LyingAnswer* answer) {
    if (asked == stolen) *answer = {.code = 404};
  });
  const absl::Status refused = PullOther().status();
  EXPECT_TRUE(absl::IsNotFound(refused)) << refused;
  ExpectOneImageWith(1);
}

TEST_F(BarePullTest, BytesOfAnotherContentAreNoProof) {
  Copy([this](const std::string& asked, LyingAnswer* answer) {
    if (asked != Blob(1)) return;
    char& byte = answer->body[answer->body.size() / 2];
    byte = static_cast<char>(~byte);
  });
  const absl::Status refused = PullOther().status();
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  ExpectOneImageWith(1);
}

TEST_F(BarePullTest, WhoHasThemGetsTheName) {
  Copy([](const std::string&, LyingAnswer*) {});
  const auto image = PullOther();
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(other_->Asked(Blob(0)), 1);
  ExpectOneImageWith(2);
  ASSERT_TRUE(PullOther().ok());
  EXPECT_EQ(other_->Asked(Blob(0)), 1) << "it has shown them";
}

TEST_F(BarePullTest, AnAdministratorMayShareThem) {
  service_.reset();
  auto service = ImageService::Open(*dir_.root().Sub("store"), &catalog_,
                                    {.host = *FsRoot::Open("/"), .share_layers = true});
  ASSERT_TRUE(service.ok()) << service.status();
  service_ = *std::move(service);
  const auto image = PullOther();
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(other_->Asked(Blob(0)), 0);
  ExpectOneImageWith(2);
}

TEST_F(LyingPullTest, ALayerThatComesTwiceInAnImage) {
  image_ = layout_.AddImage({Layer("low"), Layer("high"), Layer("low")});
  Serve([](const std::string&, LyingAnswer*) {});
  const auto image = Pull();
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_THAT(image->record.chain_ids, SizeIs(3));
  // The same when only the lower of the two is known.
  ASSERT_TRUE(service_->Remove(image->record.id).ok());
  const TestJson base = layout_.AddImage({Layer("low")}, {{"Cmd", {"/base"}}});
  Serve([](const std::string&, LyingAnswer*) {});
  ASSERT_TRUE(service_
                  ->Pull(absl::StrCat(registry_->Name("lies@"), base["digest"].get<std::string>()),
                         {.insecure_registry = true}, nullptr)
                  .ok());
  const auto again = Pull();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->record.chain_ids, SizeIs(3));
}

TEST_F(LyingPullTest, AnIdentityTokenIsExchangedAtTheRegistry) {
  registry_.emplace(
      layout_, image_, [](const std::string&, LyingAnswer*) {}, "refresh-me");
  EXPECT_TRUE(absl::IsPermissionDenied(Pull().status())) << Pull().status();
  PullOptions options;
  options.credentials.identity_token = "wr0ng";
  const absl::Status wrong = Pull(options).status();
  EXPECT_TRUE(absl::IsPermissionDenied(wrong)) << wrong;
  EXPECT_THAT(std::string(wrong.message()), Not(HasSubstr("wr0ng")));
  ExpectNothingLeft();
  options.credentials.identity_token = "refresh-me";
  const auto image = Pull(options);
  EXPECT_TRUE(image.ok()) << image.status();
}

// Pulls that wait for a layer which the registry holds back until `let_`.
class HeldPullTest : public LyingPullTest {
 protected:
  void SetUp() override {
    LyingPullTest::SetUp();
    if (service_ == nullptr) return;
    Serve([this, held = Blob(1)](const std::string& asked, LyingAnswer*) {
      if (asked != held) return;
      absl::MutexLock lock(&mutex_);
      ++waiting_;
      mutex_.Await(absl::Condition(&let_));
    });
  }
  void TearDown() override {
    Let();
    registry_.reset();  // its threads use the members below
  }
  void Let() {
    absl::MutexLock lock(&mutex_);
    let_ = true;
  }
  // Waits until the registry holds back this many requests for the layer.
  bool AwaitWaiting(int count) {
    const auto enough = [this, count] { return waiting_ >= count; };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&enough), kLiePatience);
  }
  // Starts a pull in a thread of its own, which is under way on return.
  std::thread Start(PullOptions options, absl::StatusOr<Image>* result) {
    const auto joined = std::make_shared<absl::Notification>();
    std::thread thread([this, options, result, joined] {
      *result = Pull(options, [joined](const Progress&) {
        if (!joined->HasBeenNotified()) joined->Notify();
      });
    });
    EXPECT_TRUE(joined->WaitForNotificationWithTimeout(kLiePatience));
    return thread;
  }

  absl::Mutex mutex_;
  int waiting_ = 0;   // mutex_
  bool let_ = false;  // mutex_
};

TEST_F(HeldPullTest, TwoClientsShareOneTransfer) {
  absl::StatusOr<Image> first, second;
  std::thread one = Start({}, &first);
  EXPECT_TRUE(AwaitWaiting(1));
  std::thread two = Start({}, &second);
  Let();
  one.join();
  two.join();
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_EQ(first->record, second->record);
  EXPECT_EQ(registry_->Asked(Blob(1)), 1);
}

TEST_F(HeldPullTest, OneThatIsCancelledStopsNotTheOther) {
  std::atomic<bool> cancel = false;
  absl::StatusOr<Image> first, second;
  std::thread one = Start({.cancelled = [&cancel] { return cancel.load(); }}, &first);
  EXPECT_TRUE(AwaitWaiting(1));
  std::thread two = Start({}, &second);
  cancel = true;
  one.join();
  EXPECT_TRUE(absl::IsCancelled(first.status())) << first.status();
  Let();
  two.join();
  EXPECT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(registry_->Asked(Blob(1)), 1);
}

TEST_F(HeldPullTest, WhenAllAreGoneItStopsAndLeavesNothing) {
  std::atomic<bool> cancel = false;
  const PullOptions options{.cancelled = [&cancel] { return cancel.load(); }};
  absl::StatusOr<Image> first, second;
  std::thread one = Start(options, &first);
  EXPECT_TRUE(AwaitWaiting(1));
  std::thread two = Start(options, &second);
  cancel = true;
  one.join();
  two.join();
  EXPECT_TRUE(absl::IsCancelled(first.status())) << first.status();
  EXPECT_TRUE(absl::IsCancelled(second.status())) << second.status();
  ExpectNothingLeft();
}

TEST_F(HeldPullTest, ADeadlineStopsIt) {
  PullOptions options;
  options.timeout = absl::Milliseconds(300);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Pull(options).status()));
  ExpectNothingLeft();
}

TEST_F(HeldPullTest, OneThatWaitsForAnothersLayerCanBeCancelled) {
  absl::StatusOr<Image> first, second;
  std::thread one = Start({}, &first);
  EXPECT_TRUE(AwaitWaiting(1));
  // With other credentials it is a separate transfer, which finds the layer being unpacked.
  std::atomic<bool> cancel = false;
  PullOptions other{.cancelled = [&cancel] { return cancel.load(); }};
  other.credentials.username = "somebody";
  std::thread two = Start(other, &second);
  const std::string config = Manifest(image_)["config"]["digest"];
  const absl::Time deadline = absl::Now() + kLiePatience;
  while (registry_->Asked(config) < 2 && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(20));
  }
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_EQ(registry_->Asked(Blob(1)), 1) << "it waits for the other's";
  cancel = true;
  two.join();
  EXPECT_TRUE(absl::IsCancelled(second.status())) << second.status();
  Let();
  one.join();
  EXPECT_TRUE(first.ok()) << first.status();
}

}  // namespace
}  // namespace plimsoll::image
