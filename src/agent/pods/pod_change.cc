#include "agent/pods/pod_change.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;

constexpr const char* kLists[] = {"requests", "limits"};
constexpr const char* kLivingResources[] = {"cpu", "memory"};

// A member that is absent, null or an empty map asks for the same.
void EraseIfEmpty(Json& object, const char* name) {
  const auto it = object.find(name);
  if (it != object.end() && it->empty()) object.erase(it);
}

// Takes away the amounts that `owner`, a container or a spec, may change.
void EraseLiving(Json& owner) {
  const auto resources = owner.find("resources");
  if (resources == owner.end()) return;
  if (resources->is_object()) {
    for (const char* list : kLists) {
      const auto amounts = resources->find(list);
      if (amounts == resources->end()) continue;
      for (const char* name : kLivingResources) {
        if (amounts->is_object()) amounts->erase(name);
      }
      EraseIfEmpty(*resources, list);
    }
  }
  EraseIfEmpty(owner, "resources");
}

// What stays for life, of a spec.
Json FixedPart(Json spec) {
  if (!spec.is_object()) return spec;
  EraseLiving(spec);
  for (const char* list : {"containers", "initContainers"}) {
    const auto containers = spec.find(list);
    if (containers == spec.end() || !containers->is_array()) continue;
    for (Json& each : *containers) {
      // An init container runs once, before anyone could change it.
      // A member may be null, which YAML writes as nothing.
      const bool lives = each.is_object() &&
                         (list == std::string("containers") ||
                          (each.contains("restartPolicy") && each["restartPolicy"] == "Always"));
      if (lives) EraseLiving(each);
    }
  }
  return spec;
}

Json AskedFor(const Json& object) {
  const Json metadata = object.value("metadata", Json::object());
  return {{"labels", metadata.value("labels", Json())},
          {"annotations", metadata.value("annotations", Json())},
          {"spec", object.value("spec", Json())}};
}

}  // namespace

PodChange ChangeOf(const Json& before, const Json& after) {
  Json old_part = AskedFor(before), new_part = AskedFor(after);
  PodChange change;
  change.any = old_part != new_part;
  if (!change.any) return change;
  old_part["spec"] = FixedPart(std::move(old_part["spec"]));
  new_part["spec"] = FixedPart(std::move(new_part["spec"]));
  const Json diff = Json::diff(old_part, new_part);
  if (!diff.empty()) change.fixed = diff.front().value("path", "");
  return change;
}

absl::Status ForbiddenChange(const PodKey& pod, const PodChange& change) {
  const std::string name = absl::StrCat("pod ", pod.pod_namespace, "/", pod.name);
  if (!absl::StartsWith(change.fixed, "/spec")) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, " is there, and differs in ", change.fixed,
        ": metadata: Forbidden: a living pod keeps its labels and annotations; delete it first"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(name, " is there, and differs in ", change.fixed,
                   ": spec: Forbidden: pod updates may not change fields other than cpu and memory "
                   "of `spec.containers[*].resources`, of `spec.initContainers[*].resources` of "
                   "sidecars and of `spec.resources`; delete it first"));
}

}  // namespace plimsoll::agent
