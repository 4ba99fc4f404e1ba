#include "agent/pods/resizing/resize_patch.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;

absl::Status CheckMembers(const Json& object, const std::string& path,
                          const std::set<std::string>& known) {
  if (!object.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": must be an object"));
  }
  for (const auto& [name, value] : object.items()) {
    if (known.contains(name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(path, ".", name, ": Forbidden: a resize changes resources alone; here may be ",
                     absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

// Puts the patch's resources over those of `owner`, a container or a spec.
absl::Status Merge(const Json& resources, const std::string& path, Json& owner) {
  PLIMSOLL_RETURN_IF_ERROR(CheckMembers(resources, path, {"limits", "requests"}));
  for (const auto& [list, amounts] : resources.items()) {
    PLIMSOLL_RETURN_IF_ERROR(
        CheckMembers(amounts, absl::StrCat(path, ".", list), {"cpu", "memory"}));
  }
  owner["resources"].merge_patch(resources);
  return absl::OkStatus();
}

absl::Status MergeContainers(const Json& patches, const std::string& list, Json& spec) {
  const std::string path = absl::StrCat("spec.", list);
  if (!patches.is_array())
    return absl::InvalidArgumentError(absl::StrCat(path, ": must be a list"));
  for (const Json& patch : patches) {
    PLIMSOLL_RETURN_IF_ERROR(CheckMembers(patch, path, {"name", "resources"}));
    const auto name = patch.find("name");
    if (name == patch.end() || !name->is_string()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": a container's name is missing"));
    }
    std::vector<std::string> names;
    Json* container = nullptr;
    if (spec.contains(list)) {
      for (Json& each : spec[list]) {
        names.push_back(each.value("name", ""));
        if (names.back() == name->get_ref<const std::string&>()) container = &each;
      }
    }
    if (container == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the pod has no container ", name->get<std::string>(), " there; ",
                       names.empty() ? "it has none" : "it has ", absl::StrJoin(names, ", ")));
    }
    if (!patch.contains("resources")) continue;
    PLIMSOLL_RETURN_IF_ERROR(Merge(patch["resources"],
                                   absl::StrCat(path, "[", name->get<std::string>(), "].resources"),
                                   *container));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Json> ResizedObject(const Json& object, const Json& patch) {
  PLIMSOLL_RETURN_IF_ERROR(
      CheckMembers(patch, "the patch", {"apiVersion", "kind", "metadata", "spec"}));
  const Json changes = patch.value("spec", Json::object());
  PLIMSOLL_RETURN_IF_ERROR(
      CheckMembers(changes, "spec", {"containers", "initContainers", "resources"}));
  if (changes.empty()) {
    return absl::InvalidArgumentError(
        "the patch has no spec: it must be a Pod with containers' names and new resources");
  }
  Json resized = object;
  Json& spec = resized["spec"];
  for (const char* list : {"containers", "initContainers"}) {
    if (!changes.contains(list)) continue;
    PLIMSOLL_RETURN_IF_ERROR(MergeContainers(changes[list], list, spec));
  }
  if (changes.contains("resources")) {
    PLIMSOLL_RETURN_IF_ERROR(Merge(changes["resources"], "spec.resources", spec));
  }
  return resized;
}

}  // namespace plimsoll::agent
