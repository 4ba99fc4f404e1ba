// Small values that several parts of a manifest hold. Used by the manifest's readers only.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_FIELDS_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_FIELDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "pod_runner/manifest/field_ref.h"
#include "yaml/reader.h"

namespace plimsoll::pod {

// An ObjectFieldSelector: the `fieldPath`. `in_volume`: files have other fields than variables.
std::string ReadFieldRef(YamlReader& reader, const YAML::Node& node, const std::string& path,
                         bool in_volume);
// A ResourceFieldSelector. `in_volume`: it must name its container.
ResourceField ReadResourceField(YamlReader& reader, const YAML::Node& node, const std::string& path,
                                bool in_volume);

// A file's permission bits, 0 to 0777. "0644" is octal, as in YAML 1.1, and so is "0o644".
void ReadMode(YamlReader& reader, YamlMapping& mapping, const std::string& key,
              std::optional<int64_t>& mode);

// A duration or count with a default: leaves `out` as it is when the key is absent.
void ReadInt(YamlMapping& mapping, const std::string& key, int64_t& out, int64_t min, int64_t max);

// Fails for a path that is absolute, has ".." or begins with "..", and so could leave its volume.
void CheckFilePath(YamlReader& reader, const YAML::Node& node, const std::string& path,
                   absl::string_view value);

// True for a path that has "..", as an API server refuses it in paths of the host.
bool StepsBack(absl::string_view path);
// False for a relative path with "..", or an absolute one.
bool IsBelow(absl::string_view path);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_FIELDS_H_
