#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/subprocess.h"
#include "base/test_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/image_service.h"
#include "image/test_catalog.h"
#include "image/test_image.h"
#include "image/test_registry.h"
#include "image/test_tar.h"
#include "image/transport_skopeo.h"

namespace plimsoll::image {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class PullTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!FindProgram("docker-registry").ok()) {
      GTEST_SKIP() << "no docker-registry here: apt-get install docker-registry";
    }
    ASSERT_TRUE(dir_.root().MakeDirs("store").ok());
    auto service = ImageService::Open(*dir_.root().Sub("store"), &catalog_);
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }
  Registry& Start(bool with_password = false) {
    registry_.emplace(dir_.root(), with_password);
    return *registry_;
  }
  // Puts the layout's image `name` into the registry.
  void Push(const TestLayout& layout, const std::string& target,
            const std::vector<std::string>& options = {}) {
    layout.WriteTo(dir_.root(), "layout");
    const absl::Status pushed = image::Push(dir_.root().PathOf("layout"), target, options);
    ASSERT_TRUE(pushed.ok()) << pushed;
  }
  static TestLayout Hello() {
    TestLayout layout;
    layout.List(layout.AddImage({TarBuilder().File("bin/hello", "hi").Build(),
                                 TarBuilder().File("etc/motd", "moored").Build()}),
                "v1");
    return layout;
  }
  absl::StatusOr<Image> Pull(const std::string& reference, const PullOptions& options = Insecure(),
                             const ProgressFn& progress = nullptr) {
    return service_->Pull(reference, options, progress);
  }
  static PullOptions Insecure() { return PullOptions{.insecure_registry = true}; }
  void ExpectNothingLeft() {
    EXPECT_THAT(service_->List(), IsEmpty());
    for (const char* part : {"store/layers", "store/work", "store/blobs/sha256"}) {
      EXPECT_THAT(*dir_.root().List(part), IsEmpty()) << part;
    }
  }

  TestDir dir_;
  TestCatalog catalog_;
  std::unique_ptr<ImageService> service_;
  std::optional<Registry> registry_;
};

TEST_F(PullTest, ByTag) {
  const std::string name = Start().Name("team/hello:v1");
  const TestLayout layout = Hello();
  Push(layout, name);
  std::vector<Progress> progress;
  const auto image =
      Pull(name, Insecure(), [&](const Progress& step) { progress.push_back(step); });
  ASSERT_TRUE(image.ok()) << image.status();
  const std::string digest = layout.index["manifests"][0]["digest"];
  EXPECT_THAT(image->record.repo_tags, ElementsAre(name));
  EXPECT_THAT(image->record.repo_digests,
              ElementsAre(absl::StrCat(registry_->Name("team/hello@"), digest)));
  EXPECT_EQ(image->record.manifest_digest, digest);
  EXPECT_THAT(image->config.command, ElementsAre("/bin/hello"));
  const auto lease = service_->Lease(image->record.id);
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ(*FsRoot::Open((*lease)->lower_directories()[0])->Read("etc/motd"), "moored");
  EXPECT_EQ(*FsRoot::Open((*lease)->lower_directories()[1])->Read("bin/hello"), "hi");
  EXPECT_THAT(*dir_.root().List("store/work"), IsEmpty());
  ASSERT_FALSE(progress.empty());
  EXPECT_THAT(progress.front().step, HasSubstr("resolving"));
  EXPECT_EQ(progress.back().step, "unpacking layer 2 of 2");
}

TEST_F(PullTest, AgainCopiesNothing) {
  const std::string name = Start().Name("hello:v1");
  Push(Hello(), name);
  ASSERT_TRUE(Pull(name).ok());
  std::vector<std::string> steps;
  const auto again =
      Pull(name, Insecure(), [&](const Progress& progress) { steps.push_back(progress.step); });
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(steps, ElementsAre(HasSubstr("resolving")));
  EXPECT_THAT(service_->List(), SizeIs(1));
}

TEST_F(PullTest, ByDigestOfAnIndex) {
  const std::string name = Start().Name("multi:v1");
  TestLayout layout;
  TestJson ours = layout.AddImage({TarBuilder().File("ours", "").Build()});
  ours["platform"] = {{"os", "linux"}, {"architecture", HostPlatform().architecture}};
  TestJson other = layout.AddImage({TarBuilder().File("other", "").Build()});
  other["platform"] = {{"os", "linux"}, {"architecture", "mips"}};
  const TestJson index = {{"schemaVersion", 2},
                          {"mediaType", kOciIndexType},
                          {"manifests", std::vector<TestJson>{other, ours}}};
  const TestJson top = layout.AddBlob(index.dump(), kOciIndexType);
  layout.List(top, "v1");
  Push(layout, name, {"--all"});
  const std::string by_digest = absl::StrCat(registry_->Name("multi@"), std::string(top["digest"]));
  const auto image = Pull(by_digest);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_THAT(image->record.repo_tags, IsEmpty());
  EXPECT_THAT(image->record.repo_digests, ElementsAre(by_digest));
  EXPECT_EQ(image->record.manifest_digest, ours["digest"]);
  EXPECT_EQ(service_->Find(by_digest)->record.id, image->record.id);
  ASSERT_TRUE(service_->Remove(by_digest).ok());
  ExpectNothingLeft();
}

TEST_F(PullTest, DockersOwnManifestKeepsItsDigest) {
  const std::string name = Start().Name("docker/style:1");
  Push(Hello(), name, {"--format", "v2s2"});
  const auto image = Pull(name);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_THAT(image->record.repo_digests,
              ElementsAre(HasSubstr(absl::StrCat("@", image->record.manifest_digest))));
  EXPECT_TRUE(Pull(image->record.repo_digests[0]).ok());
}

TEST_F(PullTest, WhatTheRegistryDoesNotHave) {
  const std::string name = Start().Name("hello:v1");
  Push(Hello(), name);
  for (const std::string& missing :
       {registry_->Name("hello:v2"), registry_->Name("nobody/nothing"),
        absl::StrCat(registry_->Name("hello@sha256:"), std::string(64, '0'))}) {
    const auto image = Pull(missing);
    EXPECT_TRUE(absl::IsNotFound(image.status())) << missing << ": " << image.status();
    EXPECT_THAT(std::string(image.status().message()), HasSubstr(missing));
  }
  ExpectNothingLeft();
}

TEST_F(PullTest, MalformedReferenceAsksNobody) {
  EXPECT_TRUE(absl::IsInvalidArgument(Pull("UPPER CASE").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Pull("--authfile=/etc/shadow").status()));
}

TEST_F(PullTest, UnreachableRegistry) {
  const auto image = Pull(absl::StrCat("127.0.0.1:", FreePort(), "/hello"));
  EXPECT_TRUE(absl::IsUnavailable(image.status())) << image.status();
  ExpectNothingLeft();
}

TEST_F(PullTest, PlainHttpOnlyWhereConfigured) {
  const std::string name = Start().Name("hello:v1");
  Push(Hello(), name);
  const auto image = Pull(name, PullOptions());
  EXPECT_TRUE(absl::IsUnavailable(image.status())) << image.status();
}

TEST_F(PullTest, CredentialsAreNeededAndKeptSecret) {
  const std::string name = Start(/*with_password=*/true).Name("private/hello:v1");
  Push(Hello(), name, {"--dest-creds", absl::StrCat(kUser, ":", kPassword)});
  EXPECT_TRUE(absl::IsPermissionDenied(Pull(name).status())) << Pull(name).status();

  PullOptions options = Insecure();
  options.credentials = {kUser, "wr0ng-pass", ""};
  const auto wrong = Pull(name, options);
  EXPECT_TRUE(absl::IsPermissionDenied(wrong.status())) << wrong.status();
  EXPECT_THAT(std::string(wrong.status().message()), Not(HasSubstr("wr0ng-pass")));
  ExpectNothingLeft();

  options.credentials = {kUser, kPassword, ""};
  bool saw_file = false;
  bool saw_process = false;
  options.cancelled = [&] {  // is asked while skopeo runs
    const FsRoot work = *dir_.root().Sub("store/work");
    const std::vector<std::string> entries = *work.List(".");
    for (const std::string& entry : entries) {
      const auto info = work.Stat(absl::StrCat(entry, "/auth.json"));
      if (!info.ok()) continue;
      saw_file = true;
      EXPECT_EQ(info->st_mode & 07777, 0600u);
    }
    const FsRoot proc = *FsRoot::Open("/proc");
    const std::vector<std::string> pids = *proc.List(".");
    for (const std::string& pid : pids) {
      int number = 0;
      if (!absl::SimpleAtoi(pid, &number)) continue;
      const std::string arguments = proc.Read(absl::StrCat(pid, "/cmdline")).value_or("");
      if (!absl::StrContains(arguments, work.path())) continue;
      saw_process = true;
      EXPECT_THAT(arguments, Not(HasSubstr(kPassword)));
      EXPECT_THAT(proc.Read(absl::StrCat(pid, "/environ")).value_or(""), Not(HasSubstr(kPassword)));
    }
    return false;
  };
  const auto image = Pull(name, options);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_TRUE(saw_file);
  EXPECT_TRUE(saw_process);
  EXPECT_THAT(*dir_.root().List("store/work"), IsEmpty());
}

TEST_F(PullTest, CancelledAndTooLate) {
  const std::string name = Start().Name("hello:v1");
  Push(Hello(), name);
  PullOptions options = Insecure();
  options.cancelled = [] { return true; };
  EXPECT_TRUE(absl::IsCancelled(Pull(name, options).status()));
  ExpectNothingLeft();
  options = Insecure();
  options.timeout = absl::ZeroDuration();
  EXPECT_TRUE(absl::IsDeadlineExceeded(Pull(name, options).status()));
  ExpectNothingLeft();
}

TEST_F(PullTest, HostileRegistryWithAChangedLayer) {
  const std::string name = Start().Name("hello:v1");
  const TestLayout layout = Hello();
  Push(layout, name);
  const FsRoot storage = *dir_.root().Sub("registry/docker/registry/v2/blobs/sha256");
  for (const auto& [path, content] : layout.files) {
    if (content.substr(0, 2) != "\x1f\x8b") continue;
    const std::string hex = path.substr(path.rfind('/') + 1);
    const std::string blob = absl::StrCat(hex.substr(0, 2), "/", hex, "/data");
    std::string changed = content;
    changed[changed.size() / 2] = static_cast<char>(~changed[changed.size() / 2]);
    ASSERT_TRUE(storage.ReplaceFile(blob, changed).ok());
  }
  const auto image = Pull(name);
  EXPECT_TRUE(absl::IsDataLoss(image.status())) << image.status();
  ExpectNothingLeft();
}

TEST(TranslateSkopeoError, CodesByTheRegistrysAnswer) {
  const auto code = [](absl::string_view text) {
    return TranslateSkopeoError(text, "x:latest", {}).code();
  };
  EXPECT_EQ(code("level=fatal msg=\"reading manifest v2 in h/x: manifest unknown\""),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(code("level=fatal msg=\"requested access to the resource is denied\""),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code("level=fatal msg=\"dial tcp: lookup nowhere: no such host\""),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(code("level=fatal msg=\"write /x: no space left on device\""),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code("something else"), absl::StatusCode::kInternal);
  EXPECT_EQ(code(""), absl::StatusCode::kInternal);
}

TEST(TranslateSkopeoError, LastFatalMessageUnquoted) {
  const absl::Status status = TranslateSkopeoError(
      "time=\"t\" level=warning msg=\"retrying\"\n"
      "time=\"t\" level=fatal msg=\"initializing source \\\"docker://x\\\": EOF\"\n",
      "x:latest", {});
  EXPECT_EQ(status.message(), "pull x:latest: initializing source \"docker://x\": EOF");
}

TEST(TranslateSkopeoError, SecretsAreCutOutHoweverTheyAreWritten) {
  const Credentials secrets = {"stoker", "pa\"ss", "tok3n"};
  const absl::Status status = TranslateSkopeoError(
      "level=fatal msg=\"https://stoker:pa\\\"ss@h/ Basic c3Rva2VyOnBhInNz Bearer tok3n pa\"ss\"",
      "x", secrets);
  EXPECT_THAT(std::string(status.message()),
              AllOf(Not(HasSubstr("pa\"ss")), Not(HasSubstr("tok3n")),
                    Not(HasSubstr("c3Rva2VyOnBhInNz")), HasSubstr("[redacted]")));
}

}  // namespace
}  // namespace plimsoll::image
