// plimsoll events
#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "cli/command/command.h"
#include "cli/command/moment.h"
#include "cli/pod_commands/event_names.h"
#include "cli/pod_commands/pod_commands.h"
#include "cli/terminal/message_json.h"
#include "cli/terminal/reader_watch.h"
#include "cli/terminal/text.h"

namespace plimsoll::cli {
namespace {

using Json = nlohmann::ordered_json;

absl::Status NoEventsWithoutADaemon(const absl::Status& status) {
  return WithHint(
      absl::UnavailableError(absl::StrCat(status.message(), ", so there are no events")),
      "A daemon keeps the events since its start in memory. `plimsoll events --follow` starts a "
      "daemon and prints its events.");
}

bool IsCutOff(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsCancelled(status);
}

// The start of the wanted events: behind one of them, or at a time.
struct Since {
  uint64_t sequence = 0;
  absl::Time time = absl::InfinitePast();
};

// Parses "17", "10m", "2026-11-21T03:10:53Z".
absl::StatusOr<Since> ReadSince(const std::string& text) {
  Since since;
  if (text.empty()) return since;
  // SimpleAtoi writes a result also for text that it can't read to its end.
  if (decltype(since.sequence) sequence = 0; absl::SimpleAtoi(text, &sequence)) {
    since.sequence = sequence;
    return since;
  }
  const auto time = ReadMoment("--since", text, absl::Now());
  if (!time.ok()) {
    return WithHint(time.status(), "A number is an event's sequence number, as -o json shows it.");
  }
  since.time = *time;
  return since;
}

// "default/web/app", "default/web"; ids in place of unknown names.
std::string SubjectText(const node::Event& event, const EventNames& names) {
  if (event.sandbox_id().empty() && event.container_id().empty()) return "";
  const std::string pod = names.PodOf(event);
  const std::string container = names.ContainerOf(event);
  std::string text = pod.empty() ? ShortId(event.sandbox_id()) : pod;
  if (!event.container_id().empty()) {
    absl::StrAppend(&text, "/", container.empty() ? ShortId(event.container_id()) : container);
  }
  return Printable(text);
}

std::string EventLine(const node::Event& event, const EventNames& names) {
  std::string type = event.type();
  type.resize(std::max<size_t>(type.size(), 17), ' ');
  const std::string& id = event.container_id().empty() ? event.sandbox_id() : event.container_id();
  const std::string subject = SubjectText(event, names);
  // The message of these events is the name.
  const bool told = event.message() == names.PodOf(event) ||
                    (!event.container_id().empty() && event.message() == names.ContainerOf(event));
  std::string line = absl::StrCat(
      absl::FormatTime("%Y-%m-%d %H:%M:%E3S %Ez", absl::FromUnixNanos(event.timestamp()),
                       absl::LocalTimeZone()),
      "  ", type, "  ", subject, subject.empty() ? "" : absl::StrCat("  ", ShortId(id), "  "),
      told ? "" : Printable(event.message()));
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

absl::StatusOr<Json> EventJson(const node::Event& event, const EventNames& names) {
  PLIMSOLL_ASSIGN_OR_RETURN(Json json, MessageJson(event));
  const std::string pod = names.PodOf(event);
  const size_t slash = pod.find('/');
  json["podNamespace"] = slash == std::string::npos ? "" : pod.substr(0, slash);
  json["podName"] = slash == std::string::npos ? pod : pod.substr(slash + 1);
  json["containerName"] = names.ContainerOf(event);
  return json;
}

// One event of a stream: a line of JSON, or a document of YAML.
absl::Status PrintOne(const node::Event& event, const EventNames& names, OutputFormat format) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Json json, EventJson(event, names));
  if (format == OutputFormat::kYaml) Print("---\n");
  return PrintJson(json.dump(-1, ' ', false, Json::error_handler_t::replace), format);
}

// {"events": [...]}
absl::Status PrintAll(const std::vector<node::Event>& events, const EventNames& names,
                      OutputFormat format) {
  Json document = {{"events", Json::array()}};
  for (const node::Event& event : events) {
    PLIMSOLL_ASSIGN_OR_RETURN(Json json, EventJson(event, names));
    document["events"].push_back(std::move(json));
  }
  return PrintJson(document.dump(1, ' ', false, Json::error_handler_t::replace), format);
}

// The reason for an empty output.
void NoteNoEvents(const std::string& since_text) {
  PrintNote(since_text.empty()
                ? "No events. A daemon keeps the events since its start in memory; a daemon that "
                  "a command started ends with the last command that uses it.\n"
                : absl::StrCat("No events since ", since_text,
                               ". Without --since all kept events are printed.\n"));
}

absl::StatusOr<int> Events(const CommandContext& context, bool follow,
                           const std::string& since_text) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Since since, ReadSince(since_text));
  // A standalone daemon can be followed too: later commands join it.
  auto connected = context.Connect(/*may_start=*/follow);
  if (absl::IsUnavailable(connected.status()) && context.address.empty()) {
    return NoEventsWithoutADaemon(connected.status());
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, std::move(connected));
  const ReaderWatch reader;
  EventNames names;
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client->ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client->ListContainers());
  names.Add(pods, containers);
  absl::Status failure;
  bool any = false;
  const auto show = [&](const node::Event& event) {
    any = true;
    if (context.for_programs()) {
      failure = PrintOne(event, names, context.format());
      return failure.ok();
    }
    Print(EventLine(event, names));
    return true;
  };
  // Without --follow all events are read first: the last one may name the object of the first.
  std::vector<node::Event> read;
  const auto print = [&](const node::Event& event) {
    names.Learn(event);
    const bool wanted = absl::FromUnixNanos(event.timestamp()) >= since.time;
    if (!follow) {
      if (wanted) read.push_back(event);
      return true;
    }
    const bool go_on = !wanted || show(event);
    names.Forget(event);
    return go_on;
  };
  if (follow) {
    client->SetPatience({.wait = absl::Minutes(1), .lost = [] {
                           PrintNote("plimsoll: the daemon has ended; waiting for the next...\n");
                         }});
  }
  absl::Status status = client->own().ListEvents(since.sequence, follow, print);
  while (follow && failure.ok() && IsCutOff(status) && client->AwaitDaemon()) {
    PrintNote(
        "plimsoll: a daemon is there again; its events begin with its start, numbered from 1\n");
    status = client->own().ListEvents(/*since=*/0, follow, print);
  }
  PLIMSOLL_RETURN_IF_ERROR(failure);
  PLIMSOLL_RETURN_IF_ERROR(status);
  if (context.for_programs()) {
    if (!follow) PLIMSOLL_RETURN_IF_ERROR(PrintAll(read, names, context.format()));
    return kExitOk;
  }
  for (const node::Event& event : read) show(event);
  if (!any) NoteNoEvents(since_text);
  return kExitOk;
}

}  // namespace

void AddEventsCommand(CLI::App& app, CommandContext& context) {
  CLI::App* events =
      app.add_subcommand("events",
                         "Print events, oldest first.\n\n"
                         "The daemon keeps the events since its start in memory. Without a "
                         "daemon there are no events; with --follow one is started. -o json "
                         "prints {\"events\": [...]}, with --follow an object a line.");
  auto follow = std::make_shared<bool>(false);
  auto since = std::make_shared<std::string>();
  events->add_flag("-f,--follow", *follow, "Go on with new events");
  events
      ->add_option("--since", *since,
                   "Only events after this sequence number (-o json shows it), of the last 10m "
                   "or the like, or after a time (2026-11-21T03:10:53Z)")
      ->type_name("NUMBER|DURATION|TIME");
  context.Act(events, [&context, follow, since] { return Events(context, *follow, *since); });
}

}  // namespace plimsoll::cli
