// plimsoll pods
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "cli/command/command.h"
#include "cli/pod_commands/filters.h"
#include "cli/pod_commands/pod_commands.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "pod_runner/runtime_client/labels.h"

namespace plimsoll::cli {
namespace {

struct Counts {
  int running = 0;
  int all = 0;
};

std::string PodAnnotation(const cri::PodSandbox& pod, const char* key) {
  const auto it = pod.annotations().find(key);
  return it == pod.annotations().end() ? "-" : it->second;
}

// The pod's addresses, separated by commas, the main one first. "-": it has none of its own, or is
// removed.
absl::StatusOr<std::string> AddressesOf(pod::Client& client, const cri::PodSandbox& pod) {
  const auto status = client.PodSandboxStatus(pod.id(), /*verbose=*/false);
  if (absl::IsNotFound(status.status())) return "-";
  PLIMSOLL_RETURN_IF_ERROR(status.status());
  const cri::PodSandboxNetworkStatus& network = status->status().network();
  if (network.ip().empty()) return "-";
  std::string addresses = network.ip();
  for (const cri::PodIP& more : network.additional_ips()) {
    absl::StrAppend(&addresses, ",", more.ip());
  }
  return addresses;
}

struct PodsArguments {
  bool quiet = false;
  ListFilters filters;
};

std::map<std::string, Counts> CountByPod(const std::vector<cri::Container>& containers) {
  std::map<std::string, Counts> counts;
  for (const cri::Container& container : containers) {
    Counts& of_pod = counts[container.pod_sandbox_id()];
    ++of_pod.all;
    if (container.state() == cri::CONTAINER_RUNNING) ++of_pod.running;
  }
  return counts;
}

absl::StatusOr<std::string> TableOf(pod::Client& client, const std::vector<cri::PodSandbox>& pods,
                                    bool wide) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client.ListContainers());
  std::map<std::string, Counts> counts = CountByPod(containers);
  std::vector<std::string> header = {"ID", "NAMESPACE", "NAME", "STATE", "RUNNING", "AGE"};
  if (wide) header.insert(header.end(), {"IP", "QOS CLASS", "UID", "ATTEMPT"});
  Table table(std::move(header));
  const int64_t now = absl::ToUnixNanos(absl::Now());
  for (const cri::PodSandbox& pod : pods) {
    const Counts& of_pod = counts[pod.id()];
    std::string addresses;
    if (wide) {
      PLIMSOLL_ASSIGN_OR_RETURN(addresses, AddressesOf(client, pod));
    }
    table.AddRow({wide ? pod.id() : ShortId(pod.id()), pod.metadata().namespace_(),
                  pod.metadata().name(), StateText(pod.state()),
                  absl::StrCat(of_pod.running, "/", of_pod.all),
                  HumanAge(absl::Nanoseconds(now - pod.created_at())), std::move(addresses),
                  PodAnnotation(pod, pod::kQosAnnotation), pod.metadata().uid(),
                  absl::StrCat(pod.metadata().attempt())});
  }
  return table.ToString();
}

absl::StatusOr<int> Pods(const CommandContext& context, const PodsArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(auto pods, client->ListPodSandboxes());
  std::erase_if(pods, [&](const cri::PodSandbox& pod) { return !Matches(arguments.filters, pod); });
  std::sort(pods.begin(), pods.end(),
            [](const auto& a, const auto& b) { return a.created_at() > b.created_at(); });
  if (arguments.quiet) {
    for (const cri::PodSandbox& pod : pods) Print(absl::StrCat(pod.id(), "\n"));
    return kExitOk;
  }
  if (context.for_programs()) {
    cri::ListPodSandboxResponse response;
    for (const cri::PodSandbox& pod : pods) *response.add_items() = pod;
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(response, context.format()));
    return kExitOk;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string table,
                            TableOf(*client, pods, context.format() == OutputFormat::kWide));
  Print(table);
  context.NoteHiddenPods();
  return kExitOk;
}

}  // namespace

void AddPodsCommand(CLI::App& app, CommandContext& context) {
  CLI::App* pods = app.add_subcommand("pods", "List pods.");
  auto arguments = std::make_shared<PodsArguments>();
  pods->add_flag("-q,--quiet", arguments->quiet, "Print only ids, one a line");
  AddFilterOptions(*pods, {"ready", "stopped"}, &arguments->filters);
  context.Act(pods, [&context, arguments] { return Pods(context, *arguments); });
}

}  // namespace plimsoll::cli
