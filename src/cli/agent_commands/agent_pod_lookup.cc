#include "cli/agent_commands/agent_pod_lookup.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/closest_word.h"
#include "base/text/printable.h"
#include "cli/terminal/errors.h"

namespace plimsoll::cli {
namespace {

std::string HintAt(const std::vector<KubeObject>& pods, const std::string& pod_namespace,
                   const std::string& name) {
  std::vector<std::string> beside;
  for (const KubeObject& pod : pods) {
    const std::string of = TextOf(pod, {"metadata", "namespace"});
    const std::string each = TextOf(pod, {"metadata", "name"});
    if (each == name) return absl::StrCat("Did you mean that of `-n ", Printable(of), "`?");
    if (of == pod_namespace) beside.push_back(each);
  }
  const std::string closest = ClosestWord(name, beside);
  return closest.empty() ? "`plimsoll get pods -A` lists the agent's pods."
                         : absl::StrCat("Did you mean \"", Printable(closest), "\"?");
}

}  // namespace

absl::StatusOr<KubeObject> GetAgentPod(const agent::AgentClient& client,
                                       const std::string& pod_namespace, const std::string& name) {
  absl::StatusOr<KubeObject> pod = client.Get(pod_namespace, name);
  if (!absl::IsNotFound(pod.status())) return pod;
  const absl::StatusOr<std::vector<KubeObject>> pods = client.List("");
  if (!pods.ok()) return pod;
  return WithHint(pod.status(), HintAt(*pods, pod_namespace, name));
}

}  // namespace plimsoll::cli
