// plimsoll logs
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/fs_root.h"
#include "base/printable.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/cri_log.h"
#include "cli/lookup.h"
#include "cli/moment.h"
#include "cli/reader_watch.h"
#include "cli/text.h"

namespace plimsoll::cli {
namespace {

struct LogsArguments {
  std::string name;
  bool follow = false;
  bool timestamps = false;
  int64_t tail = -1;
  std::string since;
  std::string until;
};

// What of a log is asked for.
struct Span {
  absl::Time since = absl::InfinitePast();
  absl::Time until = absl::InfiniteFuture();  // itself included
};

constexpr absl::Duration kPollInterval = absl::Milliseconds(50);

struct Source {
  cri::Container container;
  std::string prefix;
  FsRoot root;
  std::string path;
  LogReader reader;
  bool older_read = false;
  bool ended = false;  // nothing that is asked for will come
};

std::string LineText(const Source& source, const LogLine& line, bool timestamps) {
  return absl::StrCat(
      source.prefix,
      timestamps ? absl::FormatTime(absl::RFC3339_full, line.time, absl::UTCTimeZone()) : "",
      timestamps ? " " : "", line.text, line.unfinished ? "" : "\n");
}

struct Output {
  std::string text;
  bool is_stderr;
};

// Puts lines together into large writes. Flush before each wait: a line that is there is seen.
class Writer {
 public:
  Writer() = default;
  ~Writer() { Flush(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void Write(const Output& output) {
    if (output.is_stderr != kept_.is_stderr) Flush();
    kept_.is_stderr = output.is_stderr;
    kept_.text += output.text;
    if (kept_.text.size() >= kMost) Flush();
  }
  void Flush() {
    kept_.is_stderr ? PrintNote(kept_.text) : Print(kept_.text);
    kept_.text.clear();
  }

 private:
  static constexpr size_t kMost = size_t{64} * 1024;
  Output kept_ = {.text = "", .is_stderr = false};
};

absl::StatusOr<std::vector<Source>> OpenSources(Client& client, const std::string& name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client.ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(auto containers, client.ListContainers());
  std::vector<cri::Container> chosen;
  PLIMSOLL_ASSIGN_OR_RETURN(const PodOrContainer found, FindPodOrContainer(pods, containers, name));
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
    sources.push_back(Source{container, prefix, root, path, LogReader(root, path)});
  }
  if (sources.empty() && !without.empty()) {
    return absl::FailedPreconditionError(absl::StrJoin(without, "; "));
  }
  for (const std::string& note : without) {
    PrintNote(absl::StrCat("plimsoll: ", Printable(note), "\n"));
  }
  return sources;
}

// `all`: what is there now, else some of it. True: there may be more.
absl::StatusOr<bool> ReadOnce(Source& source, const LogsArguments& arguments, const Span& span,
                              const std::function<void(Output)>& sink, bool all, bool flush) {
  const auto take = [&](const LogLine& line) {
    if (line.time > span.until) source.ended = true;
    if (line.time < span.since || line.time > span.until) return;
    sink({LineText(source, line, arguments.timestamps), line.stream == LogStream::kStderr});
  };
  // What was put aside when the log got long comes first.
  if (!std::exchange(source.older_read, true)) {
    LogReader older(source.root, source.path + ".1");
    PLIMSOLL_RETURN_IF_ERROR(older.ReadAll(take));
    older.Flush(take);
  }
  if (!all) return source.reader.Poll(take);
  PLIMSOLL_RETURN_IF_ERROR(source.reader.ReadAll(take));
  if (flush) source.reader.Flush(take);
  return false;
}

absl::Status FollowAll(Client& client, std::vector<Source>& sources, const LogsArguments& arguments,
                       const Span& span, Writer& writer) {
  const auto write = [&writer](const Output& output) { writer.Write(output); };
  const auto some_go_on = [&sources] {
    return std::any_of(sources.begin(), sources.end(), [](const auto& s) { return !s.ended; });
  };
  bool more = false;
  for (bool over = false; some_go_on() && (!over || more);) {
    // Asked before the logs are read: what was printed until then is then in them.
    over = absl::Now() > span.until;
    more = false;
    for (Source& source : sources) {
      if (source.ended) continue;
      writer.Flush();
      // Asked before the log is read: what an ended container wrote is then complete.
      const auto status = client.ContainerStatus(source.container.id());
      if (!status.ok() && !absl::IsNotFound(status.status())) {
        return WithHint(
            status.status(),
            absl::StrCat("Containers run without a daemon too. When one is there again: "
                         "plimsoll logs -f ",
                         ShellQuote(arguments.name)));
      }
      source.ended = !status.ok() || status->status().state() == cri::CONTAINER_EXITED;
      PLIMSOLL_ASSIGN_OR_RETURN(
          const bool rest, ReadOnce(source, arguments, span, write, source.ended, source.ended));
      more |= rest;
    }
    writer.Flush();
    if (!more && !over) absl::SleepFor(kPollInterval);
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
                   "plimsoll: the daemon has gone; containers run on. Waiting for it "
                   "to come back...\n");
             },
         .back = [] { PrintNote("plimsoll: the daemon is back\n"); }});
  }
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<Source> sources, OpenSources(*client, arguments.name));
  const ReaderWatch reader;
  Writer writer;
  for (Source& source : sources) {
    std::vector<Output> lines;
    const bool all = arguments.tail < 0;
    const bool running = source.container.state() == cri::CONTAINER_RUNNING;
    const auto sink = [&](Output output) {
      all ? writer.Write(output) : lines.push_back(std::move(output));
    };
    PLIMSOLL_RETURN_IF_ERROR(ReadOnce(source, arguments, span, sink, /*all=*/true,
                                      /*flush=*/!arguments.follow || !running)
                                 .status());
    const size_t keep =
        std::min(lines.size(), static_cast<size_t>(std::max<int64_t>(0, arguments.tail)));
    for (size_t i = lines.size() - keep; i < lines.size(); ++i) writer.Write(lines[i]);
    writer.Flush();
  }
  if (arguments.follow) {
    PLIMSOLL_RETURN_IF_ERROR(FollowAll(*client, sources, arguments, span, writer));
  }
  return kExitOk;
}

}  // namespace

void AddLogsCommand(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<LogsArguments>();
  CLI::App* logs =
      app.add_subcommand("logs", "Print what a container, or all of a pod, has printed.");
  logs->add_option("name", arguments->name, "Name or id of a pod or container; POD/CONTAINER")
      ->type_name("POD|CONTAINER")
      ->required();
  logs->add_flag("-f,--follow", arguments->follow, "Go on until the containers end");
  logs->add_flag("-t,--timestamps", arguments->timestamps, "Say when each line was printed");
  logs->add_option("--tail", arguments->tail, "Only the last lines of each container")
      ->type_name("LINES")
      ->check(ZeroOrMore());
  logs->add_option("--since", arguments->since,
                   absl::StrCat("Only what was printed since then: ", kMomentForms))
      ->type_name("DURATION|TIME");
  logs->add_option("--until", arguments->until, "Only what was printed until then; as --since")
      ->type_name("DURATION|TIME");
  context.Act(logs, [&context, arguments] { return Logs(context, *arguments); });
}

}  // namespace plimsoll::cli
