// SELinux labels of a container.
#ifndef PLIMSOLL_RUNTIME_OCI_SELINUX_LABELS_H_
#define PLIMSOLL_RUNTIME_OCI_SELINUX_LABELS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "linux/selinux.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::runtime {

// The labels that `policy` gives a container (nullopt: no labels here, both members are empty),
// with the parts that the container asks for, else its pod. A level that the container doesn't name
// is its pod's. A privileged container, and one with the host's processes or IPC, has no process
// label, so that it is no more confined than its starter, unless it names a type. INVALID_ARGUMENT
// names a part that no label can have.
absl::StatusOr<linux::SelinuxLabels> LabelsOf(const std::optional<linux::SelinuxLabels>& policy,
                                              const linux::SelinuxOptions& pod,
                                              const SecurityContext& security);

// The requested parts of the label that LabelsOf gives the container's process; nullopt: it has
// none. Without the pod's level, which may be our own choice.
std::optional<linux::SelinuxOptions> AskedOfLabel(const std::optional<linux::SelinuxLabels>& policy,
                                                  const linux::SelinuxOptions& pod,
                                                  const SecurityContext& security);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_SELINUX_LABELS_H_
