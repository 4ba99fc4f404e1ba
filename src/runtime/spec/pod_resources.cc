#include "runtime/spec/pod_resources.h"

#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

absl::StatusOr<resources::ResourceList> ParseList(const std::map<std::string, std::string>& written,
                                                  absl::string_view member) {
  resources::ResourceList parsed;
  for (const auto& [name, text] : written) {
    absl::StatusOr<resources::Quantity> quantity = resources::Quantity::Parse(text);
    if (!quantity.ok()) {
      return Annotate(quantity.status(),
                      absl::StrCat(member, "[", absl::Utf8SafeCHexEscape(name), "]"));
    }
    parsed[name] = *std::move(quantity);
  }
  return parsed;
}

}  // namespace

absl::StatusOr<resources::Requirements> ParseResources(const KubernetesResources& written) {
  resources::Requirements parsed;
  PLIMSOLL_ASSIGN_OR_RETURN(parsed.requests, ParseList(written.requests, "requests"));
  PLIMSOLL_ASSIGN_OR_RETURN(parsed.limits, ParseList(written.limits, "limits"));
  PLIMSOLL_RETURN_IF_ERROR(resources::ValidateWritten(parsed));
  return parsed;
}

absl::Status Validate(const PodResources& pod, absl::string_view field) {
  PLIMSOLL_RETURN_IF_ERROR(Annotate(ParseResources(pod.kubernetes_resources).status(),
                                    absl::StrCat(field, ".kubernetes_resources")));
  std::set<absl::string_view> names;
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const AnnouncedContainer& container = pod.containers[i];
    const std::string where = absl::StrCat(field, ".containers[", i, "]");
    if (container.name.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          where, ".name is empty; it must be the name that the container will be created with"));
    }
    const std::string name = absl::Utf8SafeCHexEscape(container.name);
    if (!names.insert(container.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ".name: \"", name, "\" is there twice; names in a pod are unique"));
    }
    PLIMSOLL_RETURN_IF_ERROR(
        Annotate(ParseResources(container.kubernetes_resources).status(),
                 absl::StrCat(where, " (\"", name, "\").kubernetes_resources")));
  }
  return absl::OkStatus();
}

bool TypesAreUnknown(const PodResources& pod) {
  return !pod.containers.empty() &&
         absl::c_all_of(pod.containers, [](const AnnouncedContainer& container) {
           return container.type == AnnouncedContainer::Type::kInit;
         });
}

}  // namespace plimsoll::runtime
