// Contents of a pod's volumes, as plain structs.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_VOLUME_SOURCE_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_VOLUME_SOURCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pod_runner/manifest/field_ref.h"
#include "resources/quantity.h"

namespace plimsoll::pod {

// A directory that begins empty and ends with the pod.
struct EmptyDir {
  bool in_memory = false;                         // medium: Memory
  std::optional<resources::Quantity> size_limit;  // nothing holds a directory on disk to it
};

// One key of a ConfigMap or Secret and the file it becomes.
struct KeyToPath {
  std::string key;
  std::string path;             // relative, without ".."
  std::optional<int64_t> mode;  // 0 to 0777; nullopt: the volume's
};

// A file with a field of the pod or a resource of a container.
struct DownwardFile {
  std::string path;
  std::string field_path;  // "metadata.labels"; set unless `resource` is
  std::optional<ResourceField> resource;
  std::optional<int64_t> mode;
};

// Files of one object, or of the pod itself.
struct VolumeProjection {
  enum class Kind { kConfigMap, kSecret, kDownwardApi };
  Kind kind = Kind::kConfigMap;
  std::string object;               // name of the ConfigMap or Secret
  bool optional = false;            // the object or a key may be missing
  std::vector<KeyToPath> items;     // empty: every key, in a file of its name
  std::vector<DownwardFile> files;  // of kDownwardApi
};

// A configMap, secret, downwardAPI or projected volume.
struct FilesVolume {
  std::vector<VolumeProjection> sources;
  int64_t default_mode = 0644;
};

// The file system of an image, read-only.
struct ImageVolume {
  std::string reference;
  std::string pull_policy;  // "Always", "Never", "IfNotPresent"; never empty
};

// Exactly one source: `files`, `image`, `empty_dir`, else hostPath.
struct Volume {
  std::string name;
  bool empty_dir = false;
  std::string host_path;
  std::string host_path_type;  // "", "Directory", "DirectoryOrCreate", "File", ...
  EmptyDir dir;                // of an emptyDir
  std::optional<FilesVolume> files;
  std::optional<ImageVolume> image;

  bool IsHostPath() const { return !empty_dir && !files && !image; }
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_VOLUME_SOURCE_H_
