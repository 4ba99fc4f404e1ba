// The JSON documents that come with an image: index, manifest, config, docker-archive's list.
#include "check.h"
#include "image/image_content.h"
#include "image/manifest.h"
#include "image/names/digest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  namespace image = plimsoll::image;
  const absl::string_view text = Text(data, size);
  if (const auto is_index = image::IsIndex(text, "input"); !is_index.ok()) {
    CheckRefusal(is_index.status());
  }
  // A digest becomes a file's name.
  const auto index = image::ParseIndex(text, "input");
  if (!index.ok()) CheckRefusal(index.status());
  if (index.ok()) {
    for (const auto& each : *index) FUZZ_CHECK(image::IsDigest(each.digest), each.digest);
    const auto chosen =
        image::SelectPlatform(*index, "input", {"linux", "amd64", ""}, {"v3", "v2", "v1", ""});
    FUZZ_CHECK(chosen.ok() || absl::IsNotFound(chosen.status()), chosen.status().ToString());
  }
  const auto manifest = image::ParseManifest(text, "input");
  if (!manifest.ok()) CheckRefusal(manifest.status());
  if (manifest.ok()) {
    FUZZ_CHECK(image::IsDigest(manifest->config.digest), manifest->config.digest);
    FUZZ_CHECK(manifest->layers.size() <= image::kMaxLayers, "layers");
    for (const auto& each : manifest->layers) FUZZ_CHECK(image::IsDigest(each.digest), each.digest);
  }
  const auto config = image::ParseConfigFile(text, "input");
  if (!config.ok()) CheckRefusal(config.status());
  if (config.ok()) {
    for (const auto& each : config->diff_ids) FUZZ_CHECK(image::IsDigest(each), each);
  }
  const auto archive = image::ParseDockerArchive(text, "input");
  if (!archive.ok()) CheckRefusal(archive.status());
  return 0;
}
