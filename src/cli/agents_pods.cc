#include "cli/agents_pods.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/status.h"
#include "cli/agent_connect.h"
#include "cli/errors.h"
#include "cli/object_fields.h"
#include "cli/output.h"
#include "cli/run_by_agent.h"
#include "pod/to_cri.h"

namespace plimsoll::cli {
namespace {

// A pod must be removable though its agent hangs.
constexpr absl::Duration kAgentsPatience = absl::Seconds(5);

}  // namespace

absl::StatusOr<AgentsPods> AgentsPods::Of(const CommandContext& context) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<agent::Client> agent,
                            AgentOf(context, kAgentsPatience));
  return AgentsPods(std::move(agent));
}

absl::Status AgentsPods::CheckFree(const cri::PodSandbox& pod) const {
  if (!pod.labels().contains(pod::kAgentLabel)) return absl::OkStatus();
  const std::string& name = pod.metadata().name();
  const std::string& pod_namespace = pod.metadata().namespace_();
  const absl::StatusOr<KubeObject> object = agent_->Get(pod_namespace, name);
  if (!object.ok() || TextOf(*object, {"metadata", "uid"}) != pod.metadata().uid() ||
      !TextOf(*object, {"metadata", "deletionTimestamp"}).empty()) {
    return absl::OkStatus();
  }
  const std::string file =
      TextOf(*object, {"metadata", "annotations", "plimsoll.dev/manifest-file"});
  return WithHint(absl::FailedPreconditionError(
                      absl::StrCat("pod ", pod_namespace, "/", name,
                                   " is run by plimsoll-agent, which would start it again")),
                  file.empty() ? absl::StrCat("To end it: ", DeleteCommand(pod_namespace, name))
                               : absl::StrCat("To end it, remove it from ", Printable(file)));
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

}  // namespace plimsoll::cli
