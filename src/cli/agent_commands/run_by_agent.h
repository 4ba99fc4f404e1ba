// `plimsoll run --detach` through an agent, which looks after the pods from then on.
#ifndef PLIMSOLL_CLI_AGENT_COMMANDS_RUN_BY_AGENT_H_
#define PLIMSOLL_CLI_AGENT_COMMANDS_RUN_BY_AGENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/client/client.h"
#include "cli/terminal/interrupts.h"
#include "cli/terminal/object_fields.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/runner.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::cli {

// Gives the manifests to the agent, all or none, and waits until the pods' containers have started.
// `text` is what `pods` were read from. Returns an outcome for each pod, in their order. A pod that
// doesn't start has an error; it stays with the agent, which goes on trying. An interrupt ends the
// wait, and leaves the pods to the agent too.
//
// ALREADY_EXISTS: the agent has a pod of such a name. Errors of the agent.
absl::StatusOr<std::vector<pod::Outcome>> RunByAgent(const agent::AgentClient& agent,
                                                     pod::Client& runtime, const std::string& text,
                                                     const std::vector<pod::Manifest>& pods,
                                                     const Interrupts& interrupts);

// "plimsoll delete pod web", with the namespace where that is another than the default one.
std::string DeleteCommand(const std::string& pod_namespace, const std::string& name);
// "To have it removed: " with that command, or for a pod of a manifest file "To have it removed,
// take it out of /m/web.yaml". `pod`: the agent's.
std::string RemovalHint(const KubeObject& pod, const std::string& pod_namespace,
                        const std::string& name);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_AGENT_COMMANDS_RUN_BY_AGENT_H_
