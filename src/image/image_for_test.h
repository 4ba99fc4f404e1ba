// For tests: images made part by part, so that each part can be wrong.
#ifndef PLIMSOLL_IMAGE_IMAGE_FOR_TEST_H_
#define PLIMSOLL_IMAGE_IMAGE_FOR_TEST_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "gtest/gtest.h"
#include "image/manifest.h"
#include "image/names/digest.h"
#include "image/tar_for_test.h"
#include "nlohmann/json.hpp"

namespace plimsoll::image {

using TestJson = nlohmann::json;

inline constexpr char kOciManifestType[] = "application/vnd.oci.image.manifest.v1+json";
inline constexpr char kOciIndexType[] = "application/vnd.oci.image.index.v1+json";
inline constexpr char kOciConfigType[] = "application/vnd.oci.image.config.v1+json";
inline constexpr char kOciLayerType[] = "application/vnd.oci.image.layer.v1.tar+gzip";

// An OCI layout in memory. A test corrupts a part, then writes it.
struct TestLayout {
  std::map<std::string, std::string> files;  // by path
  TestJson index = {{"schemaVersion", 2}, {"manifests", TestJson::array()}};

  static std::string PathOf(absl::string_view digest) {
    return absl::StrCat("blobs/sha256/", DigestHex(digest));
  }
  TestJson AddBlob(const std::string& content, const char* type) {
    const std::string digest = DigestOf(content);
    files[PathOf(digest)] = content;
    return {{"mediaType", type}, {"digest", digest}, {"size", content.size()}};
  }

  // Adds a manifest for these layers (uncompressed tars, stored with gzip); returns its descriptor.
  TestJson AddImage(const std::vector<std::string>& tars,
                    TestJson config = {{"Cmd", {"/bin/hello"}}}) {
    TestJson diff_ids = TestJson::array();
    std::vector<TestJson> layers;
    for (const std::string& tar : tars) {
      diff_ids.push_back(DigestOf(tar));
      layers.push_back(AddBlob(Compress(tar, "gzip"), kOciLayerType));
    }
    const TestJson file = {{"os", "linux"},
                           {"architecture", HostPlatform().architecture},
                           {"config", std::move(config)},
                           {"rootfs", {{"type", "layers"}, {"diff_ids", diff_ids}}}};
    return AddManifest(file.dump(), layers);
  }
  TestJson AddManifest(const std::string& config, const std::vector<TestJson>& layers) {
    const TestJson manifest = {{"schemaVersion", 2},
                               {"mediaType", kOciManifestType},
                               {"config", AddBlob(config, kOciConfigType)},
                               {"layers", TestJson(layers)}};
    return AddBlob(manifest.dump(), kOciManifestType);
  }
  // Adds an image with nothing but this busybox and its shell.
  TestJson AddBusybox(const std::string& program) {
    return AddImage({TarBuilder()
                         .File("bin/busybox", program, {.mode = 0755})
                         .Symlink("bin/sh", "busybox")
                         .Build()});
  }
  // Lists a manifest in the layout's index.
  void List(TestJson descriptor, const std::string& name = "") {
    if (!name.empty()) descriptor["annotations"]["org.opencontainers.image.ref.name"] = name;
    index["manifests"].push_back(std::move(descriptor));
  }

  std::map<std::string, std::string> AllFiles() const {
    std::map<std::string, std::string> all = files;
    all["oci-layout"] = R"({"imageLayoutVersion": "1.0.0"})";
    all["index.json"] = index.dump();
    return all;
  }
  void WriteTo(const FsRoot& directory, const std::string& name) const {
    ASSERT_TRUE(directory.MakeDirs(absl::StrCat(name, "/blobs/sha256")).ok());
    for (const auto& [path, content] : AllFiles()) {
      ASSERT_TRUE(directory.ReplaceFile(absl::StrCat(name, "/", path), content).ok());
    }
  }
  std::string Tar() const {
    TarBuilder tar;
    for (const auto& [path, content] : AllFiles()) tar.File(path, content);
    return tar.Build();
  }
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_IMAGE_FOR_TEST_H_
