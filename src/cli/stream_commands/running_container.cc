#include "cli/stream_commands/running_container.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/command/lookup.h"
#include "cli/terminal/errors.h"
#include "pod_runner/runtime_client/labels.h"

namespace plimsoll::cli {
namespace {

absl::StatusOr<cri::Container> FindTarget(pod::Client& client, const std::string& name,
                                          const std::string& container_name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client.ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(auto containers, client.ListContainers());
  PLIMSOLL_ASSIGN_OR_RETURN(const PodOrContainer found,
                            FindPodOrContainer(pods, containers, name, container_name));
  const auto* pod = std::get_if<cri::PodSandbox>(&found);
  if (pod == nullptr) return std::get<cri::Container>(found);
  std::sort(containers.begin(), containers.end(),
            [](const auto& a, const auto& b) { return a.created_at() < b.created_at(); });
  for (const cri::Container& container : containers) {
    const auto role = container.labels().find(pod::kRoleLabel);
    if (container.pod_sandbox_id() != pod->id() || container.state() != cri::CONTAINER_RUNNING ||
        (role != container.labels().end() && role->second != "container")) {
      continue;
    }
    return container;
  }
  return WithHint(
      absl::FailedPreconditionError(absl::StrCat("pod ", name, " has no running container")),
      "`plimsoll ps --all` shows their ends.");
}

}  // namespace

absl::StatusOr<cri::Container> RunningContainer(pod::Client& client, const std::string& name,
                                                const std::string& container_name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const cri::Container container,
                            FindTarget(client, name, container_name));
  if (container.state() == cri::CONTAINER_RUNNING) return container;
  return WithHint(absl::FailedPreconditionError(
                      absl::StrCat("container ", container.metadata().name(), " is not running")),
                  "`plimsoll ps` lists the running ones.");
}

}  // namespace plimsoll::cli
