#include "pod_runner/manifest/manifest_volumes.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "image/names/reference.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/manifest/manifest_fields.h"

namespace plimsoll::pod {
namespace {

void ReadEmptyDir(YamlReader& reader, YamlMapping& mapping, EmptyDir& dir) {
  std::string medium;
  mapping.String("medium", medium);
  if (absl::StartsWith(medium, "HugePages")) {
    reader.Fail(*mapping.Get("medium"), mapping.PathOf("medium"),
                "not supported: emptyDir is a directory on disk or, with Memory, in memory");
  } else if (!medium.empty() && medium != "Memory") {
    reader.Fail(*mapping.Get("medium"), mapping.PathOf("medium"),
                absl::StrCat("\"", medium, "\" must be Memory, or left out"));
  }
  dir.in_memory = medium == "Memory";
  const auto node = mapping.Get("sizeLimit");
  if (!node) return;
  const auto text = reader.AsText(*node, mapping.PathOf("sizeLimit"));
  if (!text) return;
  const auto limit = resources::Quantity::Parse(*text);
  if (!limit.ok() || limit->Sign() < 0) {
    reader.Fail(*node, mapping.PathOf("sizeLimit"),
                limit.ok() ? "must not be negative" : limit.status().message());
    return;
  }
  if (!limit->IsZero()) dir.size_limit = *limit;
  if (dir.size_limit && !dir.in_memory) {
    reader.Note(*node, mapping.PathOf("sizeLimit"),
                "nothing holds a directory on disk to its size");
  }
}

void ReadHostPath(YamlReader& reader, const YAML::Node& node, YamlMapping& mapping,
                  Volume& volume) {
  mapping.Required("path", volume.host_path);
  if (!volume.host_path.empty() && volume.host_path[0] != '/') {
    reader.Fail(node, mapping.PathOf("path"), "must be an absolute path");
  }
  if (StepsBack(volume.host_path)) {
    reader.Fail(node, mapping.PathOf("path"), "must be without \"..\"");
  }
  mapping.OneOf("type", volume.host_path_type,
                {"", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
                 "CharDevice", "BlockDevice"});
}

// The parts that a volume and a source of a projected volume share. `name_key` is "name" in all
// but a secret volume.
void ReadObjectFiles(YamlReader& reader, YamlMapping& mapping, const std::string& name_key,
                     VolumeProjection& source) {
  mapping.Required(name_key, source.object);
  mapping.Bool("optional", source.optional);
  mapping.Each("items", [&](const YAML::Node& item, const std::string& path) {
    KeyToPath file;
    YamlMapping entry(reader, item, path);
    entry.Required("key", file.key);
    entry.Required("path", file.path);
    CheckFilePath(reader, item, entry.PathOf("path"), file.path);
    ReadMode(reader, entry, "mode", file.mode);
    entry.Finish();
    source.items.push_back(std::move(file));
  });
}

void ReadDownwardFiles(YamlReader& reader, YamlMapping& mapping, VolumeProjection& source) {
  mapping.Each("items", [&](const YAML::Node& item, const std::string& path) {
    DownwardFile file;
    YamlMapping entry(reader, item, path);
    entry.Required("path", file.path);
    CheckFilePath(reader, item, entry.PathOf("path"), file.path);
    ReadMode(reader, entry, "mode", file.mode);
    const auto field = entry.Get("fieldRef");
    const auto resource = entry.Get("resourceFieldRef");
    if (field.has_value() == resource.has_value()) {
      reader.Fail(item, path, "needs exactly one of fieldRef and resourceFieldRef");
    } else if (field) {
      file.field_path = ReadFieldRef(reader, *field, entry.PathOf("fieldRef"), /*in_volume=*/true);
    } else {
      file.resource = ReadResourceField(reader, *resource, entry.PathOf("resourceFieldRef"),
                                        /*in_volume=*/true);
    }
    entry.Finish();
    source.files.push_back(std::move(file));
  });
}

void ReadSource(YamlReader& reader, const YAML::Node& node, const std::string& path,
                VolumeProjection::Kind kind, bool is_volume, FilesVolume& volume) {
  VolumeProjection source{.kind = kind};
  YamlMapping mapping(reader, node, path);
  if (kind == VolumeProjection::Kind::kDownwardApi) {
    ReadDownwardFiles(reader, mapping, source);
  } else {
    const bool is_secret_volume = is_volume && kind == VolumeProjection::Kind::kSecret;
    ReadObjectFiles(reader, mapping, is_secret_volume ? "secretName" : "name", source);
  }
  if (is_volume) {
    std::optional<int64_t> mode;
    ReadMode(reader, mapping, "defaultMode", mode);
    volume.default_mode = mode.value_or(volume.default_mode);
  }
  mapping.Finish();
  volume.sources.push_back(std::move(source));
}

constexpr struct {
  const char* key;
  VolumeProjection::Kind kind;
} kFileSources[] = {{"configMap", VolumeProjection::Kind::kConfigMap},
                    {"secret", VolumeProjection::Kind::kSecret},
                    {"downwardAPI", VolumeProjection::Kind::kDownwardApi}};

void ReadProjection(YamlReader& reader, const YAML::Node& node, const std::string& path,
                    FilesVolume& volume) {
  YamlMapping mapping(reader, node, path);
  int sources = 0;
  for (const auto& [key, kind] : kFileSources) {
    const auto source = mapping.Get(key);
    if (!source) continue;
    ++sources;
    ReadSource(reader, *source, mapping.PathOf(key), kind, /*is_volume=*/false, volume);
  }
  for (const char* key : {"serviceAccountToken", "clusterTrustBundle", "podCertificate"}) {
    sources += mapping.Get(key) ? 1 : 0;
    mapping.Refuse(key, "there is no API server here");
  }
  mapping.Finish();
  if (sources != 1) {
    reader.Fail(node, path, "needs exactly one of configMap, secret and downwardAPI");
  }
}

void ReadProjected(YamlReader& reader, const YAML::Node& node, const std::string& path,
                   FilesVolume& volume) {
  YamlMapping mapping(reader, node, path);
  std::optional<int64_t> mode;
  ReadMode(reader, mapping, "defaultMode", mode);
  volume.default_mode = mode.value_or(volume.default_mode);
  mapping.Each("sources", [&](const YAML::Node& item, const std::string& item_path) {
    ReadProjection(reader, item, item_path, volume);
  });
  mapping.Finish();
}

ImageVolume ReadImageVolume(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  ImageVolume image{.pull_policy = "IfNotPresent"};
  YamlMapping mapping(reader, node, path);
  mapping.Required("reference", image.reference);
  if (!image.reference.empty() && !image::IsImageId(image.reference)) {
    const absl::Status valid = image::ParseReference(image.reference).status();
    if (!valid.ok()) reader.Fail(node, mapping.PathOf("reference"), valid.message());
  }
  mapping.OneOf("pullPolicy", image.pull_policy, {"Always", "Never", "IfNotPresent"});
  mapping.Finish();
  return image;
}

// False: the volume is of another kind. "emptyDir:" without a value means the same to Kubernetes.
bool ReadEmptyDirOf(YamlReader& reader, YamlMapping& mapping, Volume& volume) {
  const auto node = mapping.Get("emptyDir");
  const YAML::Node& whole = mapping.node();
  if (!node && !(whole.IsMap() && whole["emptyDir"].IsDefined())) return false;
  volume.empty_dir = true;
  if (!node) return true;
  YamlMapping source(reader, *node, mapping.PathOf("emptyDir"));
  ReadEmptyDir(reader, source, volume.dir);
  source.Finish();
  return true;
}

// Reads the sources that the volume has, and returns their number.
int ReadSources(YamlReader& reader, YamlMapping& mapping, Volume& volume) {
  int sources = ReadEmptyDirOf(reader, mapping, volume) ? 1 : 0;
  if (const auto node = mapping.Get("hostPath")) {
    ++sources;
    YamlMapping source(reader, *node, mapping.PathOf("hostPath"));
    ReadHostPath(reader, *node, source, volume);
    source.Finish();
  }
  for (const auto& [key, kind] : kFileSources) {
    const auto node = mapping.Get(key);
    if (!node) continue;
    ++sources;
    volume.files.emplace();
    ReadSource(reader, *node, mapping.PathOf(key), kind, /*is_volume=*/true, *volume.files);
  }
  if (const auto node = mapping.Get("projected")) {
    ++sources;
    volume.files.emplace();
    ReadProjected(reader, *node, mapping.PathOf("projected"), *volume.files);
  }
  if (const auto node = mapping.Get("image")) {
    ++sources;
    volume.image = ReadImageVolume(reader, *node, mapping.PathOf("image"));
  }
  for (const char* key : {"persistentVolumeClaim",
                          "csi",
                          "ephemeral",
                          "nfs",
                          "iscsi",
                          "fc",
                          "cephfs",
                          "rbd",
                          "glusterfs",
                          "cinder",
                          "flexVolume",
                          "flocker",
                          "gitRepo",
                          "awsElasticBlockStore",
                          "azureDisk",
                          "azureFile",
                          "gcePersistentDisk",
                          "photonPersistentDisk",
                          "portworxVolume",
                          "quobyte",
                          "scaleIO",
                          "storageos",
                          "vsphereVolume"}) {
    sources += mapping.Get(key) ? 1 : 0;
    mapping.Refuse(key, "only volumes of the machine itself are");
  }
  return sources;
}

}  // namespace

Volume ReadVolume(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  Volume volume;
  YamlMapping mapping(reader, node, path);
  mapping.Required("name", volume.name);
  if (!volume.name.empty() && !IsDnsName(volume.name, /*dots=*/false)) {
    reader.Fail(node, mapping.PathOf("name"),
                absl::StrCat("\"", volume.name,
                             "\" must be at most 63 lower-case letters, digits and \"-\""));
  }
  const int sources = ReadSources(reader, mapping, volume);
  mapping.Finish();
  if (sources != 1) {
    reader.Fail(node, path,
                "needs exactly one of hostPath, emptyDir (\"emptyDir: {}\"), configMap, secret, "
                "downwardAPI, projected and image");
  }
  return volume;
}

}  // namespace plimsoll::pod
