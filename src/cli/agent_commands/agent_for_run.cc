#include "cli/agent_commands/agent_for_run.h"

#include <sys/stat.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/agent_commands/agent_connect.h"
#include "cli/command/connect.h"
#include "cli/command/paths.h"
#include "cli/terminal/object_fields.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::cli {
namespace {

// An agent that hangs must not hold up a pod that can run without it.
constexpr absl::Duration kPatience = absl::Seconds(5);

// Both paths lead to one file, or are one path.
bool AreOnePlace(const std::string& one, const std::string& other) {
  struct stat a = {};
  struct stat b = {};
  if (stat(one.c_str(), &a) != 0 || stat(other.c_str(), &b) != 0) return one == other;
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

std::string WhyNoAnswer(const agent::AgentClient& agent, const absl::Status& failure) {
  if (agent::IsNoAgent(failure)) return absl::StrCat("no agent listens at ", agent.socket());
  return absl::StrCat("the agent at ", agent.socket(),
                      " does not tell its configuration: ", failure.message());
}

// Empty: the agent takes the pods.
absl::StatusOr<std::string> WhyNot(const agent::AgentClient& agent, const KubeObject& config,
                                   const std::string& socket, const std::string& objects) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string runtime,
                            pod::SocketPathOf(TextOf(config, {"runtimeEndpoint"})));
  if (!AreOnePlace(runtime, socket)) {
    return absl::StrCat("the agent at ", agent.socket(), " uses the runtime at ", runtime,
                        ", not the one at ", socket);
  }
  if (objects.empty()) return "";
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string wanted, FromRoot(objects));
  const std::string own = TextOf(config, {"objectsPath"});
  if (!own.empty() && AreOnePlace(own, wanted)) return "";
  return absl::StrCat("the agent at ", agent.socket(), " has ConfigMaps and Secrets ",
                      own.empty() ? "of no directory" : absl::StrCat("of ", own),
                      ", and --objects names ", wanted);
}

}  // namespace

absl::StatusOr<AgentChoice> ChooseAgent(const CommandContext& context, const std::string& objects) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<agent::AgentClient> agent, AgentOf(context, kPatience));
  const bool is_named = !context.agent.empty();
  const absl::StatusOr<KubeObject> config = agent->Config();
  if (!config.ok()) {
    if (is_named) return WithAgentHint(config.status(), "--no-agent runs the pods without one.");
    return AgentChoice{nullptr, WhyNoAnswer(*agent, config.status())};
  }
  const std::string socket = SocketFor({.address = context.address, .root = context.root});
  PLIMSOLL_ASSIGN_OR_RETURN(std::string why_not, WhyNot(*agent, *config, socket, objects));
  if (why_not.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(agent, AgentOf(context));
    return AgentChoice{std::move(agent), ""};
  }
  if (!is_named) return AgentChoice{nullptr, std::move(why_not)};
  return WithHint(absl::FailedPreconditionError(why_not),
                  "--no-agent instead of --agent runs the pods without one.");
}

}  // namespace plimsoll::cli
