// Manifests together with the objects that they were read from, and manifests of objects.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_OBJECTS_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_OBJECTS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pod_runner/manifest/manifest.h"

namespace YAML {
class Node;
}  // namespace YAML

namespace plimsoll::pod {

struct PodObject {
  nlohmann::json object;  // the document (JsonOfYaml), without "status"
  Manifest manifest;
};

// Parses as ParseManifests does.
absl::StatusOr<std::vector<PodObject>> ParsePodObjects(absl::string_view text,
                                                       absl::string_view file);

// The pod of an object on record, by the rules for records. INVALID_ARGUMENT has every problem, a
// line "NAME: FIELD: ..." each.
absl::StatusOr<PodObject> PodOnRecord(const nlohmann::json& object, const std::string& name);
absl::StatusOr<Manifest> ManifestOnRecord(const nlohmann::json& object, const std::string& name);

// The parts of both. The pod of one document, which may be of any kind; throws YAML::Exception.
absl::StatusOr<Manifest> ReadManifest(const YAML::Node& document, const std::string& file,
                                      ManifestOrigin origin);
// Parses as ParseManifests, and calls `take` for each pod that can be read, also where the whole
// is an error.
absl::Status EachManifest(absl::string_view text, absl::string_view file, ManifestOrigin origin,
                          absl::FunctionRef<void(Manifest, const YAML::Node&)> take);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_OBJECTS_H_
