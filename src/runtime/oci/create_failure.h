// What users see when a container can't be created.
#ifndef PLIMSOLL_RUNTIME_OCI_CREATE_FAILURE_H_
#define PLIMSOLL_RUNTIME_OCI_CREATE_FAILURE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "linux/selinux.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::runtime {

// Turns an INTERNAL error with the OCI runtime's words into one whose code and message say whose
// fault it is and what would be right; other codes pass. `command` is the container's first
// argument; `label` is what was asked of its SELinux label (AskedOfLabel; nullopt: it has none).
absl::Status TranslateCreateFailure(const absl::Status& failure, const ContainerSpec& spec,
                                    const std::string& command,
                                    const std::optional<linux::SelinuxOptions>& label);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_CREATE_FAILURE_H_
