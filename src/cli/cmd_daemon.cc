// plimsoll daemon status, plimsoll events, plimsoll version
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/printable.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/table.h"
#include "cli/text.h"

#ifndef PLIMSOLL_VERSION
#define PLIMSOLL_VERSION "unknown"
#endif

namespace plimsoll::cli {
namespace {

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
  for (const auto& [program, version] : status.programs()) facts.emplace_back(program, version);
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
  if (!status.limitations().empty()) absl::StrAppend(&text, "\nWhat this machine lacks:\n");
  for (const std::string& limitation : status.limitations()) {
    absl::StrAppend(&text, "  - ", Printable(limitation), "\n");
  }
  if (!status.troubles().empty()) absl::StrAppend(&text, "\nWhat could not be put in order:\n");
  for (const std::string& trouble : status.troubles()) {
    absl::StrAppend(&text, "  - ", Printable(trouble), "\n");
  }
  return text;
}

absl::StatusOr<int> DaemonStatus(const CommandContext& context) {
  absl::StatusOr<std::unique_ptr<Client>> connected = context.Connect(/*may_start=*/false);
  if (absl::IsUnavailable(connected.status()) && context.address.empty()) {
    // What the machine lacks can be told all the same.
    PrintNote(absl::StrCat(
        "plimsoll: ", connected.status().message(),
        "\n  This one is started for this command and ends with it. For one that stays: "
        "systemctl start plimsolld\n\n"));
    connected = context.Connect();
  }
  PLIMSOLL_RETURN_IF_ERROR(connected.status());
  const std::unique_ptr<Client> client = *std::move(connected);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto status, client->DaemonStatus());
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(status, context.format()));
    return kExitOk;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto runtime, client->RuntimeStatus(/*verbose=*/false));
  Print(DescribeDaemon(client->address(), status, runtime));
  return kExitOk;
}

absl::Status NoEventsWithoutADaemon(const absl::Status& status) {
  return WithHint(
      absl::UnavailableError(absl::StrCat(status.message(), ", so there are no events")),
      "A daemon keeps the events of its own time in memory. `plimsoll events --follow` "
      "starts one and prints what happens from then on.");
}

bool IsCutOff(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsCancelled(status);
}

// From where on events are wanted: after one of them, or after a time.
struct Since {
  uint64_t sequence = 0;
  absl::Time time = absl::InfinitePast();
};

// "17", "10m", "2026-11-21T03:10:53Z".
absl::StatusOr<Since> ReadSince(const std::string& text) {
  Since since;
  absl::Duration ago;
  if (text.empty()) return since;
  // What SimpleAtoi can't read to its end it writes all the same, as far as it came.
  if (decltype(since.sequence) sequence = 0; absl::SimpleAtoi(text, &sequence)) {
    since.sequence = sequence;
    return since;
  }
  if (absl::ParseDuration(text, &ago) && ago >= absl::ZeroDuration()) {
    since.time = absl::Now() - ago;
    return since;
  }
  if (absl::ParseTime(absl::RFC3339_full, text, &since.time, nullptr)) return since;
  return UsageError(absl::InvalidArgumentError(
      absl::StrCat("--since: \"", text,
                   "\" is no sequence number (17), no time ago (10m, 1h30m) and no time "
                   "(2026-11-21T03:10:53Z)")));
}

absl::StatusOr<int> Events(const CommandContext& context, bool follow,
                           const std::string& since_text) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Since since, ReadSince(since_text));
  // To follow what later commands do, one of our own will do; they join it.
  auto connected = context.Connect(/*may_start=*/follow);
  if (absl::IsUnavailable(connected.status()) && context.address.empty()) {
    return NoEventsWithoutADaemon(connected.status());
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, std::move(connected));
  absl::Status failure;
  bool any = false;
  const auto print = [&](const node::Event& event) {
    if (absl::FromUnixNanos(event.timestamp()) < since.time) return true;
    any = true;
    if (context.for_programs()) {
      failure = PrintMessage(event, context.format());
      if (context.format() == OutputFormat::kYaml) Print("---\n");
      return failure.ok();
    }
    const std::string& id =
        event.container_id().empty() ? event.sandbox_id() : event.container_id();
    std::string type = event.type();
    type.resize(std::max<size_t>(type.size(), 17), ' ');
    std::string line = absl::StrCat(
        absl::FormatTime("%Y-%m-%d %H:%M:%E3S", absl::FromUnixNanos(event.timestamp()),
                         absl::LocalTimeZone()),
        "  ", type, "  ", ShortId(id), id.empty() ? "" : "  ", Printable(event.message()));
    line.erase(line.find_last_not_of(' ') + 1);
    Print(line + "\n");
    return true;
  };
  if (follow) {
    client->SetPatience({.wait = absl::Minutes(1), .lost = [] {
                           PrintNote("plimsoll: the daemon has gone; waiting for the next...\n");
                         }});
  }
  absl::Status status = client->ListEvents(since.sequence, follow, print);
  while (follow && failure.ok() && IsCutOff(status) && client->AwaitDaemon()) {
    PrintNote(
        "plimsoll: a daemon is there again; its events begin with its start, numbered from 1\n");
    status = client->ListEvents(/*since=*/0, follow, print);
  }
  PLIMSOLL_RETURN_IF_ERROR(failure);
  PLIMSOLL_RETURN_IF_ERROR(status);
  if (!any && !context.for_programs()) {
    PrintNote(
        "No events. A daemon keeps those of its own time in memory; one that a command started "
        "ends with the last command that uses it.\n");
  }
  return kExitOk;
}

// {"client": {"version": ...}, "server": what the daemon says or null, "server_error": why}.
std::string VersionJson(const absl::StatusOr<cri::VersionResponse>& server) {
  nlohmann::ordered_json document = {{"client", {{"version", PLIMSOLL_VERSION}}}};
  document["server"] = nullptr;
  document["server_error"] = nullptr;
  if (server.ok()) {
    document["server"] = {{"version", server->runtime_version()},
                          {"name", server->runtime_name()},
                          {"cri_version", server->runtime_api_version()}};
  } else {
    document["server_error"] = std::string(server.status().message());
  }
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// A daemon that isn't there is an answer, unless it was named.
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
                             "Show the state of the daemon, and what the machine lacks.\n\n"
                             "When none runs, one is started for as long as this takes.");
  context.Act(status, [&context] { return DaemonStatus(context); });
}

void AddEventsCommand(CLI::App& app, CommandContext& context) {
  CLI::App* events =
      app.add_subcommand("events",
                         "Print what happened, oldest first.\n\n"
                         "The daemon keeps events in memory: what happened before "
                         "it started is not in them. Where none runs there are none; "
                         "with --follow one is started.");
  auto follow = std::make_shared<bool>(false);
  auto since = std::make_shared<std::string>();
  events->add_flag("-f,--follow", *follow, "Go on with what happens from now on");
  events
      ->add_option("--since", *since,
                   "Only events after this sequence number (-o json shows it), of the last so long "
                   "(10m), or after a time (2026-11-21T03:10:53Z)")
      ->type_name("NUMBER|DURATION|TIME");
  context.Act(events, [&context, follow, since] { return Events(context, *follow, *since); });
}

void AddVersionCommand(CLI::App& app, CommandContext& context) {
  CLI::App* version = app.add_subcommand("version",
                                         "Print the versions of program and daemon.\n\n"
                                         "A daemon that does not run is no error, unless --address "
                                         "names it.");
  context.Act(version, [&context] { return Version(context); });
}

}  // namespace plimsoll::cli
