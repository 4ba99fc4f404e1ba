#include "cli/agent_commands/agent_connect.h"

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/command/connect.h"

namespace plimsoll::cli {

absl::StatusOr<std::unique_ptr<agent::AgentClient>> AgentOf(const CommandContext& context,
                                                            absl::Duration patience) {
  std::string socket = context.agent;
  const char* const given = std::getenv("PLIMSOLL_AGENT");
  if (socket.empty() && given != nullptr) socket = given;
  if (socket.empty()) socket = agent::kDefaultAgentSocket;
  socket = std::string(absl::StripPrefix(socket, "unix://"));
  if (!absl::StartsWith(socket, "/")) {
    return UsageError(absl::InvalidArgumentError(
        absl::StrCat("--agent: \"", socket, "\" is no absolute path of a socket")));
  }
  return std::make_unique<agent::AgentClient>(
      agent::AgentClientOptions{.socket = socket, .patience = patience});
}

absl::Status WithAgentHint(const absl::Status& status, absl::string_view instead) {
  if (agent::IsNoAgent(status)) {
    return WithHint(status,
                    absl::StrCat(HowToStart("plimsoll-agent"), ", or name its socket by --agent.",
                                 instead.empty() ? "" : " ", instead));
  }
  switch (status.code()) {
    case absl::StatusCode::kPermissionDenied:
      // The agent's own refusal, as of a quota, says all in its message. The empty hint keeps the
      // daemon's away.
      return WithHint(status,
                      agent::MayNotConnect(status) ? "Only root may use the agent's socket." : "");
    case absl::StatusCode::kUnavailable:
      return WithHint(status, "Try again; if that doesn't help, the agent's log says why.");
    case absl::StatusCode::kDeadlineExceeded:
      return WithHint(status, "The agent took too long; its log says what it was waiting for.");
    case absl::StatusCode::kUnimplemented:
      return WithHint(status,
                      "The agent's configuration, its feature gates, or its age forbids it.");
    default:
      return status;
  }
}

void AddNamespaceOption(CLI::App& command, std::string* pod_namespace) {
  *pod_namespace = "default";
  command.add_option("-n,--namespace", *pod_namespace, "Namespace; default if not given")
      ->type_name("NAMESPACE");
}

}  // namespace plimsoll::cli
