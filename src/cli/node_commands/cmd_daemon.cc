// plimsoll daemon status, plimsoll version
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "cli/command/command.h"
#include "cli/command/connect.h"
#include "cli/node_commands/node_commands.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"

#ifndef PLIMSOLL_VERSION
#define PLIMSOLL_VERSION "unknown"
#endif

namespace plimsoll::cli {
namespace {

std::string DescribeClusterSocket(const node::DaemonStatusResponse& status) {
  if (status.cluster_socket().empty()) return "none";
  return absl::StrCat(
      Printable(status.cluster_socket()),
      status.cluster_watchers() == 0 ? ", nobody follows" : ", plimsoll-kube follows",
      status.told_claims() == 0
          ? ""
          : absl::StrCat(", claims with classes of pods: ", status.told_claims()));
}

// The names that a pod's runtimeClassName can have; empty: there are none.
std::string HandlerNames(const cri::StatusResponse& runtime) {
  std::vector<std::string> names;
  for (const cri::RuntimeHandler& handler : runtime.runtime_handlers()) {
    if (!handler.name().empty()) names.push_back(Printable(handler.name()));
  }
  return absl::StrJoin(names, ", ");
}

std::string DescribeDaemon(const std::string& address, const node::DaemonStatusResponse& status,
                           const cri::StatusResponse& runtime) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"address", address},
      {"state", status.state_directory()},
      {"run", status.run_directory()},
      {"configuration", status.config_path().empty() ? "built-in defaults" : status.config_path()},
      {"cgroups", status.cgroup_layout()},
      {"pods", absl::StrCat(status.ready_sandboxes(), " ready of ", status.sandboxes())},
      {"containers",
       absl::StrCat(status.running_containers(), " running of ", status.containers())},
      {"images", absl::StrCat(status.images())}};
  facts.emplace_back("cluster", DescribeClusterSocket(status));
  facts.emplace_back("classes from", status.classes_from_scheduler() ? "the cluster's scheduler"
                                                                     : "requests and annotations");
  for (const auto& [program, version] : status.programs()) facts.emplace_back(program, version);
  if (const std::string handlers = HandlerNames(runtime); !handlers.empty()) {
    facts.emplace_back("runtime classes", handlers);
  }
  for (const cri::RuntimeCondition& condition : runtime.status().conditions()) {
    facts.emplace_back(condition.type(),
                       absl::StrCat(condition.status() ? "yes" : "no",
                                    condition.message().empty() ? "" : ": ", condition.message()));
  }
  const std::string missing = Printable(absl::StrJoin(status.not_ready(), "; "));
  facts.emplace_back("ready", missing.empty() ? "yes" : absl::StrCat("no: ", missing));
  if (!status.metrics_url().empty()) facts.emplace_back("metrics", Printable(status.metrics_url()));
  std::string text = absl::StrCat(
      "plimsolld ", status.version(), ", process ", status.pid(), ", up ",
      HumanAge(absl::Now() - absl::FromUnixNanos(status.started_at())), "\n", AlignedPairs(facts));
  if (!status.limitations().empty()) absl::StrAppend(&text, "\nLimitations of this machine:\n");
  for (const std::string& limitation : status.limitations()) {
    absl::StrAppend(&text, "  - ", Printable(limitation), "\n");
  }
  if (!status.troubles().empty()) absl::StrAppend(&text, "\nNot put in order:\n");
  for (const std::string& trouble : status.troubles()) {
    absl::StrAppend(&text, "  - ", Printable(trouble), "\n");
  }
  return text;
}

absl::StatusOr<int> DaemonStatus(const CommandContext& context) {
  absl::StatusOr<std::unique_ptr<pod::Client>> connected = context.Connect(/*may_start=*/false);
  if (absl::IsUnavailable(connected.status()) && context.address.empty()) {
    // A daemon of our own can tell the machine's limitations.
    const std::string none(connected.status().message());
    connected = context.Connect();
    if (connected.ok()) {
      PrintNote(absl::StrCat(
          "plimsoll: ", none,
          "\n  This one is started for this command and ends with it. For one that stays: ",
          HowToStart("plimsolld"), ".\n\n"));
    }
  }
  PLIMSOLL_RETURN_IF_ERROR(connected.status());
  const std::unique_ptr<pod::Client> client = *std::move(connected);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto status, client->own().DaemonStatus());
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(status, context.format()));
    return kExitOk;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto runtime, client->RuntimeStatus(/*verbose=*/false));
  Print(DescribeDaemon(client->address(), status, runtime));
  return kExitOk;
}

// {"client": {"version": ...}, "server": the daemon's answer or null, "server_error": the reason}.
std::string VersionJson(const absl::StatusOr<cri::VersionResponse>& server) {
  nlohmann::ordered_json document = {{"client", {{"version", PLIMSOLL_VERSION}}}};
  document["server"] = nullptr;
  document["serverError"] = nullptr;
  if (server.ok()) {
    document["server"] = {{"version", server->runtime_version()},
                          {"name", server->runtime_name()},
                          {"criVersion", server->runtime_api_version()}};
  } else {
    document["serverError"] = std::string(server.status().message());
  }
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// No daemon is a valid answer, unless the user named one.
absl::StatusOr<int> Version(const CommandContext& context) {
  absl::StatusOr<cri::VersionResponse> server;
  const auto client = context.Connect(/*may_start=*/false);
  if (client.ok()) {
    server = (*client)->Version();
  } else {
    server = client.status();
  }
  const bool none_needed = absl::IsUnavailable(client.status()) && context.address.empty();
  const int code = server.ok() || none_needed ? kExitOk : kExitError;
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintJson(VersionJson(server), context.format()));
  } else {
    Print(absl::StrCat("plimsoll   ", PLIMSOLL_VERSION, "\n"));
    Print(server.ok()
              ? absl::StrCat("plimsolld  ", server->runtime_version(), " (", server->runtime_name(),
                             ", CRI ", server->runtime_api_version(), ")\n")
          : none_needed ? "plimsolld  not running\n"
                        : "plimsolld  not reachable\n");
  }
  if (code != kExitOk) return server.status();
  return code;
}

}  // namespace

void AddDaemonCommand(CLI::App& app, CommandContext& context) {
  CLI::App* daemon = app.add_subcommand("daemon", "Look at the daemon.");
  daemon->require_subcommand(1);
  CLI::App* status =
      daemon->add_subcommand("status",
                             "Show the state of the daemon, and the machine's limitations.\n\n"
                             "If the machine has no daemon, one is started for this command. "
                             "Where one was killed or is starting, that is an error.");
  context.Act(status, [&context] { return DaemonStatus(context); });
}

void AddVersionCommand(CLI::App& app, CommandContext& context) {
  CLI::App* version = app.add_subcommand("version",
                                         "Print the versions of program and daemon.\n\n"
                                         "A daemon that does not run is no error, unless --address "
                                         "names it.");
  context.Act(version, [&context] { return Version(context); });
}

}  // namespace plimsoll::cli
