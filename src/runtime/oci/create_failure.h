// User-visible errors of a container that can't be created, or whose program can't be executed.
#ifndef PLIMSOLL_RUNTIME_OCI_CREATE_FAILURE_H_
#define PLIMSOLL_RUNTIME_OCI_CREATE_FAILURE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "linux/selinux.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::runtime {

// The reason of a failed create, if the workload itself can't run: its program is not in the
// container or can't be executed (OUT_OF_RANGE: its arguments and environment are too large), or
// its working directory can't be entered. Such a container is created all the same, and its start
// fails with this. nullopt: another failure. `command` is the container's first argument,
// `directory` its working directory, whether its own or the image's.
std::optional<std::string> RefusalOf(const absl::Status& failure, const ContainerSpec& spec,
                                     const std::string& command, const std::string& directory);

// The reason why an init could not execute its program, from the OCI runtime's message, which the
// monitor kept of its standard error and which may be empty. `foreign_architecture`: that of the
// image, if it is not the machine's.
std::string ExplainExecFailure(absl::string_view words,
                               absl::string_view foreign_architecture = "");

// Translates other failures: INTERNAL with the OCI runtime's message becomes an error that says who
// is at fault and how to fix it. Errors with other codes are returned as they are. `label`: the
// SELinux label that the container asked for (AskedOfLabel); nullopt: none.
absl::Status TranslateCreateFailure(const absl::Status& failure, const ContainerSpec& spec,
                                    const std::optional<linux::SelinuxOptions>& label);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_CREATE_FAILURE_H_
