#include "agent/pods/records/pod_change.h"

#include "absl/functional/function_ref.h"
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

// Takes away the classes of `owner`, a container or a spec.
void EraseClasses(Json& owner) {
  const auto resources = owner.find("resources");
  if (resources == owner.end()) return;
  if (resources->is_object()) resources->erase("classes");
  EraseIfEmpty(owner, "resources");
}

// Takes away the amounts that `owner` may change.
void EraseAmounts(Json& owner) {
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

void EraseLiving(Json& owner) {
  EraseClasses(owner);
  EraseAmounts(owner);
}

// The rest of a spec after `erase` was called with it and with each container that may change.
Json Rest(Json spec, absl::FunctionRef<void(Json& owner)> erase) {
  if (!spec.is_object()) return spec;
  erase(spec);
  for (const char* list : {"containers", "initContainers"}) {
    const auto containers = spec.find(list);
    if (containers == spec.end() || !containers->is_array()) continue;
    for (Json& each : *containers) {
      // An init container runs once, before anyone could change it: only sidecars live on. Both
      // they and restartPolicy may be null, which YAML writes as nothing.
      const bool lives = each.is_object() &&
                         (list == std::string("containers") ||
                          (each.contains("restartPolicy") && each["restartPolicy"] == "Always"));
      if (lives) erase(each);
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
  const Json old_amounts = Rest(old_part["spec"], EraseClasses);
  const Json new_amounts = Rest(new_part["spec"], EraseClasses);
  const Json old_spec = std::move(old_part["spec"]), new_spec = std::move(new_part["spec"]);
  old_part["spec"] = Rest(old_spec, EraseLiving);
  new_part["spec"] = Rest(new_spec, EraseLiving);
  const Json diff = Json::diff(old_part, new_part);
  if (!diff.empty()) {
    change.fixed = diff.front().value("path", "");
    return change;
  }
  change.amounts = old_amounts != new_amounts;
  change.classes = Rest(old_spec, EraseAmounts) != Rest(new_spec, EraseAmounts);
  return change;
}

absl::Status ForbiddenChange(const PodKey& pod, const PodChange& change) {
  const std::string name = PodName(pod);
  if (!absl::StartsWith(change.fixed, "/spec")) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, " is there, and differs in ", change.fixed,
        ": metadata: Forbidden: a living pod keeps its labels and annotations; delete it first"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(name, " is there, and differs in ", change.fixed,
                   ": spec: Forbidden: pod updates may not change fields other than cpu and memory "
                   "of `spec.containers[*].resources`, of `spec.initContainers[*].resources` of "
                   "sidecars and of `spec.resources`, and classes there; delete it first"));
}

}  // namespace plimsoll::agent
