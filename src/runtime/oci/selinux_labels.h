// SELinux labels of a container.
#ifndef PLIMSOLL_RUNTIME_OCI_SELINUX_LABELS_H_
#define PLIMSOLL_RUNTIME_OCI_SELINUX_LABELS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "linux/selinux.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::runtime {

// What `policy` gives a container (nullopt: no labels here, both members are empty), with what the
// container asks for, else its pod. A level that the container doesn't name is its pod's. A
// privileged container, and one with the host's processes or IPC, has no label of its process, so
// that it is no more confined than who starts it, unless a type is asked for by name.
// INVALID_ARGUMENT names what can't be part of a label.
absl::StatusOr<linux::SelinuxLabels> LabelsOf(const std::optional<linux::SelinuxLabels>& policy,
                                              const linux::SelinuxOptions& pod,
                                              const SecurityContext& security);

// What somebody has asked of the label that LabelsOf gives the container's process; nullopt: it has
// none. Without a level that is the pod's, which may have it from us.
std::optional<linux::SelinuxOptions> AskedOfLabel(const std::optional<linux::SelinuxLabels>& policy,
                                                  const linux::SelinuxOptions& pod,
                                                  const SecurityContext& security);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_SELINUX_LABELS_H_
