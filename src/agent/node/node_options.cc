#include "agent/node/node_options.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/closest_word.h"
#include "base/text/label_text.h"
#include "topology/zones/zone.h"

namespace plimsoll::agent {
namespace {

bool CanBeReserved(const std::string& resource) {
  return resource == topology::kCpu || resource == topology::kMemory ||
         resource == "ephemeral-storage" || resource == "pid" ||
         absl::StartsWith(resource, topology::kHugepagesPrefix);
}

absl::Status CheckReservation(absl::string_view option, const ResourceList& reserved) {
  for (const auto& [resource, amount] : reserved) {
    if (!CanBeReserved(resource)) {
      const std::string meant = ClosestWord(resource, {"cpu", "memory", "ephemeral-storage",
                                                       "hugepages-2Mi", "hugepages-1Gi", "pid"});
      return absl::InvalidArgumentError(
          absl::StrCat(option, ": \"", resource,
                       "\" can't be reserved; cpu, memory, ephemeral-storage, hugepages-<size> and "
                       "pid can",
                       meant.empty() ? "" : absl::StrCat("; did you mean \"", meant, "\"?")));
    }
    if (amount.Sign() < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, ": ", resource, ": ", amount.text(), " is below zero"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLabels(const std::map<std::string, std::string>& labels) {
  for (const auto& [key, value] : labels) {
    if (!IsLabelKey(key)) {
      return absl::InvalidArgumentError(
          absl::StrCat("nodeLabels: \"", key, "\" is no label's key"));
    }
    if (!IsLabelValue(value)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "nodeLabels: ", key, ": \"", value,
          "\" is no label's value: at most 63 letters, digits, '-', '_' and '.', with a letter or "
          "digit at both ends"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DiscoveryMode> ParseDiscoveryMode(absl::string_view text) {
  if (text == "auto") return DiscoveryMode::kAuto;
  if (text == "cri") return DiscoveryMode::kCri;
  if (text == "local") return DiscoveryMode::kLocal;
  return absl::InvalidArgumentError(
      absl::StrCat("resourceDiscovery: \"", text, "\" is none of auto, cri and local"));
}

absl::Status CheckNodeOptions(const NodeOptions& options) {
  if (!options.name.empty() && !IsDnsName(options.name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "nodeName: \"", options.name, "\" is no DNS name of lower-case letters, digits, '-', '.'"));
  }
  if (options.max_pods < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("maxPods: ", options.max_pods, "; at least 1 is needed"));
  }
  if (options.discovery == DiscoveryMode::kCri && !options.discovery_from_cri) {
    return absl::InvalidArgumentError(
        "resourceDiscovery: cri needs gate KubeletResourceDiscoveryFromCRI, which is off");
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckReservation("systemReserved", options.system_reserved));
  PLIMSOLL_RETURN_IF_ERROR(CheckReservation("kubeReserved", options.kube_reserved));
  return CheckLabels(options.labels);
}

}  // namespace plimsoll::agent
