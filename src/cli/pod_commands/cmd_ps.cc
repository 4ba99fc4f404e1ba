// plimsoll ps
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "cli/command/command.h"
#include "cli/command/lookup.h"
#include "cli/pod_commands/filters.h"
#include "cli/pod_commands/pod_commands.h"
#include "cli/pod_commands/ps_report.h"

namespace plimsoll::cli {
namespace {

struct PsArguments {
  bool all = false;
  bool quiet = false;
  std::string pod;
  ListFilters filters;
};

absl::StatusOr<std::vector<PsRow>> Select(pod::Client& client, const PsArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client.ListPodSandboxes());
  std::string sandbox;
  if (!arguments.pod.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const cri::PodSandbox pod, FindPod(pods, arguments.pod));
    sandbox = pod.id();
  }
  std::map<std::string, const cri::PodSandbox*> by_id;
  for (const cri::PodSandbox& pod : pods) by_id[pod.id()] = &pod;
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client.ListContainers(sandbox));
  // A state filter shows its containers without --all too.
  const bool all = arguments.all || !arguments.filters.state.empty();
  std::vector<PsRow> rows;
  for (const cri::Container& container : containers) {
    if (!all && container.state() != cri::CONTAINER_RUNNING) continue;
    const auto pod = by_id.find(container.pod_sandbox_id());
    if (!Matches(arguments.filters, container, pod == by_id.end() ? nullptr : pod->second)) {
      continue;
    }
    rows.push_back({container, pod == by_id.end() ? cri::PodSandbox() : *pod->second, {}});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const PsRow& a, const PsRow& b) {
    return a.container.created_at() > b.container.created_at();
  });
  return rows;
}

// Adds the exits of exited containers, which the list doesn't have. A container that was removed
// meanwhile keeps its row, without an exit code.
absl::Status AddEnds(pod::Client& client, std::vector<PsRow>& rows) {
  for (PsRow& row : rows) {
    if (!row.exited()) continue;
    const auto status = client.ContainerStatus(row.container.id());
    if (absl::IsNotFound(status.status())) continue;
    PLIMSOLL_RETURN_IF_ERROR(status.status());
    row.status = status->status();
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Ps(const CommandContext& context, const PsArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<PsRow> rows, Select(*client, arguments));
  if (arguments.quiet) {
    for (const PsRow& row : rows) Print(absl::StrCat(row.container.id(), "\n"));
    return kExitOk;
  }
  PLIMSOLL_RETURN_IF_ERROR(AddEnds(*client, rows));
  if (context.for_programs()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string document, PsJson(rows));
    PLIMSOLL_RETURN_IF_ERROR(PrintJson(document, context.format()));
    return kExitOk;
  }
  const bool ends = arguments.all || std::any_of(rows.begin(), rows.end(),
                                                 [](const PsRow& row) { return row.exited(); });
  Print(PsTable(rows, ends, context.format() == OutputFormat::kWide, absl::Now()));
  context.NoteHiddenPods();
  return kExitOk;
}

}  // namespace

void AddPsCommand(CLI::App& app, CommandContext& context) {
  CLI::App* ps =
      app.add_subcommand("ps", "List running containers, and with --all the others too.");
  auto arguments = std::make_shared<PsArguments>();
  ps->add_flag("-a,--all", arguments->all, "Also list containers that don't run");
  ps->add_flag("-q,--quiet", arguments->quiet, "Print only ids, one a line");
  ps->add_option("--pod", arguments->pod, "Only containers of this pod")->type_name("POD");
  AddFilterOptions(*ps, {"created", "running", "exited", "unknown"}, &arguments->filters);
  context.Act(ps, [&context, arguments] { return Ps(context, *arguments); });
}

}  // namespace plimsoll::cli
