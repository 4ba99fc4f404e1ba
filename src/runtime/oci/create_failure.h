// What users see when a container can't be created, or its program not executed.
#ifndef PLIMSOLL_RUNTIME_OCI_CREATE_FAILURE_H_
#define PLIMSOLL_RUNTIME_OCI_CREATE_FAILURE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "linux/selinux.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::runtime {

// Of a failed create: why the workload itself can't run, if that is the reason: its program is not
// in the container or can't be executed, or its working directory can't be entered. Such a
// container is created all the same, and its start fails with this. nullopt: something else is
// wrong. `command` is the container's first argument, `directory` its working directory, whether
// its own or the image's.
std::optional<std::string> RefusalOf(const absl::Status& failure, const ContainerSpec& spec,
                                     const std::string& command, const std::string& directory);

// Why an init could not execute its program, from the OCI runtime's own words, which the monitor
// kept of its standard error; those may be empty.
std::string ExplainExecFailure(absl::string_view words);

// Of other failures: turns an INTERNAL error with the OCI runtime's words into one whose code and
// message say whose fault it is and what would be right; other codes pass. `label` is what was
// asked of its SELinux label (AskedOfLabel; nullopt: it has none).
absl::Status TranslateCreateFailure(const absl::Status& failure, const ContainerSpec& spec,
                                    const std::optional<linux::SelinuxOptions>& label);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_CREATE_FAILURE_H_
