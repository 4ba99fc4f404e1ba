// plimsoll ps
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/filters.h"
#include "cli/lookup.h"
#include "cli/message_json.h"
#include "cli/table.h"
#include "cli/text.h"

namespace plimsoll::cli {
namespace {

struct PsArguments {
  bool all = false;
  bool quiet = false;
  std::string pod;
  ListFilters filters;
};

struct Row {
  cri::Container container;
  cri::PodSandbox pod;          // default where it has gone
  cri::ContainerStatus status;  // of one that has exited, else default
  bool exited() const { return container.state() == cri::CONTAINER_EXITED; }
};

std::string RoleOf(const cri::Container& container) {
  const auto role = container.labels().find(kRoleLabel);
  return role == container.labels().end() ? "-" : role->second;
}

std::string PodText(const Row& row) {
  return row.pod.id().empty() ? ShortId(row.container.pod_sandbox_id()) : row.pod.metadata().name();
}

std::string ImageText(const cri::ImageSpec& image) {
  return image.user_specified_image().empty() ? image.image() : image.user_specified_image();
}

absl::StatusOr<std::vector<Row>> Select(Client& client, const PsArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client.ListPodSandboxes());
  std::string sandbox;
  if (!arguments.pod.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const cri::PodSandbox pod, FindPod(pods, arguments.pod));
    sandbox = pod.id();
  }
  std::map<std::string, const cri::PodSandbox*> by_id;
  for (const cri::PodSandbox& pod : pods) by_id[pod.id()] = &pod;
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client.ListContainers(sandbox));
  // Who asks for a state means it.
  const bool all = arguments.all || !arguments.filters.state.empty();
  std::vector<Row> rows;
  for (const cri::Container& container : containers) {
    if (!all && container.state() != cri::CONTAINER_RUNNING) continue;
    const auto pod = by_id.find(container.pod_sandbox_id());
    if (!Matches(arguments.filters, container, pod == by_id.end() ? nullptr : pod->second)) {
      continue;
    }
    rows.push_back({container, pod == by_id.end() ? cri::PodSandbox() : *pod->second, {}});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.container.created_at() > b.container.created_at();
  });
  return rows;
}

// How those that have exited did: the list doesn't tell. One that has been removed meanwhile keeps
// its row.
absl::Status AddEnds(Client& client, std::vector<Row>& rows) {
  for (Row& row : rows) {
    if (!row.exited()) continue;
    const auto status = client.ContainerStatus(row.container.id());
    if (absl::IsNotFound(status.status())) continue;
    PLIMSOLL_RETURN_IF_ERROR(status.status());
    row.status = status->status();
  }
  return absl::OkStatus();
}

absl::Status PrintForPrograms(const std::vector<Row>& rows, OutputFormat format) {
  nlohmann::ordered_json document = {{"containers", nlohmann::ordered_json::array()}};
  for (const Row& row : rows) {
    PLIMSOLL_ASSIGN_OR_RETURN(nlohmann::ordered_json json, MessageJson(row.container));
    json["podName"] = row.pod.metadata().name();
    json["podNamespace"] = row.pod.metadata().namespace_();
    json["exitCode"] = nullptr;
    if (row.exited()) json["exitCode"] = row.status.exit_code();
    json["reason"] = row.status.reason();
    json["finishedAt"] = TimeJson(row.status.finished_at());
    document["containers"].push_back(std::move(json));
  }
  return PrintJson(document.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace),
                   format);
}

std::string Ago(int64_t unix_nanos, absl::Time now) {
  return unix_nanos == 0 ? "-"
                         : absl::StrCat(HumanAge(now - absl::FromUnixNanos(unix_nanos)), " ago");
}

// `ends`: with the columns of how they ended.
std::string TableOf(const std::vector<Row>& rows, bool ends, bool wide) {
  std::vector<std::string> header = {"ID", "NAME", "POD", "STATE"};
  if (ends) header.insert(header.end(), {"EXIT CODE", "REASON", "ENDED"});
  header.insert(header.end(), {"AGE", "IMAGE"});
  if (wide) header.insert(header.end(), {"ROLE", "ATTEMPT", "SANDBOX", "IMAGE ID"});
  Table table(std::move(header));
  const absl::Time now = absl::Now();
  for (const Row& row : rows) {
    const cri::Container& container = row.container;
    std::vector<std::string> cells = {wide ? container.id() : ShortId(container.id()),
                                      container.metadata().name(), PodText(row),
                                      StateText(container.state())};
    if (ends) {
      cells.push_back(row.exited() ? absl::StrCat(row.status.exit_code()) : "-");
      cells.push_back(row.status.reason().empty() ? "-" : row.status.reason());
      cells.push_back(Ago(row.status.finished_at(), now));
    }
    cells.push_back(HumanAge(now - absl::FromUnixNanos(container.created_at())));
    cells.push_back(ImageText(container.image()));
    cells.insert(cells.end(), {RoleOf(container), absl::StrCat(container.metadata().attempt()),
                               ShortId(container.pod_sandbox_id()), ShortId(container.image_id())});
    table.AddRow(std::move(cells));
  }
  return table.ToString();
}

absl::StatusOr<int> Ps(const CommandContext& context, const PsArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<Row> rows, Select(*client, arguments));
  if (arguments.quiet) {
    for (const Row& row : rows) Print(absl::StrCat(row.container.id(), "\n"));
    return kExitOk;
  }
  PLIMSOLL_RETURN_IF_ERROR(AddEnds(*client, rows));
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintForPrograms(rows, context.format()));
    return kExitOk;
  }
  const bool ends = arguments.all || std::any_of(rows.begin(), rows.end(),
                                                 [](const Row& row) { return row.exited(); });
  Print(TableOf(rows, ends, context.format() == OutputFormat::kWide));
  return kExitOk;
}

}  // namespace

void AddPsCommand(CLI::App& app, CommandContext& context) {
  CLI::App* ps = app.add_subcommand(
      "ps", "List containers: those that run, and with --all how the others ended.");
  auto arguments = std::make_shared<PsArguments>();
  ps->add_flag("-a,--all", arguments->all, "Also those that are not running");
  ps->add_flag("-q,--quiet", arguments->quiet, "Print ids alone, a line each");
  ps->add_option("--pod", arguments->pod, "Only those of this pod")->type_name("POD");
  AddFilterOptions(*ps, {"created", "running", "exited", "unknown"}, &arguments->filters);
  context.Act(ps, [&context, arguments] { return Ps(context, *arguments); });
}

}  // namespace plimsoll::cli
