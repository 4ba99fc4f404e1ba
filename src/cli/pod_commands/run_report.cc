#include "cli/pod_commands/run_report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "cli/pod_commands/resource_report.h"
#include "cli/terminal/errors.h"
#include "cli/terminal/message_json.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"

namespace plimsoll::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string Milliseconds(absl::Duration duration) {
  const double ms = absl::ToDoubleMilliseconds(duration);
  return ms < 10000 ? absl::StrFormat("%.0f ms", ms) : HumanAge(duration);
}

const char* RoleText(resources::ContainerRequirements::Role role) {
  using Role = resources::ContainerRequirements::Role;
  return role == Role::kInit ? "init" : role == Role::kSidecar ? "sidecar" : "container";
}

std::string OutcomeText(const pod::ContainerOutcome& container) {
  if (!container.created) return "not created";
  switch (container.status.state()) {
    case cri::CONTAINER_RUNNING:
      return "Running";
    case cri::CONTAINER_CREATED:
      return "Created";
    default:
      return container.status.reason().empty() ? "Exited" : container.status.reason();
  }
}

std::string RanFor(const cri::ContainerStatus& status) {
  if (status.started_at() == 0 || status.finished_at() == 0) return "-";
  return Milliseconds(absl::Nanoseconds(status.finished_at() - status.started_at()));
}

bool HasExited(const pod::ContainerOutcome& container) {
  return container.created && container.status.state() == cri::CONTAINER_EXITED;
}

Json TextOrNull(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json StateJson(const pod::ContainerOutcome& container) {
  if (!container.created) return "not created";
  return container.status.state() == cri::CONTAINER_RUNNING   ? "running"
         : container.status.state() == cri::CONTAINER_CREATED ? "created"
         : container.status.state() == cri::CONTAINER_EXITED  ? "exited"
                                                              : "unknown";
}

Json OutcomeJson(const pod::ContainerOutcome& container) {
  Json resources = Json::array();
  // The request is unknown here for a container that an agent made.
  if (container.created && container.config.has_linux()) {
    for (const ResourceLine& line : CompareResources(container.config, container.held)) {
      resources.push_back({{"resource", line.resource},
                           {"askedFor", TextOrNull(line.wanted)},
                           {"sent", line.sent},
                           {"held", line.held},
                           {"differs", line.differs}});
    }
  }
  const cri::ContainerStatus& status = container.status;
  Json classes = Json::object();
  for (const auto& [type, name] : status.class_resources().classes()) classes[type] = name;
  return {{"name", container.name},
          {"role", RoleText(container.role)},
          {"id", TextOrNull(status.id())},
          {"image", container.config.image().image()},
          {"state", StateJson(container)},
          {"exitCode", HasExited(container) ? Json(status.exit_code()) : Json()},
          {"reason", TextOrNull(status.reason())},
          {"message", TextOrNull(status.message())},
          {"restarts", container.restarts},
          {"startedAt", TimeJson(status.started_at())},
          {"finishedAt", TimeJson(status.finished_at())},
          {"classes", std::move(classes)},
          {"resources", std::move(resources)}};
}

Json PodJson(const pod::Manifest& pod, const pod::Outcome& outcome) {
  Json containers = Json::array();
  for (const pod::ContainerOutcome& container : outcome.containers) {
    containers.push_back(OutcomeJson(container));
  }
  return {{"name", pod.name},
          {"namespace", pod.pod_namespace},
          {"uid", TextOrNull(outcome.uid)},
          {"sandboxId", TextOrNull(outcome.sandbox_id)},
          {"started", outcome.started},
          {"interrupted", outcome.interrupted},
          {"startMs", absl::ToDoubleMilliseconds(outcome.start_time)},
          {"initMs", absl::ToDoubleMilliseconds(outcome.init_time)},
          {"exitCode", ExitCodeOf(outcome)},
          {"error", outcome.status.ok() ? Json() : Json(std::string(outcome.status.message()))},
          {"containers", std::move(containers)}};
}

}  // namespace

int ExitCodeOf(const pod::Outcome& outcome) {
  if (!outcome.status.ok()) return kExitOwnFailure;
  if (outcome.interrupted) return kExitInterrupted;
  return outcome.FailedCode();
}

std::string RunSummary(const pod::Manifest& pod, const pod::Outcome& outcome) {
  Table table({"CONTAINER", "ROLE", "STATE", "EXIT CODE", "RESTARTS", "RAN FOR"});
  for (const pod::ContainerOutcome& container : outcome.containers) {
    table.AddRow({container.name, RoleText(container.role), OutcomeText(container),
                  HasExited(container) ? absl::StrCat(container.status.exit_code()) : "-",
                  absl::StrCat(container.restarts), RanFor(container.status)});
  }
  std::string text = absl::StrCat("\npod ", pod.pod_namespace, "/", pod.name, ": ",
                                  outcome.started ? "started in " : "did not start, gave up after ",
                                  Milliseconds(outcome.start_time));
  if (outcome.init_time > absl::ZeroDuration()) {
    absl::StrAppend(&text, ", ", Milliseconds(outcome.init_time), " of it in init containers");
  }
  return absl::StrCat(text, "\n", table.ToString());
}

std::string ResourceTable(const pod::Outcome& outcome) {
  Table table({"CONTAINER", "RESOURCE", "ASKED FOR", "AS LINUX SAYS IT", "KERNEL HOLDS", ""});
  for (const pod::ContainerOutcome& container : outcome.containers) {
    if (!container.created) continue;
    for (const ResourceLine& line : CompareResources(container.config, container.held)) {
      table.AddRow({container.name, line.resource, line.wanted.empty() ? "-" : line.wanted,
                    line.sent, line.held, line.differs ? "differs" : ""});
    }
  }
  return absl::StrCat("\n", table.ToString());
}

std::string RunJson(const std::vector<pod::Manifest>& pods,
                    const std::vector<pod::Outcome>& outcomes, int exit_code) {
  Json all = Json::array();
  for (size_t i = 0; i < pods.size() && i < outcomes.size(); ++i) {
    all.push_back(PodJson(pods[i], outcomes[i]));
  }
  const Json document = {{"exitCode", exit_code}, {"pods", std::move(all)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plimsoll::cli
