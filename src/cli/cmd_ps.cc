// plimsoll ps
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/lookup.h"
#include "cli/table.h"
#include "cli/text.h"

namespace plimsoll::cli {
namespace {

const char* StateText(cri::ContainerState state) {
  switch (state) {
    case cri::CONTAINER_CREATED:
      return "Created";
    case cri::CONTAINER_RUNNING:
      return "Running";
    case cri::CONTAINER_EXITED:
      return "Exited";
    default:
      return "Unknown";
  }
}

std::string RoleOf(const cri::Container& container) {
  const auto role = container.labels().find(kRoleLabel);
  return role == container.labels().end() ? "-" : role->second;
}

absl::StatusOr<int> Ps(const CommandContext& context, bool all, const std::string& pod_name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client->ListPodSandboxes());
  std::string sandbox;
  if (!pod_name.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const cri::PodSandbox pod, FindPod(pods, pod_name));
    sandbox = pod.id();
  }
  PLIMSOLL_ASSIGN_OR_RETURN(auto containers, client->ListContainers(sandbox));
  std::erase_if(containers, [&](const cri::Container& container) {
    return !all && container.state() != cri::CONTAINER_RUNNING;
  });
  std::sort(containers.begin(), containers.end(),
            [](const auto& a, const auto& b) { return a.created_at() > b.created_at(); });
  if (context.for_programs()) {
    cri::ListContainersResponse response;
    for (const cri::Container& container : containers) *response.add_containers() = container;
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(response, context.format()));
    return kExitOk;
  }
  const bool wide = context.format() == OutputFormat::kWide;
  std::vector<std::string> header = {"ID", "NAME", "POD", "STATE", "AGE", "IMAGE"};
  if (wide) header.insert(header.end(), {"ROLE", "ATTEMPT", "SANDBOX", "IMAGE ID"});
  Table table(std::move(header));
  const int64_t now = absl::ToUnixNanos(absl::Now());
  for (const cri::Container& container : containers) {
    table.AddRow({wide ? container.id() : ShortId(container.id()), container.metadata().name(),
                  PodNameOf(container, pods), StateText(container.state()),
                  HumanAge(absl::Nanoseconds(now - container.created_at())),
                  container.image().user_specified_image().empty()
                      ? container.image().image()
                      : container.image().user_specified_image(),
                  RoleOf(container), absl::StrCat(container.metadata().attempt()),
                  ShortId(container.pod_sandbox_id()), ShortId(container.image_id())});
  }
  Print(table.ToString());
  return kExitOk;
}

}  // namespace

void AddPsCommand(CLI::App& app, CommandContext& context) {
  CLI::App* ps = app.add_subcommand("ps", "List containers.");
  auto all = std::make_shared<bool>(false);
  auto pod = std::make_shared<std::string>();
  ps->add_flag("-a,--all", *all, "Also those that are not running");
  ps->add_option("--pod", *pod, "Only those of this pod")->type_name("POD");
  context.Act(ps, [&context, all, pod] { return Ps(context, *all, *pod); });
}

}  // namespace plimsoll::cli
