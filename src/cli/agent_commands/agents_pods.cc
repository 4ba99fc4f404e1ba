#include "cli/agent_commands/agents_pods.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "cli/agent_commands/agent_connect.h"
#include "cli/agent_commands/run_by_agent.h"
#include "cli/terminal/errors.h"
#include "cli/terminal/object_fields.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "pod_runner/runtime_client/labels.h"

namespace plimsoll::cli {

absl::StatusOr<AgentsPods> AgentsPods::Of(const CommandContext& context, absl::Duration patience) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<agent::AgentClient> agent, AgentOf(context, patience));
  return AgentsPods(std::move(agent));
}

absl::Status AgentsPods::CheckFree(const cri::PodSandbox& pod) const {
  if (!pod.labels().contains(pod::kAgentLabel) || *hangs_) return absl::OkStatus();
  const std::string& name = pod.metadata().name();
  const std::string& pod_namespace = pod.metadata().namespace_();
  const absl::StatusOr<KubeObject> object = agent_->Get(pod_namespace, name);
  if (absl::IsDeadlineExceeded(object.status())) *hangs_ = true;
  if (!object.ok() || TextOf(*object, {"metadata", "uid"}) != pod.metadata().uid() ||
      !TextOf(*object, {"metadata", "deletionTimestamp"}).empty()) {
    return absl::OkStatus();
  }
  return WithHint(absl::FailedPreconditionError(
                      absl::StrCat("pod ", pod_namespace, "/", name,
                                   " belongs to plimsoll-agent, which alone ends and removes it")),
                  RemovalHint(*object, pod_namespace, name));
}

void AgentsPods::LeaveOut(std::vector<cri::PodSandbox>& pods) const {
  std::erase_if(pods, [this](const cri::PodSandbox& pod) {
    const absl::Status free = CheckFree(pod);
    if (free.ok()) return false;
    PrintNote(
        absl::StrCat("note: ", Printable(free.message()), "; it stays. ", HintOf(free), "\n"));
    return true;
  });
}

std::string RemovalCommand(const cri::PodSandbox& pod) {
  if (pod.labels().contains(pod::kAgentLabel)) {
    return DeleteCommand(pod.metadata().namespace_(), pod.metadata().name());
  }
  return absl::StrCat("plimsoll rm ", pod.state() == cri::SANDBOX_READY ? "--force " : "",
                      ShortId(pod.id()));
}

}  // namespace plimsoll::cli
