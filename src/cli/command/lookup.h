// Finds the pod or container that the user names: by name, by "namespace/name" (pods) or
// "pod/container" (containers), or by the beginning of the id.
#ifndef PLIMSOLL_CLI_COMMAND_LOOKUP_H_
#define PLIMSOLL_CLI_COMMAND_LOOKUP_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/terminal/api.h"

namespace plimsoll::cli {

// An exact name wins over a prefix of an id. Of several sandboxes of a pod (earlier attempts, one
// from before a reboot) the Ready one is taken, else the newest, and its containers before those of
// the others. Of several attempts of a container in a sandbox the newest is taken. The name of a
// pod is its only container, or its container of that name, and no other pod's. NOT_FOUND and, for
// several matches, INVALID_ARGUMENT list the candidates.
absl::StatusOr<cri::PodSandbox> FindPod(const std::vector<cri::PodSandbox>& pods,
                                        absl::string_view text);
absl::StatusOr<cri::Container> FindContainer(const std::vector<cri::Container>& containers,
                                             const std::vector<cri::PodSandbox>& pods,
                                             absl::string_view text);

// For commands that take both. A pod wins over a container, and a name of either over a prefix of
// an id. Errors as above.
using PodOrContainer = std::variant<cri::PodSandbox, cri::Container>;
absl::StatusOr<PodOrContainer> FindPodOrContainer(const std::vector<cri::PodSandbox>& pods,
                                                  const std::vector<cri::Container>& containers,
                                                  absl::string_view text);
// The same with the value of --container, where it was given: a container of the pod `text`.
// NOT_FOUND lists the pod's containers. INVALID_ARGUMENT as of CheckOneContainer where `text` is a
// container.
absl::StatusOr<PodOrContainer> FindPodOrContainer(const std::vector<cri::PodSandbox>& pods,
                                                  const std::vector<cri::Container>& containers,
                                                  absl::string_view text,
                                                  absl::string_view container);

// For commands that take a container as POD/CONTAINER or by --container: `text`, as typed, names
// the container `named`. INVALID_ARGUMENT, a usage error: --container names another one.
absl::Status CheckOneContainer(absl::string_view text, absl::string_view named,
                               absl::string_view container);

// The name of the container's pod; the sandbox's short id after the pod's removal.
std::string PodNameOf(const cri::Container& container, const std::vector<cri::PodSandbox>& pods);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_COMMAND_LOOKUP_H_
