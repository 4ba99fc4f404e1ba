#include "cli/agent_commands/agent_resize.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/closest_word.h"
#include "cli/terminal/errors.h"
#include "cli/terminal/object_fields.h"
#include "resources/quantity.h"

namespace plimsoll::cli {
namespace {

// Containers, and init containers that are sidecars.
std::vector<KubeObject> ResizableContainers(const KubeObject& pod) {
  std::vector<KubeObject> containers = ItemsOf(pod, {"spec", "containers"});
  for (const KubeObject& container : ItemsOf(pod, {"spec", "initContainers"})) {
    if (TextOf(container, {"restartPolicy"}) == "Always") containers.push_back(container);
  }
  return containers;
}

struct Wish {
  const char* option;
  const std::string& both;
  const std::string& request;
  const std::string& limit;
};

absl::Status CheckAmount(absl::string_view option, const std::string& text) {
  if (text.empty()) return absl::OkStatus();
  const auto amount = resources::Quantity::Parse(text);
  if (!amount.ok()) return Annotate(amount.status(), option);
  if (amount->Sign() >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(option, ": ", text, " is below 0"));
}

absl::Status AddWish(const char* resource, const Wish& wish, const KubeObject& before,
                     KubeObject* after) {
  PLIMSOLL_RETURN_IF_ERROR(CheckAmount(wish.option, wish.both));
  PLIMSOLL_RETURN_IF_ERROR(CheckAmount(absl::StrCat(wish.option, "-request"), wish.request));
  PLIMSOLL_RETURN_IF_ERROR(CheckAmount(absl::StrCat(wish.option, "-limit"), wish.limit));
  const bool has_request = !FieldOf(before, {"requests", resource}).is_null();
  const bool has_limit = !FieldOf(before, {"limits", resource}).is_null();
  if (!wish.both.empty() && (has_request || !has_limit)) {
    (*after)["requests"][resource] = wish.both;
  }
  if (!wish.both.empty() && (has_limit || !has_request)) (*after)["limits"][resource] = wish.both;
  if (!wish.request.empty()) (*after)["requests"][resource] = wish.request;
  if (!wish.limit.empty()) (*after)["limits"][resource] = wish.limit;
  return absl::OkStatus();
}

}  // namespace

bool WantedAmounts::empty() const {
  return absl::StrCat(cpu, cpu_request, cpu_limit, memory, memory_request, memory_limit).empty();
}

std::vector<std::string> ResizableContainerNames(const KubeObject& pod) {
  std::vector<std::string> names;
  for (const KubeObject& container : ResizableContainers(pod)) {
    names.push_back(TextOf(container, {"name"}));
  }
  return names;
}

absl::StatusOr<std::string> ContainerToResize(const KubeObject& pod, const std::string& name) {
  const std::vector<std::string> names = ResizableContainerNames(pod);
  const std::string pod_name = TextOf(pod, {"metadata", "name"});
  if (name.empty() && names.size() == 1) return names.front();
  for (const std::string& each : names) {
    if (each == name) return name;
  }
  const std::string list = absl::StrJoin(names, ", ");
  if (!name.empty()) {
    const absl::Status none = absl::NotFoundError(
        absl::StrCat("pod ", pod_name, " has no container ", name, ": it has ", list));
    const std::string closest = ClosestWord(name, names);
    return closest.empty() ? none : WithHint(none, absl::StrCat("Did you mean \"", closest, "\"?"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("pod ", pod_name,
                   " has several containers, and POD/CONTAINER or --container names one: ", list));
}

absl::StatusOr<KubeObject> ResizePatch(const KubeObject& pod, const std::string& container,
                                       const WantedAmounts& wanted) {
  KubeObject resources = KubeObject::object();
  const char* list = "initContainers";
  KubeObject before;
  for (const KubeObject& each : ResizableContainers(pod)) {
    if (TextOf(each, {"name"}) == container) before = FieldOf(each, {"resources"});
  }
  for (const KubeObject& each : ItemsOf(pod, {"spec", "containers"})) {
    if (TextOf(each, {"name"}) == container) list = "containers";
  }
  PLIMSOLL_RETURN_IF_ERROR(AddWish(
      "cpu", {"--cpu", wanted.cpu, wanted.cpu_request, wanted.cpu_limit}, before, &resources));
  PLIMSOLL_RETURN_IF_ERROR(
      AddWish("memory", {"--memory", wanted.memory, wanted.memory_request, wanted.memory_limit},
              before, &resources));
  const KubeObject entry = {{"name", container}, {"resources", resources}};
  return KubeObject{{"spec", {{list, KubeObject::array({entry})}}}};
}

}  // namespace plimsoll::cli
