// plimsoll cp
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "cli/command/command.h"
#include "cli/stream_commands/copy_end.h"
#include "cli/stream_commands/copy_stream.h"
#include "cli/stream_commands/running_container.h"
#include "cli/stream_commands/stream_commands.h"
#include "cli/terminal/interrupts.h"
#include "copy/container_root.h"
#include "copy/helper.h"
#include "copy/place.h"
#include "copy/tree_reader.h"
#include "copy/tree_writer.h"
#include "image/layers/archive_reader.h"

namespace plimsoll::cli {
namespace {

struct CopyArguments {
  std::string from;
  std::string to;
  bool archive = false;
  bool follow = false;
  bool quiet = false;
};

// The container's first process, as the daemon knows it.
absl::StatusOr<linux::ProcessId> FirstProcess(pod::Client& client, const std::string& id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto response, client.ContainerStatus(id, /*verbose=*/true));
  const auto info = response.info().find("info");
  const auto json = info == response.info().end()
                        ? nlohmann::json()
                        : nlohmann::json::parse(info->second, nullptr, false);
  const auto pid = json.find("pid");
  const auto start = json.find("startTimeTicks");
  if (!json.is_object() || pid == json.end() || start == json.end() || !pid->is_number_integer() ||
      !start->is_number_integer()) {
    return absl::UnimplementedError("the daemon doesn't report a container's first process");
  }
  return linux::ProcessId{.pid = pid->get<pid_t>(), .start_time_ticks = start->get<uint64_t>()};
}

absl::StatusOr<copy::ContainerRoot> OpenRoot(const CommandContext& context,
                                             const std::string& name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  const auto container = RunningContainer(*client, name);
  if (absl::IsFailedPrecondition(container.status())) {
    return WithHint(absl::FailedPreconditionError(container.status().message()),
                    "cp copies from and to running containers. An ended one leaves its log "
                    "(`plimsoll logs`), and its volumes as directories on this machine.");
  }
  PLIMSOLL_RETURN_IF_ERROR(container.status());
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::ProcessId init, FirstProcess(*client, container->id()));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  return copy::OpenContainerRoot(host, init);
}

class Copier {
 public:
  Copier(const CopyArguments& arguments, CopyEnds ends, Interrupts& interrupts)
      : arguments_(arguments),
        ends_(std::move(ends)),
        watch_(absl::StrCat(arguments.from, " to ", arguments.to), arguments.quiet,
               [&interrupts] { return interrupts.count() > 0; }) {}

  absl::Status Run(const copy::ContainerRoot& container) {
    PLIMSOLL_ASSIGN_OR_RETURN(copy::Helper helper,
                              copy::Helper::Start("/proc/self/exe", Plan(), container));
    const absl::Status ours =
        ends_.from_container() ? Receive(helper.stream()) : Send(helper.stream());
    const copy::Helper::Outcome outcome = helper.Await([this] { return watch_.cancelled(); });
    watch_.Finish();
    Tell(outcome.notes);
    Tell(notes_);
    if (watch_.cancelled()) return absl::CancelledError("interrupted");
    // An early end of the stream follows from the other side's error, which says more.
    const bool is_echo = ErrnoOf(ours) == EPIPE || absl::IsDataLoss(ours);
    if (!ours.ok() && !is_echo) return ours;
    return outcome.status.ok() ? ours : outcome.status;
  }

 private:
  void Tell(const std::vector<std::string>& notes) const {
    if (arguments_.quiet) return;
    for (const std::string& note : notes) {
      PrintNote(absl::StrCat("plimsoll: left out: ", note, "\n"));
    }
  }

  copy::HelperPlan Plan() const {
    const std::string& source = ends_.from.path;
    const bool content = copy::MeansContent(source);
    copy::HelperPlan plan = {.gives = ends_.from_container(),
                             .label = absl::StrCat(ends_.inside().container, ":"),
                             .path = ends_.inside().path,
                             .name = copy::LastName(source),
                             .archive = arguments_.archive,
                             .follow = arguments_.follow,
                             .content = content,
                             .bare = ends_.from.is_stream()};
    if (!plan.gives) return plan;
    if (!ends_.to.is_stream()) plan.name = copy::kTop;
    if (plan.name.empty()) plan.name = ".";
    return plan;
  }

  absl::Status Receive(UniqueFd& stream) {
    auto from = std::make_unique<WatchedStream>(stream.get(), arguments_.from, watch_);
    if (ends_.to.is_stream()) return PassOn(*from, STDOUT_FILENO, "standard output");
    constexpr uint64_t kNoLimit = std::numeric_limits<int64_t>::max();
    PLIMSOLL_ASSIGN_OR_RETURN(
        const auto reader, image::ArchiveReader::Open(std::move(from), arguments_.from, kNoLimit));
    return copy::WriteTree(*reader, copy::Place::Host(), ends_.to.path,
                           {.source_name = copy::LastName(ends_.from.path),
                            .content = copy::MeansContent(ends_.from.path),
                            .bare = false,
                            .archive = arguments_.archive,
                            .left_out = NoteLeftOut()});
  }

  absl::Status Send(UniqueFd& stream) {
    if (ends_.from.is_stream()) {
      WatchedStream input(STDIN_FILENO, "standard input", watch_);
      return PassOn(input, stream.get(), "the container's side");
    }
    return copy::ReadTree(copy::Place::Host(), ends_.from.path,
                          {.name = copy::kTop,
                           .follow = arguments_.follow,
                           .attributes = arguments_.archive,
                           .step = [this](uint64_t bytes) { return watch_.Step(bytes); },
                           .left_out = NoteLeftOut()},
                          stream.get());
  }

  std::function<void(const std::string&)> NoteLeftOut() {
    return [this](const std::string& what) { notes_.push_back(Printable(what)); };
  }

  const CopyArguments& arguments_;
  const CopyEnds ends_;
  CopyWatch watch_;
  std::vector<std::string> notes_;
};

// The hints of codes are about daemons and sockets, so they don't fit here.
absl::Status ForPeople(const absl::Status& status) {
  const std::string message(status.message());
  if (absl::StrContains(message, "Read-only file system")) {
    return WithHint(absl::FailedPreconditionError(message),
                    "Nothing can be written there; a volume that isn't read-only can take it.");
  }
  return absl::FailedPreconditionError(message);
}

absl::Status CheckTerminals(const CopyEnds& ends) {
  if (ends.from.is_stream() && isatty(STDIN_FILENO) != 0) {
    return UsageError(absl::InvalidArgumentError(
        "cp: standard input is a terminal; - takes a tar stream from a pipe or file"));
  }
  if (ends.to.is_stream() && isatty(STDOUT_FILENO) != 0) {
    return UsageError(absl::InvalidArgumentError(
        "cp: standard output is a terminal; - gives a tar stream to a pipe or file"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Copy(const CommandContext& context, const CopyArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(CopyEnds ends, ParseCopyEnds(arguments.from, arguments.to));
  PLIMSOLL_RETURN_IF_ERROR(CheckTerminals(ends));
  Interrupts interrupts;
  // Nothing has begun yet.
  interrupts.OnInterrupt([](int) { _exit(kExitInterrupted); });
  PLIMSOLL_ASSIGN_OR_RETURN(const copy::ContainerRoot root,
                            OpenRoot(context, ends.inside().container));
  // The first interrupt ends the copy in order. The second one doesn't wait for the container's
  // files, which may not answer.
  interrupts.OnInterrupt([](int count) {
    if (count > 1) _exit(kExitInterrupted);
  });
  const absl::Status status = Copier(arguments, std::move(ends), interrupts).Run(root);
  if (absl::IsCancelled(status)) {
    PrintNote("plimsoll: cp was interrupted: unfinished files are removed\n");
    return kExitInterrupted;
  }
  if (!status.ok()) return ForPeople(status);
  return kExitOk;
}

}  // namespace

void AddCpCommand(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<CopyArguments>();
  CLI::App* cp = app.add_subcommand(
      "cp",
      "Copy files between a running container and this machine.\n\n"
      "SOURCE or TARGET is CONTAINER:PATH; PATH begins at the container's root directory. The "
      "other is a path on this machine (./NAME if the name has a colon), or - for a tar stream "
      "on standard input or output. An existing directory takes the source under the source's "
      "name; SOURCE/. means the contents of a directory. Links are copied as links. A file "
      "appears whole or not at all. Devices, FIFOs and sockets are left out, mounted files "
      "(/etc/hosts) aren't replaced, and no program of the container is run. Without --archive, "
      "copied files belong to the user that copies (root in a container) and have no set-user-ID "
      "or set-group-ID bit.");
  cp->add_option("source", arguments->from,
                 "CONTAINER:PATH, a path on this machine, or - for a tar stream")
      ->type_name("SOURCE")
      ->required();
  cp->add_option("target", arguments->to, "The same; a tar stream needs a directory")
      ->type_name("TARGET")
      ->required();
  cp->add_flag("-a,--archive", arguments->archive,
               "Keep owners (numbers as in the container), set-id bits and extended attributes");
  cp->add_flag("-L,--follow-link", arguments->follow,
               "If the source is a symbolic link, copy its target");
  cp->add_flag("-q,--quiet", arguments->quiet, "Show neither progress nor the files left out");
  context.Act(cp, [&context, arguments] { return Copy(context, *arguments); });
}

}  // namespace plimsoll::cli
