#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/catalog_for_test.h"
#include "image/image_for_test.h"
#include "image/image_service.h"
#include "image/names/digest.h"
#include "image/registry_for_test.h"
#include "image/tar_for_test.h"

namespace plimsoll::image {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
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
    auto service =
        ImageService::Open(*dir_.root().Sub("store"), &catalog_, {.host = *FsRoot::Open("/")});
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
  // Looks at a running pull: its credentials file, and its process, which must not show them.
  void Look(bool* saw_file, bool* saw_process) {
    const FsRoot work = *dir_.root().Sub("store/work");
    const std::vector<std::string> entries = *work.List(".");
    for (const std::string& entry : entries) {
      const auto info = work.Stat(absl::StrCat(entry, "/auth.json"));
      if (!info.ok()) continue;
      *saw_file = true;
      EXPECT_EQ(info->st_mode & 07777, 0600u);
    }
    const FsRoot proc = *FsRoot::Open("/proc");
    const std::vector<std::string> pids = *proc.List(".");
    for (const std::string& pid : pids) {
      int number = 0;
      if (!absl::SimpleAtoi(pid, &number)) continue;
      const std::string arguments = proc.Read(absl::StrCat(pid, "/cmdline")).value_or("");
      if (!absl::StrContains(arguments, work.path())) continue;
      *saw_process = true;
      EXPECT_THAT(arguments, Not(HasSubstr(kPassword)));
      EXPECT_THAT(proc.Read(absl::StrCat(pid, "/environ")).value_or(""), Not(HasSubstr(kPassword)));
    }
  }
  void OpenAnew(const ImageServiceOptions& options) {
    service_.reset();
    auto service = ImageService::Open(*dir_.root().Sub("store"), &catalog_, options);
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }
  // Uses this text as registries.conf.
  void Configure(const std::string& registries_conf) {
    ASSERT_TRUE(dir_.root().ReplaceFile("registries.conf", registries_conf).ok());
    OpenAnew(
        {.host = *FsRoot::Open("/"), .registries_conf = dir_.root().PathOf("registries.conf")});
  }
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

TEST_F(PullTest, EachIsToldOfWithWhatItBrought) {
  int begun = 0;
  std::vector<FinishedPull> ended;
  OpenAnew({.host = *FsRoot::Open("/"),
            .on_pull_start = [&] { ++begun; },
            .on_pull_end = [&](const FinishedPull& pull) { ended.push_back(pull); }});
  const std::string name = Start().Name("hello:v1");
  const TestLayout layout = Hello();
  Push(layout, name);
  EXPECT_FALSE(Pull(registry_->Name("hello:none")).ok());
  EXPECT_FALSE(Pull("No Reference").ok());
  ASSERT_TRUE(Pull(name).ok());
  ASSERT_TRUE(Pull(name).ok());
  EXPECT_EQ(begun, 3) << "what is no reference is no pull";
  ASSERT_THAT(ended, SizeIs(3));
  EXPECT_EQ(ended[0].status.code(), absl::StatusCode::kNotFound) << ended[0].status;
  EXPECT_EQ(ended[0].bytes, 0u);
  EXPECT_TRUE(ended[1].status.ok());
  const std::string manifest_digest = layout.index["manifests"][0]["digest"];
  const TestJson manifest = TestJson::parse(layout.files.at(TestLayout::PathOf(manifest_digest)));
  uint64_t bytes = manifest["config"]["size"];
  for (const TestJson& layer : manifest["layers"]) bytes += layer["size"].get<uint64_t>();
  EXPECT_EQ(ended[1].bytes, bytes);
  EXPECT_GT(ended[1].duration, absl::ZeroDuration());
  EXPECT_TRUE(ended[2].status.ok());
  EXPECT_EQ(ended[2].bytes, 0u) << "it was there already";
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
  EXPECT_EQ(image->record.manifest_digest, ours["digest"].get<std::string>());
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

TEST_F(PullTest, LoopbackRegistriesMaySpeakPlainHttp) {
  const std::string name = Start().Name("hello:v1");
  Push(Hello(), name);
  for (const std::string& same :
       {name, absl::StrCat("localhost:", registry_->port(), "/hello:v1")}) {
    const auto image = Pull(same, PullOptions());
    EXPECT_TRUE(image.ok()) << image.status();
  }
}

TEST_F(PullTest, CredentialsGoOverPlainHttpOnlyWhereConfigured) {
  const std::string name = Start(/*with_password=*/true).Name("hello:v1");
  Push(Hello(), name, {"--dest-creds", absl::StrCat(kUser, ":", kPassword)});
  PullOptions options;
  options.credentials = {kUser, kPassword, ""};
  const auto image = Pull(name, options);
  EXPECT_TRUE(absl::IsUnavailable(image.status())) << image.status();
  EXPECT_THAT(image.status().message(), HasSubstr("registries.insecure"));
  const auto anonymous = Pull(name, PullOptions());
  EXPECT_TRUE(absl::IsPermissionDenied(anonymous.status())) << anonymous.status();
  EXPECT_THAT(anonymous.status().message(), HasSubstr("registries.insecure"));
  options.insecure_registry = true;
  EXPECT_TRUE(Pull(name, options).ok());
}

// The permission goes by the name that was asked for, wherever it leads.
TEST_F(PullTest, OtherRegistriesNeverSpeakPlainHttp) {
  const std::string name = Start().Name("hello:v1");
  Push(Hello(), name);
  Configure(
      absl::StrCat("[[registry]]\nprefix = 'other.test'\nlocation = '", registry_->host(), "'\n"));
  const auto image = Pull("other.test/hello:v1", PullOptions());
  EXPECT_TRUE(absl::IsUnavailable(image.status())) << image.status();
  EXPECT_THAT(image.status().message(), HasSubstr("server gave HTTP response to HTTPS client"));
}

// skopeo has the authorities to trust from the daemon's environment or the machine.
TEST_F(PullTest, OverTlsFromWhomItsAuthorityIsTrusted) {
  if (!FindProgram("openssl").ok()) GTEST_SKIP() << "no openssl here: apt-get install openssl";
  const absl::Status made = MakeCertificates(dir_.root());
  ASSERT_TRUE(made.ok()) << made;
  registry_.emplace(dir_.root(), /*with_password=*/true, /*with_tls=*/true);
  const std::string name = registry_->Name("private/hello:v1");
  Push(Hello(), name, {"--dest-creds", absl::StrCat(kUser, ":", kPassword)});
  PullOptions options;
  options.credentials = {kUser, kPassword, ""};

  const absl::Status unknown = Pull(name, options).status();
  EXPECT_TRUE(absl::IsUnavailable(unknown)) << unknown;
  EXPECT_THAT(std::string(unknown.message()),
              AllOf(HasSubstr("x509"), HasSubstr("add its authority to this machine's trusted")));
  ExpectNothingLeft();

  ASSERT_EQ(setenv("SSL_CERT_FILE", dir_.root().PathOf("ca.crt").c_str(), 1), 0);
  const absl::Cleanup forget = [] { unsetenv("SSL_CERT_FILE"); };
  const std::string other = absl::StrCat("localhost:", registry_->port(), "/private/hello:v1");
  const absl::Status misnamed = Pull(other, options).status();
  EXPECT_TRUE(absl::IsUnavailable(misnamed)) << misnamed;
  EXPECT_TRUE(absl::IsPermissionDenied(Pull(name, PullOptions()).status()))
      << "trust opens nothing that a password keeps";
  ExpectNothingLeft();
  const auto image = Pull(name, options);
  EXPECT_TRUE(image.ok()) << image.status();
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

  // While the registry is silent there is time to look.
  options.credentials = {kUser, kPassword, ""};
  registry_->Hang();
  absl::StatusOr<Image> image;
  std::thread pull([&] { image = Pull(name, options); });
  bool saw_file = false;
  bool saw_process = false;
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (!(saw_file && saw_process) && absl::Now() < deadline) {
    Look(&saw_file, &saw_process);
    absl::SleepFor(absl::Milliseconds(10));
  }
  registry_->GoOn();
  pull.join();
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_TRUE(saw_file);
  EXPECT_TRUE(saw_process);
  EXPECT_THAT(*dir_.root().List("store/work"), IsEmpty());
}

TEST_F(PullTest, LayersInZstdAndUncompressed) {
  const std::string name = Start().Name("mixed:v1");
  TestLayout layout;
  const std::string low = TarBuilder().File("low", "z").Build();
  const std::string high = TarBuilder().File("high", "plain").Build();
  const TestJson config = {
      {"os", "linux"},
      {"architecture", HostPlatform().architecture},
      {"rootfs", {{"type", "layers"}, {"diff_ids", {DigestOf(low), DigestOf(high)}}}}};
  layout.List(layout.AddManifest(config.dump(),
                                 {layout.AddBlob(Compress(low, "zstd"),
                                                 "application/vnd.oci.image.layer.v1.tar+zstd"),
                                  layout.AddBlob(high, "application/vnd.oci.image.layer.v1.tar")}),
              "v1");
  layout.WriteTo(dir_.root(), "layout");
  // skopeo copies a layout unchanged only if it may not compress uncompressed layers.
  const absl::Status pushed =
      image::Push(dir_.root().PathOf("layout"), name, {"--preserve-digests"});
  ASSERT_TRUE(pushed.ok()) << pushed;
  const auto image = Pull(name);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->record.manifest_digest,
            layout.index["manifests"][0]["digest"].get<std::string>());
  const auto lease = service_->Lease(image->record.id);
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ(*FsRoot::Open((*lease)->lower_directories()[0])->Read("high"), "plain");
  EXPECT_EQ(*FsRoot::Open((*lease)->lower_directories()[1])->Read("low"), "z");
}

TEST_F(PullTest, OneImageUnderSeveralTagsAndRepositories) {
  Start();
  const TestLayout layout = Hello();
  const std::vector<std::string> names = {
      registry_->Name("a/hello:1"), registry_->Name("a/hello:2"), registry_->Name("b/hello:1")};
  std::string id;
  for (const std::string& name : names) {
    Push(layout, name);
    const auto image = Pull(name);
    ASSERT_TRUE(image.ok()) << image.status();
    if (id.empty()) id = image->record.id;
    EXPECT_EQ(image->record.id, id) << name;
  }
  const std::string digest = layout.index["manifests"][0]["digest"];
  const std::string in_a = registry_->Name("a/hello@") + digest;
  const std::string in_b = registry_->Name("b/hello@") + digest;
  ASSERT_THAT(service_->List(), SizeIs(1));
  const ImageRecord record = service_->List()[0].record;
  EXPECT_THAT(record.repo_tags, ElementsAre(names[0], names[1], names[2]));
  EXPECT_THAT(record.repo_digests, ElementsAre(in_a, in_b));
  for (const std::string& reference : {names[0], names[1], names[2], in_a, in_b, id}) {
    const auto found = service_->Find(reference);
    ASSERT_TRUE(found.ok()) << reference << found.status();
    EXPECT_EQ(found->record, record) << reference;
  }
  EXPECT_EQ(RepoDigestFor(record, names[2]), in_b);
  EXPECT_EQ(RepoDigestFor(record, in_b), in_b);
  EXPECT_EQ(RepoDigestFor(record, id), in_a);
  // Name by name; a repository's digest goes with its last tag.
  ASSERT_TRUE(service_->Remove(names[0]).ok());
  EXPECT_THAT(service_->Find(id)->record.repo_digests, ElementsAre(in_a, in_b));
  ASSERT_TRUE(service_->Remove(names[1]).ok());
  EXPECT_THAT(service_->Find(id)->record.repo_digests, ElementsAre(in_b));
  ASSERT_TRUE(service_->Remove(id.substr(7, 12)).ok()) << "by the beginning of its id";
  ExpectNothingLeft();
}

TEST_F(PullTest, RegistriesConfLeadsToMirrorsAndLocations) {
  const std::string name = Start().Name("team/hello:v1");
  const TestLayout layout = Hello();
  Push(layout, name);
  Configure(absl::StrCat(
      "[[registry]]\nprefix = 'moved.test/here'\nlocation = '", registry_->Name("team"),
      "'\ninsecure = true\n", "[[registry]]\nlocation = 'mirrored.test'\n",
      "[[registry.mirror]]\nlocation = '", registry_->host(), "'\ninsecure = true\n"));
  for (const char* reference : {"moved.test/here/hello:v1", "mirrored.test/team/hello:v1"}) {
    const auto image = Pull(reference, PullOptions());
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_THAT(image->record.repo_tags, Contains(reference)) << "the name that was asked for";
  }
  EXPECT_THAT(service_->List(), SizeIs(1));
}

TEST_F(PullTest, RegistriesConfBlocks) {
  Start();
  Configure("[[registry]]\nlocation = 'blocked.test'\nblocked = true\n");
  const auto image = Pull("blocked.test/a", PullOptions());
  EXPECT_TRUE(absl::IsPermissionDenied(image.status())) << image.status();
  EXPECT_THAT(std::string(image.status().message()),
              AllOf(HasSubstr("pull blocked.test/a:latest: "), HasSubstr("is blocked in"),
                    HasSubstr("registries.conf")));
  ExpectNothingLeft();
}

TEST_F(PullTest, ShortNamesAreLookedForWhereRegistriesConfSays) {
  const std::string name = Start().Name("plimsoll-test/hello:v1");
  Push(Hello(), name);
  const std::string registry =
      absl::StrCat("[[registry]]\nlocation = '", registry_->host(), "'\ninsecure = true\n");
  Configure(absl::StrCat("unqualified-search-registries = ['127.0.0.1:", FreePort(), "', '",
                         registry_->host(), "']\n", registry));
  const auto found = Pull("plimsoll-test/hello:v1", PullOptions());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->record.repo_tags, ElementsAre(name));
  EXPECT_EQ(service_->Find("plimsoll-test/hello:v1")->record.id, found->record.id);
  const auto nowhere = Pull("plimsoll-test/none:v1", PullOptions());
  EXPECT_TRUE(absl::IsUnavailable(nowhere.status())) << nowhere.status();
  EXPECT_THAT(std::string(nowhere.status().message()),
              AllOf(HasSubstr("none of 2 registries"), HasSubstr("connection refused"),
                    HasSubstr("manifest unknown")));
  ASSERT_TRUE(service_->Remove("plimsoll-test/hello:v1").ok());
  ExpectNothingLeft();

  Configure(absl::StrCat("[aliases]\n'plimsoll-test-alias' = '",
                         registry_->Name("plimsoll-test/hello"), "'\n", registry));
  const auto alias = Pull("plimsoll-test-alias:v1", PullOptions());
  ASSERT_TRUE(alias.ok()) << alias.status();
  EXPECT_THAT(alias->record.repo_tags, ElementsAre(name));
}

TEST_F(PullTest, ABrokenRegistriesConfSaysWhere) {
  const std::string name = Start().Name("hello:v1");
  Configure("unqualified-search-registries = \n");
  for (const std::string& reference : {std::string("hello"), name}) {
    const auto image = Pull(reference);
    EXPECT_TRUE(absl::IsFailedPrecondition(image.status())) << image.status();
    EXPECT_THAT(std::string(image.status().message()), HasSubstr("registries.conf"));
  }
  ExpectNothingLeft();
}

TEST_F(PullTest, CredentialsGoOnlyWhereTheyBelong) {
  const std::string name = Start(/*with_password=*/true).Name("plimsoll-test/hello:v1");
  Push(Hello(), name, {"--dest-creds", absl::StrCat(kUser, ":", kPassword)});
  Configure(absl::StrCat("unqualified-search-registries = ['", registry_->host(), "']\n"));
  PullOptions options = Insecure();
  options.credentials = {kUser, kPassword, ""};
  options.credentials.registry = "other.test";
  EXPECT_TRUE(absl::IsPermissionDenied(Pull("plimsoll-test/hello:v1", options).status()));
  options.credentials.registry = registry_->host();
  const auto image = Pull("plimsoll-test/hello:v1", options);
  EXPECT_TRUE(image.ok()) << image.status();
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

}  // namespace
}  // namespace plimsoll::image
