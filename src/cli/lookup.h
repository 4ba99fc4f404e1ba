// Which pod or container the user means. Both are named by name, "namespace/name" (pods) or
// "pod/container" (containers), or the beginning of their id.
#ifndef PLIMSOLL_CLI_LOOKUP_H_
#define PLIMSOLL_CLI_LOOKUP_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/api.h"

namespace plimsoll::cli {

// Exact names win over id prefixes; of several attempts of one container the newest is meant.
// NOT_FOUND and, for several matches, INVALID_ARGUMENT list what there is.
absl::StatusOr<cri::PodSandbox> FindPod(const std::vector<cri::PodSandbox>& pods,
                                        absl::string_view text);
absl::StatusOr<cri::Container> FindContainer(const std::vector<cri::Container>& containers,
                                             const std::vector<cri::PodSandbox>& pods,
                                             absl::string_view text);

// For commands that take both. A pod wins over a container, and either's name over the beginning of
// the other's id. Errors as above.
using PodOrContainer = std::variant<cri::PodSandbox, cri::Container>;
absl::StatusOr<PodOrContainer> FindPodOrContainer(const std::vector<cri::PodSandbox>& pods,
                                                  const std::vector<cri::Container>& containers,
                                                  absl::string_view text);

// The name of the pod that a container belongs to; its sandbox's short id when that has gone.
std::string PodNameOf(const cri::Container& container, const std::vector<cri::PodSandbox>& pods);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_LOOKUP_H_
