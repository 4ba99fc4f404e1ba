// The objects of a manifest, as JSON.
#ifndef PLIMSOLL_AGENT_PODS_MANIFEST_OBJECTS_H_
#define PLIMSOLL_AGENT_PODS_MANIFEST_OBJECTS_H_

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::agent {

// Each document of a YAML (or JSON) text as JSON, with the types of YAML 1.2's core schema. Empty
// documents are left out. INVALID_ARGUMENT: no YAML within LoadYamlDocuments' bounds, or a key that
// is no scalar. `file` stands in messages.
absl::StatusOr<std::vector<nlohmann::json>> ManifestObjects(absl::string_view text,
                                                            absl::string_view file);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_MANIFEST_OBJECTS_H_
