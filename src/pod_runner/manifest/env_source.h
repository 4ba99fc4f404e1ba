// Variables of a container's environment, as plain structs.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_ENV_SOURCE_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_ENV_SOURCE_H_

#include <optional>
#include <string>

#include "pod_runner/manifest/field_ref.h"

namespace plimsoll::pod {

enum class ObjectKind { kConfigMap, kSecret };

// One key of a ConfigMap or Secret.
struct ObjectKey {
  ObjectKind kind = ObjectKind::kConfigMap;
  std::string object;
  std::string key;
  bool optional = false;  // without object or key there is no such variable
};

// At most one of field_path, resource and key is set; `value` counts where none is.
struct EnvVar {
  std::string name;
  std::string value;
  std::string field_path;  // "metadata.name"
  std::optional<ResourceField> resource;
  std::optional<ObjectKey> key;
};

// All keys of a ConfigMap or Secret. Every other variable of that name replaces one of these.
struct EnvFrom {
  ObjectKind kind = ObjectKind::kConfigMap;
  std::string object;
  std::string prefix;  // of each name
  bool optional = false;
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_ENV_SOURCE_H_
