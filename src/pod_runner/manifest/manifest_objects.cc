#include "pod_runner/manifest/manifest_objects.h"

#include <yaml-cpp/yaml.h>

#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "yaml/documents.h"
#include "yaml/json.h"

namespace plimsoll::pod {

namespace {

PodObject WithObject(Manifest pod, const YAML::Node& document) {
  nlohmann::json object = JsonOfYaml(document);
  object.erase("status");
  return {std::move(object), std::move(pod)};
}

// Calls `read` with the object's tree.
template <typename Read>
auto ReadTree(const nlohmann::json& object, const std::string& name, const Read& read)
    -> decltype(read(YAML::Node())) {
  try {
    return read(YamlOfJson(object));
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", YamlFault(error)));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(name, ": there is too little memory for it"));
  }
}

}  // namespace

absl::StatusOr<std::vector<PodObject>> ParsePodObjects(absl::string_view text,
                                                       absl::string_view file) {
  std::vector<PodObject> pods;
  PLIMSOLL_RETURN_IF_ERROR(EachManifest(text, file, ManifestOrigin::kUser,
                                        [&pods](Manifest pod, const YAML::Node& document) {
                                          pods.push_back(WithObject(std::move(pod), document));
                                        }));
  return pods;
}

absl::StatusOr<Manifest> ManifestOnRecord(const nlohmann::json& object, const std::string& name) {
  return ReadTree(object, name, [&](const YAML::Node& tree) {
    return ReadManifest(tree, name, ManifestOrigin::kRecord);
  });
}

absl::StatusOr<PodObject> PodOnRecord(const nlohmann::json& object, const std::string& name) {
  return ReadTree(object, name, [&](const YAML::Node& tree) -> absl::StatusOr<PodObject> {
    PLIMSOLL_ASSIGN_OR_RETURN(Manifest pod, ReadManifest(tree, name, ManifestOrigin::kRecord));
    return WithObject(std::move(pod), tree);
  });
}

}  // namespace plimsoll::pod
