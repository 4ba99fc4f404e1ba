#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/catalog_for_test.h"
#include "image/image_for_test.h"
#include "image/image_service.h"
#include "image/names/digest.h"
#include "image/tar_for_test.h"

namespace plimsoll::image {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ImportTest : public ::testing::Test {
 protected:
  ImportTest() {
    EXPECT_TRUE(dir_.root().MakeDirs("store").ok());
    auto service =
        ImageService::Open(*dir_.root().Sub("store"), &catalog_, {.host = *FsRoot::Open("/")});
    EXPECT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }

  std::string Put(const std::string& name, const std::string& content) {
    EXPECT_TRUE(dir_.root().ReplaceFile(name, content).ok());
    return dir_.root().PathOf(name);
  }
  std::string Put(const std::string& name, const TestLayout& layout) {
    layout.WriteTo(dir_.root(), name);
    return dir_.root().PathOf(name);
  }
  Image MustImport(const std::string& path, absl::string_view reference = "") {
    const auto image = service_->Import(path, reference, nullptr);
    EXPECT_TRUE(image.ok()) << image.status();
    return image.value_or(Image());
  }
  // The error; fails the test without one, or when something stays in the store.
  std::string Refused(const std::string& path, absl::string_view reference = "x") {
    const auto image = service_->Import(path, reference, nullptr);
    EXPECT_FALSE(image.ok());
    EXPECT_THAT(service_->List(), IsEmpty());
    for (const char* part : {"store/layers", "store/work", "store/blobs/sha256"}) {
      EXPECT_THAT(*dir_.root().List(part), IsEmpty()) << part;
    }
    EXPECT_THAT(*catalog_.LoadImages(), IsEmpty());
    return image.status().ToString();
  }
  // A file of an image, searched from the top layer down.
  std::string ReadFrom(const Image& image, const std::string& path) {
    const auto lease = service_->Lease(image.record.id);
    if (!lease.ok()) return std::string(lease.status().message());
    for (const std::string& directory : (*lease)->lower_directories()) {
      const auto text = FsRoot::Open(directory)->Read(path);
      if (text.ok()) return *text;
    }
    return "(none)";
  }
  static std::string HelloTar() { return TarBuilder().File("bin/hello", "hi").Build(); }
  // A docker-archive with these layers, uncompressed.
  static std::string SavedByDocker(const std::vector<std::string>& layers) {
    TarBuilder tar;
    TestJson diff_ids = TestJson::array();
    TestJson names = TestJson::array();
    for (const std::string& layer : layers) {
      names.push_back(absl::StrCat(names.size(), ".tar"));
      diff_ids.push_back(DigestOf(layer));
      tar.File(names.back().get<std::string>(), layer);
    }
    const TestJson config = {{"os", "linux"}, {"rootfs", {{"diff_ids", diff_ids}}}};
    const TestJson manifest = {{{"Config", "c.json"}, {"Layers", names}}};
    return tar.File("c.json", config.dump()).File("manifest.json", manifest.dump()).Build();
  }
  static TestLayout Hello() {
    TestLayout layout;
    layout.List(layout.AddImage({HelloTar()}));
    return layout;
  }

  TestDir dir_;
  TestCatalog catalog_;
  std::unique_ptr<ImageService> service_;
};

TEST_F(ImportTest, OciLayoutDirectory) {
  TestLayout layout;
  layout.List(layout.AddImage({HelloTar(), TarBuilder().File("bin/hello", "hi again").Build()},
                              {{"Entrypoint", {"/bin/hello"}},
                               {"Cmd", nullptr},
                               {"Env", {"A=1"}},
                               {"User", "app:disk"},
                               {"WorkingDir", "/srv"},
                               {"StopSignal", "SIGINT"},
                               {"Volumes", {{"/data", TestJson::object()}}},
                               {"Labels", {{"k", "v"}}}}));
  const Image image = MustImport(Put("layout", layout), "hello");
  EXPECT_THAT(image.record.repo_tags, ElementsAre("docker.io/library/hello:latest"));
  EXPECT_EQ(image.record.manifest_digest,
            layout.index["manifests"][0]["digest"].get<std::string>());
  EXPECT_EQ(image.record.chain_ids.size(), 2u);
  EXPECT_EQ(image.record.size_bytes, 10u);
  EXPECT_THAT(image.config.entrypoint, ElementsAre("/bin/hello"));
  EXPECT_THAT(image.config.command, IsEmpty());
  EXPECT_THAT(image.config.environment, ElementsAre("A=1"));
  EXPECT_EQ(image.config.user, "app:disk");
  EXPECT_EQ(image.config.working_directory, "/srv");
  EXPECT_EQ(image.config.stop_signal, "SIGINT");
  EXPECT_THAT(image.config.volumes, ElementsAre("/data"));
  EXPECT_EQ(image.config.labels.at("k"), "v");
  EXPECT_EQ(ReadFrom(image, "bin/hello"), "hi again");
  EXPECT_THAT(*dir_.root().List("store/work"), IsEmpty());
}

TEST_F(ImportTest, LayersOfNoBytes) {
  TestLayout layout;
  layout.List(layout.AddImage({HelloTar(), ""}));  // in gzip
  EXPECT_EQ(ReadFrom(MustImport(Put("layout", layout), "a"), "bin/hello"), "hi");
  const Image plain = MustImport(Put("a.tar", SavedByDocker({HelloTar(), ""})), "b");
  EXPECT_EQ(ReadFrom(plain, "bin/hello"), "hi");
}

TEST_F(ImportTest, ImagesWithoutLayers) {
  TestLayout layout;
  layout.List(layout.AddImage({}));
  const Image image = MustImport(Put("layout", layout), "a");
  EXPECT_EQ(image.record.size_bytes, 0u);
  const auto lease = service_->Lease(image.record.id);
  ASSERT_TRUE(lease.ok()) << lease.status();
  ASSERT_EQ((*lease)->lower_directories().size(), 1u);
  EXPECT_THAT(*FsRoot::Open((*lease)->lower_directories()[0])->List("."), IsEmpty());
  MustImport(Put("a.tar", SavedByDocker({})), "b");
}

TEST_F(ImportTest, ArtifactsWithoutLayersAreNoImages) {
  TestLayout layout;
  const TestJson manifest = {{"schemaVersion", 2},
                             {"config", layout.AddBlob("{}", "application/vnd.oci.empty.v1+json")},
                             {"layers", TestJson::array()}};
  layout.List(layout.AddBlob(manifest.dump(), kOciManifestType));
  EXPECT_THAT(Refused(Put("layout", layout)), HasSubstr("vnd.oci.empty.v1+json"));
}

TEST_F(ImportTest, Sha512IsSaidToBeUnsupported) {
  const std::string digest = absl::StrCat("sha512:", std::string(128, 'a'));
  TestLayout of_manifest;
  of_manifest.List({{"mediaType", kOciManifestType}, {"digest", digest}, {"size", 2}});
  EXPECT_THAT(Refused(Put("of-manifest", of_manifest)), HasSubstr("sha512 is not supported"));
  TestLayout of_layer;
  of_layer.List(of_layer.AddManifest(
      "{}", {{{"mediaType", kOciLayerType}, {"digest", digest}, {"size", 2}}}));
  EXPECT_THAT(Refused(Put("of-layer", of_layer)), HasSubstr("sha512 is not supported"));
  TestLayout of_config;
  const TestJson file = {{"os", "linux"}, {"rootfs", {{"diff_ids", {digest}}}}};
  of_config.List(of_config.AddManifest(
      file.dump(), {of_config.AddBlob(Compress(HelloTar(), "gzip"), kOciLayerType)}));
  EXPECT_THAT(Refused(Put("of-config", of_config)), HasSubstr("sha512 is not supported"));
  EXPECT_THAT(Refused(Put("hello.tar", HelloTar()), absl::StrCat("a@", digest)),
              HasSubstr("sha512 digests are not supported"));
}

TEST_F(ImportTest, OciLayoutTarCompressedOrNot) {
  const std::string tar = Hello().Tar();
  const Image plain = MustImport(Put("a.tar", tar), "a");
  const Image gzip = MustImport(Put("a.tgz", Compress(tar, "gzip")), "b");
  EXPECT_EQ(plain.record.id, gzip.record.id);
  EXPECT_THAT(gzip.record.repo_tags,
              ElementsAre("docker.io/library/a:latest", "docker.io/library/b:latest"));
}

TEST_F(ImportTest, LayoutsOwnNameIsTakenWithoutAReference) {
  TestLayout layout;
  layout.List(layout.AddImage({HelloTar()}), "quay.io/team/hello:2");
  EXPECT_THAT(MustImport(Put("layout", layout)).record.repo_tags,
              ElementsAre("quay.io/team/hello:2"));
}

TEST_F(ImportTest, BareTagInALayoutIsNoName) {
  TestLayout layout;
  layout.List(layout.AddImage({HelloTar()}), "latest");
  const Image image = MustImport(Put("layout", layout));
  EXPECT_THAT(image.record.repo_tags, IsEmpty());
  EXPECT_TRUE(service_->Find(image.record.id).ok());
}

TEST_F(ImportTest, SeveralImagesAreChosenByName) {
  TestLayout layout;
  layout.List(layout.AddImage({HelloTar()}), "one");
  layout.List(layout.AddImage({TarBuilder().File("two", "2").Build()}), "two");
  const std::string path = Put("layout", layout);
  EXPECT_THAT(Refused(path, "registry.local/x:three"), HasSubstr("name one of: one, two"));
  EXPECT_EQ(ReadFrom(MustImport(path, "registry.local/x:two"), "two"), "2");
}

TEST_F(ImportTest, NestedIndexAndPlatforms) {
  TestLayout layout;
  TestJson ours = layout.AddImage({HelloTar()});
  ours["platform"] = {{"os", "linux"}, {"architecture", HostPlatform().architecture}};
  TestJson other = layout.AddImage({TarBuilder().File("other", "").Build()});
  other["platform"] = {{"os", "linux"}, {"architecture", "mips"}, {"variant", "r2"}};
  TestJson attestation = other;
  attestation["platform"] = {{"os", "unknown"}, {"architecture", "unknown"}};
  const TestJson inner = {{"schemaVersion", 2}, {"manifests", {attestation, other, ours}}};
  layout.List(layout.AddBlob(inner.dump(), kOciIndexType), "a/b:1");
  EXPECT_EQ(ReadFrom(MustImport(Put("layout", layout)), "bin/hello"), "hi");
}

TEST_F(ImportTest, NoFittingPlatformListsThoseThereAre) {
  TestLayout layout;
  TestJson other = layout.AddImage({HelloTar()});
  other["platform"] = {{"os", "linux"}, {"architecture", "mips"}, {"variant", "r2"}};
  layout.List(other);
  other["platform"] = {{"os", "windows"}, {"architecture", HostPlatform().architecture}};
  layout.List(other);
  const std::string error = Refused(Put("layout", layout));
  EXPECT_THAT(error, HasSubstr("linux/mips/r2, windows/"));
  EXPECT_THAT(error, HasSubstr("NOT_FOUND"));
}

TEST_F(ImportTest, DockerArchive) {
  const std::string base = HelloTar();
  const std::string top = TarBuilder().File("etc/motd", "moored").Build();
  const TestJson config = {{"os", "linux"},
                           {"architecture", HostPlatform().architecture},
                           {"config", {{"Cmd", {"sh"}}}},
                           {"rootfs", {{"diff_ids", {DigestOf(base), DigestOf(top)}}}}};
  const TestJson manifest = {{{"Config", "c.json"},
                              {"RepoTags", {"hello:1", "hello:2"}},
                              {"Layers", {"1/layer.tar", "2/layer.tar"}}}};
  // Format of old versions: a layer used twice is a link to the first.
  const std::string tar = TarBuilder()
                              .File("0/layer.tar", base)
                              .Symlink("1/layer.tar", "../0/layer.tar")
                              .File("2/layer.tar", top)
                              .File("c.json", config.dump())
                              .File("manifest.json", manifest.dump())
                              .Build();
  const Image image = MustImport(Put("saved.tar", tar));
  EXPECT_THAT(image.record.repo_tags,
              ElementsAre("docker.io/library/hello:1", "docker.io/library/hello:2"));
  EXPECT_EQ(image.record.manifest_digest, "");
  EXPECT_EQ(ReadFrom(image, "bin/hello"), "hi");
  EXPECT_EQ(ReadFrom(image, "etc/motd"), "moored");
}

TEST_F(ImportTest, PlainRootfsDirectory) {
  ASSERT_TRUE(dir_.root().MakeDirs("rootfs/bin", 0755).ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("rootfs/bin/hello", "hi", 0755).ok());
  const Image image = MustImport(dir_.root().PathOf("rootfs"), "registry.local/plain:1");
  EXPECT_EQ(ReadFrom(image, "bin/hello"), "hi");
  EXPECT_EQ(image.config.architecture, HostPlatform().architecture);
  EXPECT_THAT(image.config.command, IsEmpty());
  EXPECT_EQ(image.record.manifest_digest, "");
  const Image again = MustImport(dir_.root().PathOf("rootfs"), "registry.local/plain:1");
  EXPECT_EQ(again.record.id, image.record.id) << "the same tree is the same image";
}

TEST_F(ImportTest, PlainRootfsTarCompressedOrNot) {
  const std::string tar = HelloTar();
  const Image plain = MustImport(Put("r.tar", tar), "r");
  const Image zstd = MustImport(Put("r.tar.zst", Compress(tar, "zstd")), "r");
  EXPECT_EQ(plain.record.id, zstd.record.id);
  EXPECT_THAT(plain.record.chain_ids, ElementsAre(DigestOf(tar)));
  EXPECT_EQ(ReadFrom(zstd, "bin/hello"), "hi");
}

TEST_F(ImportTest, WhatIsNoImage) {
  EXPECT_THAT(Refused(dir_.root().PathOf("missing")), HasSubstr("NOT_FOUND"));
  EXPECT_THAT(Refused("/dev/null"), HasSubstr("neither a directory nor a file"));
  EXPECT_THAT(Refused(Put("empty", "")), HasSubstr("has no files"));
  EXPECT_THAT(Refused(Put("text", std::string(2000, 't'))),
              HasSubstr("/text is no archive; an image is a tar"));
  EXPECT_THAT(Refused(Put("nothing.tar", TarBuilder().Build())), HasSubstr("has no files"));
  ASSERT_TRUE(dir_.root().MakeDirs("bare").ok());
  EXPECT_THAT(Refused(dir_.root().PathOf("bare")), HasSubstr("has no files"));
  EXPECT_THAT(Refused(Put("ok.tar", HelloTar()), "Bad Name"), HasSubstr("malformed"));
  EXPECT_THAT(Refused(Put("ok.tar", HelloTar()), absl::StrCat("a@", DigestOf("x"))),
              HasSubstr("use name:tag"));
}

// Hostile archives, one test each. All are refused and leave nothing in the store.

TEST_F(ImportTest, HostileLayerDigestMismatch) {
  TestLayout layout = Hello();
  const TestJson manifest = TestJson::parse(
      layout.files[TestLayout::PathOf(std::string(layout.index["manifests"][0]["digest"]))]);
  const std::string layer = manifest["layers"][0]["digest"];
  layout.files[TestLayout::PathOf(layer)][9] = 7;  // gzip's byte for the system: no effect
  const std::string error = Refused(Put("layout", layout));
  EXPECT_THAT(error, HasSubstr("DATA_LOSS"));
  EXPECT_THAT(error, HasSubstr(absl::StrCat("layer 1 of 1 (", layer, "): digest mismatch")));
}

TEST_F(ImportTest, HostileDiffIdMismatch) {
  TestLayout layout;
  const TestJson layer = layout.AddBlob(Compress(HelloTar(), "gzip"), kOciLayerType);
  const TestJson config = {{"os", "linux"}, {"rootfs", {{"diff_ids", {DigestOf("another")}}}}};
  layout.List(layout.AddManifest(config.dump(), {layer}));
  EXPECT_THAT(Refused(Put("layout", layout)), HasSubstr("diff_id mismatch"));
}

TEST_F(ImportTest, HostileClaimOfALayerThatIsHere) {
  TestLayout layout = Hello();
  MustImport(Put("first", layout), "first");
  const TestJson manifest = TestJson::parse(
      layout.files[TestLayout::PathOf(std::string(layout.index["manifests"][0]["digest"]))]);
  layout.files.erase(TestLayout::PathOf(std::string(manifest["layers"][0]["digest"])));
  EXPECT_THAT(service_->Import(Put("claims", layout), "claims", nullptr).status().message(),
              HasSubstr("the layer is missing"));
  TestLayout other;
  const TestJson layer = other.AddBlob(TarBuilder().File("other", "x").Build(), kOciLayerType);
  const TestJson config = {{"os", "linux"}, {"rootfs", {{"diff_ids", {DigestOf(HelloTar())}}}}};
  other.List(other.AddManifest(config.dump(), {layer}));
  EXPECT_THAT(service_->Import(Put("lies", other), "lies", nullptr).status().message(),
              HasSubstr("diff_id mismatch"));
}

TEST_F(ImportTest, HostileSecondLayerLeavesNoFirst) {
  TestLayout layout;
  layout.List(layout.AddImage({HelloTar(), TarBuilder().File("../../escape", "x").Build()}));
  const std::string error = Refused(Put("layout", layout));
  EXPECT_THAT(error, HasSubstr("layer 2 of 2 (sha256:"));
  EXPECT_THAT(error, HasSubstr("entry \"../../escape\""));
}

TEST_F(ImportTest, HostileTruncatedLayer) {
  TestLayout layout;
  const std::string tar = HelloTar();
  const std::string gzip = Compress(tar, "gzip");
  const TestJson layer = layout.AddBlob(gzip.substr(0, gzip.size() - 9), kOciLayerType);
  const TestJson config = {{"os", "linux"}, {"rootfs", {{"diff_ids", {DigestOf(tar)}}}}};
  layout.List(layout.AddManifest(config.dump(), {layer}));
  const std::string error = Refused(Put("layout", layout));
  EXPECT_THAT(error, HasSubstr("DATA_LOSS"));
  EXPECT_THAT(error, HasSubstr("layer 1 of 1"));
}

// A tar has no table of contents: cut between two entries it looks whole, except for the missing
// empty blocks at its end.
TEST_F(ImportTest, HostileArchiveCutBetweenTwoEntries) {
  const std::string first = TarBuilder().File("bin/first", "1").Build();
  const std::string both = TarBuilder().File("bin/first", "1").File("bin/second", "2").Build();
  const std::string begin = first.substr(0, first.find_last_not_of('\0') + 1);
  const std::string cut = both.substr(0, (begin.size() + 511) / 512 * 512);
  const std::string error = Refused(Put("cut.tar", cut));
  EXPECT_THAT(error, HasSubstr("DATA_LOSS"));
  EXPECT_THAT(error, HasSubstr("it was cut off"));
  EXPECT_THAT(Refused(Put("cut.tar.gz", Compress(cut, "gzip"))), HasSubstr("it was cut off"));
  EXPECT_EQ(ReadFrom(MustImport(Put("whole.tar", both), "x"), "bin/second"), "2");
}

TEST_F(ImportTest, StopsWhenNobodyWaitsForItAnyMore) {
  ASSERT_TRUE(dir_.root().MakeDirs("rootfs/bin").ok());
  Put("rootfs/bin/hello", "hi");
  for (const std::string& path : {Put("hello.tar", HelloTar()), dir_.root().PathOf("rootfs")}) {
    int asked = 0;
    for (int patience = 0; patience < 3; ++patience) {
      const auto image = service_->Import(path, "x", nullptr, [&] { return ++asked > patience; });
      EXPECT_TRUE(absl::IsCancelled(image.status())) << image.status();
      asked = 0;
    }
    EXPECT_THAT(service_->List(), IsEmpty());
    for (const char* part : {"store/layers", "store/work", "store/blobs/sha256"}) {
      EXPECT_THAT(*dir_.root().List(part), IsEmpty()) << part;
    }
  }
}

TEST_F(ImportTest, HostileConfigIsNotJson) {
  TestLayout layout;
  layout.List(layout.AddManifest("{ not json", {layout.AddBlob(HelloTar(), kOciLayerType)}));
  EXPECT_THAT(Refused(Put("layout", layout)), HasSubstr("config: is not JSON"));
}

TEST_F(ImportTest, HostileConfigWithWrongTypes) {
  for (const char* config :
       {R"({"config": []})", R"({"config": {"Env": "A=1"}})", R"({"config": {"Cmd": [1]}})",
        R"({"config": {"User": 0}})", R"({"config": {"User": "0\u0000"}})",
        R"({"config": {"Entrypoint": ["/bin/sh\u0000x"]}})", R"({"config": {"Env": ["A=\u0000"]}})",
        R"({"rootfs": {"diff_ids": {"a": 1}}})", R"({"rootfs": {"diff_ids": ["../../etc"]}})",
        R"({"os": 1})", "[]", "null", "1"}) {
    TestLayout layout;
    layout.List(layout.AddManifest(config, {layout.AddBlob(HelloTar(), kOciLayerType)}));
    EXPECT_THAT(Refused(Put("layout", layout)), HasSubstr("INVALID_ARGUMENT")) << config;
  }
}

TEST_F(ImportTest, HostileManifestWithWrongTypes) {
  for (const char* manifest :
       {"{}", "[]", R"({"config": 1, "layers": []})", R"({"config": {}, "layers": {}})",
        R"({"config": {"digest": 5}, "layers": [1]})", R"({"schemaVersion": 1})",
        R"({"config": {"digest": "sha256:../../../etc/passwd"}, "layers": [{}]})",
        R"({"schemaVersion": "2"})", R"({"manifests": "x"})", R"({"manifests": [], "layers": []})",
        R"({"manifests": [7]})"}) {
    TestLayout layout;
    layout.List(layout.AddBlob(manifest, kOciManifestType));
    EXPECT_THAT(Refused(Put("layout", layout)), HasSubstr("INVALID_ARGUMENT")) << manifest;
  }
}

TEST_F(ImportTest, HostileManifestOfAMissingBlob) {
  TestLayout layout = Hello();
  for (auto it = layout.files.begin(); it != layout.files.end();) {
    const bool is_layer = it->second.substr(0, 2) == "\x1f\x8b";
    it = is_layer ? layout.files.erase(it) : std::next(it);
  }
  const std::string error = Refused(Put("layout", layout));
  EXPECT_THAT(error, HasSubstr("layer 1 of 1"));
  EXPECT_THAT(error, HasSubstr("missing"));
  TestLayout no_manifest;
  no_manifest.List({{"digest", DigestOf("gone")}, {"size", 4}});
  EXPECT_THAT(Refused(Put("layout2", no_manifest)), HasSubstr("is missing"));
}

TEST_F(ImportTest, HostileHugeManifest) {
  TestLayout layout;
  layout.List(layout.AddBlob(std::string(kMaxDocumentBytes + 1, ' '), kOciManifestType));
  EXPECT_THAT(Refused(Put("layout", layout)), HasSubstr("valid are 4194304"));
  // The same with a lying descriptor.
  layout.index["manifests"][0]["size"] = 10;
  EXPECT_THAT(Refused(Put("layout", layout)), HasSubstr("RESOURCE_EXHAUSTED"));
}

TEST_F(ImportTest, HostileDeeplyNestedJson) {
  TestLayout layout;
  layout.List(layout.AddBlob(std::string(1'000'000, '['), kOciManifestType));
  EXPECT_THAT(Refused(Put("layout", layout)), HasSubstr("is not JSON"));
}

TEST_F(ImportTest, HostileIndexThatContainsItself) {
  // A digest can't contain itself, but a chain of indexes can be long.
  TestLayout layout;
  TestJson descriptor = layout.AddImage({HelloTar()});
  for (int i = 0; i < 10; ++i) {
    descriptor =
        layout.AddBlob(TestJson({{"manifests", {descriptor}}, {"n", i}}).dump(), kOciIndexType);
  }
  layout.List(descriptor);
  EXPECT_THAT(Refused(Put("layout", layout)), HasSubstr("deep"));
}

TEST_F(ImportTest, HostileLayoutBlobThatIsALinkToOutside) {
  TestLayout layout = Hello();
  const std::string path = Put("layout", layout);
  const std::string secret = Put("secret", HelloTar());
  for (const auto& [name, content] : layout.files) {
    if (content.substr(0, 2) != "\x1f\x8b") continue;
    const std::string blob = absl::StrCat(path, "/", name);
    ASSERT_EQ(unlink(blob.c_str()), 0);
    ASSERT_EQ(symlink(secret.c_str(), blob.c_str()), 0);
  }
  EXPECT_THAT(Refused(path), HasSubstr("missing")) << "links end at the layout's own root";
}

TEST_F(ImportTest, HostileDockerArchivePointsOutside) {
  for (const char* outside : {"../../etc/passwd", "/etc/passwd", "a/../../x"}) {
    const TestJson manifest = {{{"Config", outside}, {"Layers", {outside}}}};
    const std::string tar = TarBuilder().File("manifest.json", manifest.dump()).Build();
    const std::string error = Refused(Put("saved.tar", tar));
    EXPECT_THAT(error, HasSubstr("INVALID_ARGUMENT")) << outside;
    EXPECT_THAT(error, HasSubstr(outside));
  }
}

TEST_F(ImportTest, HostileDockerArchiveLinkPointsOutside) {
  const TestJson manifest = {{{"Config", "c.json"}, {"Layers", {"l.tar"}}}};
  const std::string tar = TarBuilder()
                              .Symlink("c.json", "../../../../etc/passwd")
                              .File("manifest.json", manifest.dump())
                              .Build();
  EXPECT_THAT(Refused(Put("saved.tar", tar)), HasSubstr("INVALID_ARGUMENT"));
}

TEST_F(ImportTest, HostileDockerArchiveWithWrongTypes) {
  for (const char* manifest : {"{}", "[]", "[1]", R"([{"Config": 1}])",
                               R"([{"Config": "c", "Layers": [1]}])", "nonsense"}) {
    EXPECT_THAT(Refused(Put("saved.tar", TarBuilder().File("manifest.json", manifest).Build())),
                HasSubstr("INVALID_ARGUMENT"))
        << manifest;
  }
}

TEST_F(ImportTest, HostileMemberThatLeavesTheArchive) {
  const TestJson manifest = {{{"Config", "c.json"}, {"Layers", {"l.tar"}}}};
  const std::string tar =
      TarBuilder().File("manifest.json", manifest.dump()).File("../../planted", "x").Build();
  EXPECT_THAT(Refused(Put("saved.tar", tar)), HasSubstr("../../planted"));
}

TEST_F(ImportTest, HostileLayerCounts) {
  TestLayout layout;
  const TestJson layer = layout.AddBlob(HelloTar(), kOciLayerType);
  const TestJson config = {{"rootfs", {{"diff_ids", {DigestOf("a"), DigestOf("b")}}}}};
  layout.List(layout.AddManifest(config.dump(), {layer}));
  EXPECT_THAT(Refused(Put("layout", layout)), HasSubstr("2 diff_ids, its manifest 1 layers"));
  TestLayout many;
  many.List(many.AddManifest("{}", std::vector<TestJson>(kMaxLayers + 1, layer)));
  EXPECT_THAT(Refused(Put("many", many)), HasSubstr("501 layers"));
}

TEST_F(ImportTest, ArtifactIsNoContainerImage) {
  TestLayout layout;
  layout.List(layout.AddManifest(
      "{}", {layout.AddBlob("wasm", "application/vnd.wasm.content.layer.v1+wasm")}));
  EXPECT_THAT(Refused(Put("layout", layout)), HasSubstr("is no container image"));
}

TEST_F(ImportTest, ImageForAnotherSystemIsRefused) {
  TestLayout layout;
  layout.List(layout.AddManifest(R"({"os": "windows"})", {layout.AddBlob("x", kOciLayerType)}));
  EXPECT_THAT(Refused(Put("layout", layout)), HasSubstr("for windows, not linux"));
}

TEST_F(ImportTest, AnImageThatCannotBeUnpackedIsToBlameAndNothingIsLeft) {
  TestLayout layout;
  layout.List(layout.AddImage(
      {HelloTar(), TarBuilder().File(absl::StrCat(std::string(300, 'n'), "/x"), "").Build()}));
  const std::string path = Put("image", layout);
  const std::string error = Refused(path);
  EXPECT_THAT(error, HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(error, HasSubstr(absl::StrCat("import ", path)));
  EXPECT_THAT(error, HasSubstr("layer 2 of 2 (sha256:"));
  EXPECT_THAT(error, HasSubstr("entry \"nnn"));
}

TEST_F(ImportTest, AnArchiveThatNamesWhatCannotBeIsToBlame) {
  TestLayout long_name;
  long_name.files["manifest.json"] = absl::StrCat(R"([{"Config": ")", std::string(300, 'c'),
                                                  R"(", "RepoTags": [], "Layers": ["a"]}])");
  EXPECT_THAT(Refused(Put("archive.tar", long_name.Tar())), Not(HasSubstr("INTERNAL")));
}

}  // namespace
}  // namespace plimsoll::image
