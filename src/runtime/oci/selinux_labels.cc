#include "runtime/oci/selinux_labels.h"

#include "base/status.h"

namespace plimsoll::runtime {

absl::StatusOr<linux::SelinuxLabels> LabelsOf(const std::optional<linux::SelinuxLabels>& policy,
                                              const linux::SelinuxOptions& pod,
                                              const SecurityContext& security) {
  if (!policy.has_value()) return linux::SelinuxLabels();
  linux::SelinuxOptions options = security.selinux.empty() ? pod : security.selinux;
  if (options.level.empty()) options.level = pod.level;
  PLIMSOLL_ASSIGN_OR_RETURN(linux::SelinuxLabels labels,
                            linux::LabelsWith("selinux_options", *policy, options));
  const bool unconfined = security.privileged || security.namespaces.pid == NamespaceMode::kNode ||
                          security.namespaces.ipc == NamespaceMode::kNode;
  if (unconfined && options.type.empty()) labels.process.clear();
  return labels;
}

std::optional<linux::SelinuxOptions> AskedOfLabel(const std::optional<linux::SelinuxLabels>& policy,
                                                  const linux::SelinuxOptions& pod,
                                                  const SecurityContext& security) {
  const absl::StatusOr<linux::SelinuxLabels> labels = LabelsOf(policy, pod, security);
  if (!labels.ok() || labels->process.empty()) return std::nullopt;
  if (!security.selinux.empty()) return security.selinux;
  linux::SelinuxOptions asked = pod;
  asked.level.clear();
  return asked;
}

}  // namespace plimsoll::runtime
