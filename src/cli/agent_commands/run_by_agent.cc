#include "cli/agent_commands/run_by_agent.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "cli/agent_commands/agent_connect.h"
#include "cli/terminal/errors.h"
#include "cli/terminal/object_fields.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"

namespace plimsoll::cli {
namespace {

using Role = resources::ContainerRequirements::Role;

std::string FullNameOf(const pod::Manifest& pod) {
  return absl::StrCat("pod ", pod.pod_namespace, "/", pod.name);
}

std::string WithMessage(const KubeObject& object) {
  const std::string message = TextOf(object, {"message"});
  return absl::StrCat(TextOf(object, {"reason"}), message.empty() ? "" : ": ", message);
}

// The container's first run has begun, whatever became of it.
bool HasBegun(const KubeObject& container) {
  return FieldOf(container, {"state", "running"}).is_object() ||
         FieldOf(container, {"state", "terminated"}).is_object() ||
         FieldOf(container, {"lastState", "terminated"}).is_object();
}

bool HaveBegun(const KubeObject& pod) {
  const std::string phase = TextOf(pod, {"status", "phase"});
  if (phase == "Succeeded" || phase == "Failed") return true;
  const std::vector<KubeObject> containers = ItemsOf(pod, {"status", "containerStatuses"});
  return !containers.empty() && std::all_of(containers.begin(), containers.end(), HasBegun);
}

// Why the pod doesn't start; empty: it is on its way.
std::string HindranceOf(const KubeObject& pod) {
  const KubeObject& status = FieldOf(pod, {"status"});
  if (TextOf(status, {"phase"}) == "Failed" && !TextOf(status, {"reason"}).empty()) {
    return WithMessage(status);
  }
  for (const KubeObject& each : ItemsOf(status, {"conditions"})) {
    if (TextOf(each, {"reason"}) == "FailedCreatePodSandBox") return WithMessage(each);
  }
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const KubeObject& each : ItemsOf(status, {list})) {
      const KubeObject& waiting = FieldOf(each, {"state", "waiting"});
      const std::string reason = TextOf(waiting, {"reason"});
      if (reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing") continue;
      if (HasBegun(each) && std::string(list) == "containerStatuses") continue;
      return absl::StrCat("container ", TextOf(each, {"name"}), ": ", WithMessage(waiting));
    }
  }
  return "";
}

absl::Status NotStarted(const pod::Manifest& pod, const std::string& hindrance, bool has_failed) {
  return WithHint(
      absl::FailedPreconditionError(absl::StrCat(FullNameOf(pod), " has not started: ", hindrance)),
      absl::StrCat(has_failed ? "The agent keeps its status. " : "The agent goes on trying. ",
                   "To give up: ", DeleteCommand(pod.pod_namespace, pod.name)));
}

// Waits for the pod's start. OK where it started, or where the wait was interrupted.
absl::Status AwaitStart(const agent::AgentClient& agent, const pod::Manifest& pod,
                        const Interrupts& interrupts, pod::Outcome& outcome) {
  while (interrupts.count() == 0) {
    const absl::StatusOr<KubeObject> object = agent.Get(pod.pod_namespace, pod.name);
    if (!object.ok()) {
      return WithAgentHint(Annotate(object.status(), absl::StrCat("wait for ", FullNameOf(pod))));
    }
    const std::string hindrance = HindranceOf(*object);
    if (!hindrance.empty()) {
      return NotStarted(pod, hindrance, TextOf(*object, {"status", "phase"}) == "Failed");
    }
    if (HaveBegun(*object)) {
      outcome.started = true;
      return absl::OkStatus();
    }
    PLIMSOLL_RETURN_IF_ERROR(agent.Rest(kLookInterval));
  }
  outcome.interrupted = true;
  return absl::OkStatus();
}

// Adds the runtime's report on the pod. A runtime that is away leaves it out.
void Describe(pod::Client& runtime, const pod::Manifest& pod, pod::Outcome& outcome) {
  const auto sandboxes = runtime.ListPodSandboxes(outcome.uid);
  const auto containers = runtime.ListContainersOf(outcome.uid);
  if (!sandboxes.ok() || !containers.ok()) return;
  const auto newest = std::max_element(
      sandboxes->begin(), sandboxes->end(),
      [](const auto& one, const auto& other) { return one.created_at() < other.created_at(); });
  if (newest != sandboxes->end()) outcome.sandbox_id = newest->id();
  for (const pod::ContainerManifest& each : pod.containers) {
    pod::ContainerOutcome container;
    container.name = each.name;
    container.role = each.role;
    container.config.mutable_image()->set_image(each.image);
    const cri::Container* last = nullptr;
    for (const cri::Container& there : *containers) {
      if (there.metadata().name() != each.name) continue;
      if (last == nullptr || last->metadata().attempt() < there.metadata().attempt()) last = &there;
    }
    if (last != nullptr) {
      const auto status = runtime.ContainerStatus(last->id());
      container.created = status.ok();
      container.restarts = static_cast<int>(last->metadata().attempt());
      if (status.ok()) container.status = status->status();
    }
    outcome.containers.push_back(std::move(container));
  }
}

absl::Status CheckAbsent(const agent::AgentClient& agent, const std::vector<pod::Manifest>& pods) {
  for (const pod::Manifest& pod : pods) {
    const absl::StatusOr<KubeObject> there = agent.Get(pod.pod_namespace, pod.name);
    if (absl::IsNotFound(there.status())) continue;
    PLIMSOLL_RETURN_IF_ERROR(WithAgentHint(there.status()));
    return WithHint(absl::AlreadyExistsError(
                        absl::StrCat(FullNameOf(pod), " is there already, with the agent")),
                    RemovalHint(*there, pod.pod_namespace, pod.name));
  }
  return absl::OkStatus();
}

std::string UidOf(const std::vector<KubeObject>& objects, const pod::Manifest& pod) {
  for (const KubeObject& each : objects) {
    if (TextOf(each, {"metadata", "name"}) == pod.name &&
        TextOf(each, {"metadata", "namespace"}) == pod.pod_namespace) {
      return TextOf(each, {"metadata", "uid"});
    }
  }
  return "";
}

}  // namespace

std::string DeleteCommand(const std::string& pod_namespace, const std::string& name) {
  return absl::StrCat(
      "plimsoll delete pod ", ShellQuote(name),
      pod_namespace == "default" ? "" : absl::StrCat(" -n ", ShellQuote(pod_namespace)));
}

std::string RemovalHint(const KubeObject& pod, const std::string& pod_namespace,
                        const std::string& name) {
  const std::string file = TextOf(pod, {"metadata", "annotations", "plimsoll.dev/manifest-file"});
  return file.empty() ? absl::StrCat("To have it removed: ", DeleteCommand(pod_namespace, name))
                      : absl::StrCat("To have it removed, take it out of ", Printable(file));
}

absl::StatusOr<std::vector<pod::Outcome>> RunByAgent(const agent::AgentClient& agent,
                                                     pod::Client& runtime, const std::string& text,
                                                     const std::vector<pod::Manifest>& pods,
                                                     const Interrupts& interrupts) {
  PLIMSOLL_RETURN_IF_ERROR(CheckAbsent(agent, pods));
  const absl::Time begin = absl::Now();
  const absl::StatusOr<std::vector<KubeObject>> applied = agent.Apply(text);
  if (!applied.ok()) return WithAgentHint(applied.status());
  std::vector<pod::Outcome> outcomes;
  std::string left;
  for (const pod::Manifest& pod : pods) {
    pod::Outcome outcome;
    outcome.uid = UidOf(*applied, pod);
    outcome.status = AwaitStart(agent, pod, interrupts, outcome);
    outcome.start_time = absl::Now() - begin;
    Describe(runtime, pod, outcome);
    if (outcome.interrupted) {
      absl::StrAppend(&left, "  ", DeleteCommand(pod.pod_namespace, pod.name), "\n");
    }
    outcomes.push_back(std::move(outcome));
  }
  if (!left.empty()) {
    PrintNote(absl::StrCat("plimsoll: interrupted; the agent has the pods. To end them:\n", left));
  }
  return outcomes;
}

}  // namespace plimsoll::cli
