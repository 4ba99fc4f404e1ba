// plimsoll logs
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/fs_root.h"
#include "base/monotonic_time.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "cli/command/command.h"
#include "cli/command/lookup.h"
#include "cli/command/moment.h"
#include "cli/stream_commands/stream_commands.h"
#include "cli/terminal/line_buffer.h"
#include "cli/terminal/reader_watch.h"
#include "cli/terminal/text.h"
#include "pod_runner/pod_files/cri_log.h"
#include "pod_runner/pod_files/log_tail.h"
#include "pod_runner/runtime_client/event_watch.h"

namespace plimsoll::cli {
namespace {

struct LogsArguments {
  std::string name;
  std::string container;  // empty: all of a pod
  bool follow = false;
  bool timestamps = false;
  int64_t tail = -1;
  std::string since;
  std::string until;
};

// The wanted part of a log.
struct Span {
  absl::Time since = absl::InfinitePast();
  absl::Time until = absl::InfiniteFuture();  // inclusive
};

constexpr absl::Duration kUnfinishedInterval = absl::Milliseconds(50);
// A monitor takes a line's time before it writes the line, and may be kept from the CPU in between.
constexpr absl::Duration kUnwritten = absl::Milliseconds(300);

struct Source {
  cri::Container container;
  std::string prefix;
  FsRoot root;
  std::string path;
  pod::LogReader reader;
  bool older_read = false;
  bool ended = false;  // no further wanted line will come
};

std::string LineText(const Source& source, const pod::LogLine& line, bool timestamps) {
  return absl::StrCat(
      source.prefix,
      timestamps ? absl::FormatTime(absl::RFC3339_full, line.time, absl::UTCTimeZone()) : "",
      timestamps ? " " : "", line.text, line.unfinished ? "" : "\n");
}

bool Holds(const Span& span, absl::Time time) {
  return time >= span.since && time <= span.until;
}

absl::StatusOr<std::vector<Source>> OpenSources(pod::Client& client,
                                                const LogsArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client.ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(auto containers, client.ListContainers());
  std::vector<cri::Container> chosen;
  PLIMSOLL_ASSIGN_OR_RETURN(
      const PodOrContainer found,
      FindPodOrContainer(pods, containers, arguments.name, arguments.container));
  if (const auto* pod = std::get_if<cri::PodSandbox>(&found)) {
    std::sort(containers.begin(), containers.end(),
              [](const auto& a, const auto& b) { return a.created_at() < b.created_at(); });
    for (const cri::Container& container : containers) {
      if (container.pod_sandbox_id() == pod->id()) chosen.push_back(container);
    }
  } else {
    chosen.push_back(std::get<cri::Container>(found));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open("/"));
  std::vector<Source> sources;
  std::vector<std::string> without;
  for (const cri::Container& container : chosen) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto status, client.ContainerStatus(container.id()));
    const std::string& path = status.status().log_path();
    if (path.empty()) {
      without.push_back(absl::StrCat("container ", container.metadata().name(), " keeps no log"));
      continue;
    }
    const std::string prefix =
        chosen.size() > 1 ? absl::StrCat(container.metadata().name(), " | ") : "";
    sources.push_back(Source{container, prefix, root, path, pod::LogReader(root, path)});
  }
  if (sources.empty() && !without.empty()) {
    return absl::FailedPreconditionError(absl::StrJoin(without, "; "));
  }
  for (const std::string& note : without) {
    PrintNote(absl::StrCat("plimsoll: ", Printable(note), "\n"));
  }
  return sources;
}

void Write(const Source& source, const pod::LogLine& line, const LogsArguments& arguments,
           LineBuffer& out) {
  out.Add(LineText(source, line, arguments.timestamps), line.stream == pod::LogStream::kStderr);
}

// Reads all that the log holds (`all`), or some of it. True: there may be more.
absl::StatusOr<bool> ReadOnce(Source& source, const LogsArguments& arguments, const Span& span,
                              LineBuffer& out, bool all, bool flush) {
  const auto take = [&](const pod::LogLine& line) {
    if (line.time > span.until) source.ended = true;
    if (Holds(span, line.time)) Write(source, line, arguments, out);
  };
  // The rotated log comes first.
  if (!std::exchange(source.older_read, true)) {
    pod::LogReader older(source.root, source.path + ".1");
    PLIMSOLL_RETURN_IF_ERROR(older.ReadAll(take));
    older.Flush(take);
  }
  if (!all) return source.reader.Poll(take);
  PLIMSOLL_RETURN_IF_ERROR(source.reader.ReadAll(take));
  if (flush) source.reader.Flush(take);
  return false;
}

bool AreOneFile(const UniqueFd& one, const UniqueFd& other) {
  struct stat a = {};
  struct stat b = {};
  return one.valid() && other.valid() && fstat(one.get(), &a) == 0 && fstat(other.get(), &b) == 0 &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Reads the last lines alone, of both files together.
absl::Status ReadLast(Source& source, const LogsArguments& arguments, const Span& span,
                      LineBuffer& out, bool flush) {
  const auto wanted = [&span](absl::Time time) { return Holds(span, time); };
  const auto write = [&](const pod::LogLine& line) { Write(source, line, arguments, out); };
  const auto lines = static_cast<uint64_t>(arguments.tail);
  source.older_read = true;
  PLIMSOLL_ASSIGN_OR_RETURN(pod::LogTail newest,
                            pod::FindTail(source.root, source.path, lines, flush, wanted));
  if (newest.lines < lines) {
    const std::string path = source.path + ".1";
    const uint64_t rest = lines - newest.lines;
    PLIMSOLL_ASSIGN_OR_RETURN(pod::LogTail older,
                              pod::FindTail(source.root, path, rest, /*flush=*/true, wanted));
    // The log may have been rotated since it was opened.
    if (!AreOneFile(older.file, newest.file)) {
      pod::LogReader reader(source.root, path);
      PLIMSOLL_RETURN_IF_ERROR(
          pod::ReadTail(std::move(older), rest, /*flush=*/true, wanted, reader, write));
    }
  }
  return pod::ReadTail(std::move(newest), lines, flush, wanted, source.reader, write);
}

absl::Status LookForEnd(pod::Client& client, Source& source, const LogsArguments& arguments) {
  const auto status = client.ContainerStatus(source.container.id());
  if (!status.ok() && !absl::IsNotFound(status.status())) {
    return WithHint(status.status(),
                    absl::StrCat("Containers run without a daemon too. When one is there again: "
                                 "plimsoll logs -f ",
                                 ShellQuote(arguments.name),
                                 arguments.container.empty()
                                     ? ""
                                     : absl::StrCat(" -c ", ShellQuote(arguments.container))));
  }
  source.ended = !status.ok() || status->status().state() == cri::CONTAINER_EXITED;
  return absl::OkStatus();
}

// Polls the logs. Looks at the containers when an event is about one of them.
absl::Status FollowAll(pod::Client& client, const pod::EventWatch& events,
                       std::vector<Source>& sources, const LogsArguments& arguments,
                       const Span& span, LineBuffer& out) {
  const auto some_go_on = [&sources] {
    return std::any_of(sources.begin(), sources.end(), [](const auto& s) { return !s.ended; });
  };
  bool more = false;
  absl::Time look_at = absl::InfinitePast();
  uint64_t seen = 0;
  for (bool over = false; some_go_on() && (!over || more);) {
    // Read before the logs, so that the logs hold all that was printed until then. A later line
    // ends this wait.
    over = absl::Now() > span.until + kUnwritten;
    more = false;
    const bool look = MonotonicNow() >= look_at || events.news() > seen;
    if (look) {
      look_at = MonotonicNow() + pod::kLookAnyway;
      seen = events.news();
    }
    for (Source& source : sources) {
      if (source.ended) continue;
      out.Flush();
      // Asked before the log is read: the log of an ended container is then complete.
      if (look) PLIMSOLL_RETURN_IF_ERROR(LookForEnd(client, source, arguments));
      PLIMSOLL_ASSIGN_OR_RETURN(
          const bool rest,
          ReadOnce(source, arguments, span, out, /*all=*/source.ended, /*flush=*/source.ended));
      more |= rest;
    }
    out.Flush();
    if (!more && !over) events.Await(seen, kUnfinishedInterval);
  }
  return absl::OkStatus();
}

absl::StatusOr<Span> ReadSpan(const LogsArguments& arguments) {
  Span span;
  const absl::Time now = absl::Now();
  if (!arguments.since.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(span.since, ReadMoment("--since", arguments.since, now));
  }
  if (!arguments.until.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(span.until, ReadMoment("--until", arguments.until, now));
  }
  if (span.since <= span.until) return span;
  return UsageError(absl::InvalidArgumentError("--since is after --until"));
}

absl::StatusOr<int> Logs(const CommandContext& context, const LogsArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Span span, ReadSpan(arguments));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  if (arguments.follow) {
    client->SetPatience(
        {.wait = absl::Minutes(1),
         .lost =
             [] {
               PrintNote(
                   "plimsoll: the daemon has ended; containers run on. Waiting for it "
                   "to come back...\n");
             },
         .back = [] { PrintNote("plimsoll: the daemon is back\n"); }});
  }
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<Source> sources, OpenSources(*client, arguments));
  const ReaderWatch reader;
  LineBuffer out(
      [](absl::string_view text, bool is_stderr) { is_stderr ? PrintNote(text) : Print(text); });
  for (Source& source : sources) {
    const bool running = source.container.state() == cri::CONTAINER_RUNNING;
    const bool flush = !arguments.follow || !running;
    PLIMSOLL_RETURN_IF_ERROR(
        arguments.tail >= 0 ? ReadLast(source, arguments, span, out, flush)
                            : ReadOnce(source, arguments, span, out, /*all=*/true, flush).status());
    out.Flush();
  }
  if (!arguments.follow) return kExitOk;
  PLIMSOLL_ASSIGN_OR_RETURN(auto own_client, context.Connect());
  const pod::EventWatch events(std::move(own_client), [&sources](const node::Event& event) {
    return std::any_of(sources.begin(), sources.end(), [&event](const Source& source) {
      return source.container.id() == event.container_id();
    });
  });
  PLIMSOLL_RETURN_IF_ERROR(FollowAll(*client, events, sources, arguments, span, out));
  return kExitOk;
}

}  // namespace

void AddLogsCommand(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<LogsArguments>();
  CLI::App* logs =
      app.add_subcommand("logs",
                         "Print the log of a container, or of all containers of a pod.\n\n"
                         "A pod's log includes the containers' runs from before a restart, while "
                         "the runtime has them.");
  logs->add_option("name", arguments->name, "Name or id of a pod or container; POD/CONTAINER")
      ->type_name("POD|CONTAINER")
      ->required();
  AddContainerOption(*logs, &arguments->container);
  logs->add_flag("-f,--follow", arguments->follow, "Go on until the containers end");
  logs->add_flag("-t,--timestamps", arguments->timestamps, "Print the time of each line");
  logs->add_option("--tail", arguments->tail, "Only the last lines of each container")
      ->type_name("LINES")
      ->check(ZeroOrMore());
  logs->add_option("--since", arguments->since,
                   absl::StrCat("Only lines printed since ", kMomentForms))
      ->type_name("DURATION|TIME");
  logs->add_option("--until", arguments->until,
                   "Only lines printed until then; forms as for --since")
      ->type_name("DURATION|TIME");
  context.Act(logs, [&context, arguments] { return Logs(context, *arguments); });
}

}  // namespace plimsoll::cli
