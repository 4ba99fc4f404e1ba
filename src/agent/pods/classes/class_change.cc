#include "agent/pods/classes/class_change.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "pod_runner/manifest/classes.h"

namespace plimsoll::agent {
namespace {

using Types = std::map<std::string, ClassTypeInfo>;

std::string ClassOf(const qos::ClassNames& classes, const std::string& type) {
  const auto found = classes.find(type);
  return found == classes.end() ? "" : found->second;
}

bool SameClass(const std::string& one, const std::string& other) {
  return one == other || (pod::AsksForDefault(one) && pod::AsksForDefault(other));
}

absl::Status ForbiddenClass(const std::string& field, const std::string& type,
                            const std::string& why) {
  return absl::FailedPreconditionError(
      absl::StrCat(field, "[", type, "]: Forbidden: ", why, "; delete the pod first"));
}

// `had` are all classes of the container or pod so far, of annotations too.
absl::Status CheckFields(const std::string& field, const qos::ClassNames& had,
                         const qos::ClassNames& before, const qos::ClassNames& after,
                         const Types& node) {
  for (const auto& [type, name] : before) {
    if (after.contains(type)) continue;
    return ForbiddenClass(field, type,
                          absl::StrCat("a living pod can't take class ", name, " back: ",
                                       pod::kDefaultClass, " asks for the type's default"));
  }
  for (const auto& [type, name] : after) {
    const std::string held = ClassOf(had, type);
    if (SameClass(held, name)) continue;
    const auto has = node.find(type);
    if (has == node.end()) {
      return ForbiddenClass(field, type,
                            absl::StrCat("the runtime lists no such type of class, so that class ",
                                         name, " can't be applied while the pod lives"));
    }
    if (has->second.immutable) {
      return ForbiddenClass(
          field, type,
          absl::StrCat("the type is immutable: a living pod keeps ",
                       held.empty() ? "its default class" : absl::StrCat("class ", held),
                       " and can't have class ", name));
    }
    if (pod::AsksForDefault(name) && has->second.default_class.empty()) {
      return ForbiddenClass(
          field, type,
          absl::StrCat("the type has no default class, and a living pod can't leave class ", held));
    }
  }
  return absl::OkStatus();
}

// The differences between the classes asked for and held.
qos::ClassNames Differences(const qos::ClassNames& asked, const qos::ClassNames& held,
                            const Types& node) {
  qos::ClassNames differences;
  for (const auto& [type, name] : asked) {
    const auto has = node.find(type);
    if (has == node.end() || has->second.immutable) continue;
    const bool to_default = pod::AsksForDefault(name);
    const std::string wanted = to_default ? has->second.default_class : name;
    if (wanted.empty() || ClassOf(held, type) == wanted) continue;
    differences[type] = to_default ? "" : name;
  }
  return differences;
}

}  // namespace

bool ClassFieldsDiffer(const pod::Manifest& before, const pod::Manifest& after) {
  if (before.classes != after.classes) return true;
  for (size_t i = 0; i < before.containers.size() && i < after.containers.size(); ++i) {
    if (before.containers[i].classes != after.containers[i].classes) return true;
  }
  return false;
}

absl::Status CheckClassChange(const pod::Manifest& before, const pod::Manifest& after,
                              const NodeClasses& node) {
  PLIMSOLL_RETURN_IF_ERROR(CheckFields("spec.resources.classes", pod::PodClasses(before),
                                       before.classes, after.classes, node.pod));
  for (size_t i = 0; i < before.containers.size() && i < after.containers.size(); ++i) {
    const pod::ContainerManifest& old = before.containers[i];
    PLIMSOLL_RETURN_IF_ERROR(
        CheckFields(absl::StrCat("container ", old.name, ": resources.classes"),
                    pod::ContainerClasses(before, old), old.classes, after.containers[i].classes,
                    node.container));
  }
  return absl::OkStatus();
}

std::vector<ClassUpdate> ClassUpdates(const pod::Manifest& pod, const ObservedPod& observed,
                                      const NodeClasses& node) {
  std::vector<ClassUpdate> updates;
  const auto add = [&updates](const std::string& id, const std::string& container,
                              qos::ClassNames classes) {
    if (!classes.empty()) updates.push_back({id, container, std::move(classes)});
  };
  const ObservedSandbox* const sandbox = observed.ReadySandbox();
  if (sandbox == nullptr) return updates;
  if (sandbox->classes) add(sandbox->id, "", Differences(pod.classes, *sandbox->classes, node.pod));
  for (const pod::ContainerManifest& each : pod.containers) {
    const ObservedContainer* const last = observed.Newest(each.name, sandbox->id);
    if (last == nullptr || last->state != ObservedState::kRunning || !last->classes) continue;
    add(last->id, each.name, Differences(each.classes, *last->classes, node.container));
  }
  return updates;
}

std::string ClassesText(const qos::ClassNames& classes) {
  return absl::StrJoin(classes, ", ", [](std::string* out, const auto& one) {
    absl::StrAppend(out, one.first, "=", one.second.empty() ? "default" : one.second);
  });
}

}  // namespace plimsoll::agent
