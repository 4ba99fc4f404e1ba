// plimsoll exec
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "cli/command/command.h"
#include "cli/command/lookup.h"
#include "cli/command/seconds.h"
#include "cli/stream_commands/running_container.h"
#include "cli/stream_commands/stream_client.h"
#include "cli/stream_commands/stream_commands.h"

namespace plimsoll::cli {
namespace {

// A shorter stream was not cut, whatever its last line says.
constexpr size_t kShortestCut = 1 << 20;

struct ExecArguments {
  std::string name;
  std::string container;
  std::vector<std::string> command;
  int64_t timeout_s = 0;
  bool interactive = false;
  bool tty = false;
};

// True: the daemon cut the stream. Removes the last line, in which the daemon says so.
bool TakeCutMark(std::string* stream) {
  const size_t begin = stream->rfind("\n[plimsoll: output truncated");
  const size_t end = stream->rfind("]\n");
  constexpr size_t kLongestMark = 120;
  if (begin == std::string::npos || end != stream->size() - 2 ||
      stream->size() - begin > kLongestMark || stream->size() < kShortestCut) {
    return false;
  }
  stream->resize(begin);
  return true;
}

// A shell's -c that does not stand after -- passes for a container's name.
absl::StatusOr<cri::Container> Target(pod::Client& client, const ExecArguments& arguments) {
  absl::StatusOr<cri::Container> container =
      RunningContainer(client, arguments.name, arguments.container);
  const absl::Status& failed = container.status();
  const bool is_usage = IsUsageError(failed);
  if (arguments.container.empty() || (!absl::IsNotFound(failed) && !is_usage)) return container;
  // Without the hint that it has: a status keeps its first one.
  const absl::Status again =
      WithHint(absl::Status(failed.code(), failed.message()),
               absl::StrCat(absl::StripSuffix(HintOf(failed), "."),
                            ". A -c of the command that is to run comes after --, as in "
                            "`plimsoll exec NAME -- sh -c 'ls -l'`."));
  return is_usage ? UsageError(again) : again;
}

absl::StatusOr<int> Exec(const CommandContext& context, const ExecArguments& arguments) {
  const bool streams = arguments.interactive || arguments.tty;
  if (streams && arguments.timeout_s > 0) {
    return UsageError(absl::InvalidArgumentError("--timeout can't be given with --stdin or --tty"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(const cri::Container container, Target(*client, arguments));
  if (streams) {
    PLIMSOLL_ASSIGN_OR_RETURN(
        const std::string url,
        client->ExecUrl(container.id(), arguments.command, arguments.interactive, arguments.tty));
    return CarryCommand(url, {.input = arguments.interactive, .terminal = arguments.tty});
  }
  auto response = client->ExecSync(container.id(), arguments.command, arguments.timeout_s);
  if (absl::IsDeadlineExceeded(response.status())) {
    return WithHint(response.status(), "A longer --timeout, or none, lets it finish.");
  }
  PLIMSOLL_RETURN_IF_ERROR(response.status());
  const bool cut_out = TakeCutMark(response->mutable_stdout());
  const bool cut_err = TakeCutMark(response->mutable_stderr());
  Print(response->stdout());
  PrintNote(response->stderr());
  if (!cut_out && !cut_err) return response->exit_code();
  PrintNote(absl::StrCat("plimsoll: the command's ", cut_out ? "output" : "standard error",
                         " was longer than an answer can hold (16 MiB): the rest of it is lost. "
                         "The command's own exit "
                         "code was ",
                         response->exit_code(),
                         ".\n  `plimsoll exec -i` prints all of it, as it comes.\n"));
  return response->exit_code() == 0 ? kExitOwnFailure : response->exit_code();
}

}  // namespace

void AddExecCommand(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<ExecArguments>();
  CLI::App* exec = app.add_subcommand(
      "exec",
      "Run a command in a running container.\n\n"
      "Without --stdin and --tty, output is printed when the command has ended. Output beyond 16 "
      "MiB is lost, and a note on standard error says so. With --stdin or --tty, output is "
      "printed as it comes. The exit code is the command's, 125 when Plimsoll itself failed or "
      "output of a successful command was lost. Ctrl-C ends the command, or with -it goes to its "
      "terminal. Put -- before the command.");
  exec->add_option(
          "name", arguments->name,
          "Name or id of a container, POD/CONTAINER, or a pod: its first container, or that "
          "of --container")
      ->type_name("POD|CONTAINER")
      ->required();
  exec->add_option("command", arguments->command, "The command and its arguments")
      ->type_name("COMMAND")
      ->required();
  AddContainerOption(*exec, &arguments->container);
  exec->add_option("--timeout", arguments->timeout_s,
                   "Kill the command after this time, as in 5 (seconds) or 1m30s; 0: never")
      ->type_name("TIME")
      ->transform(Seconds());
  exec->add_flag("-i,--stdin", arguments->interactive, "Pass standard input on to the command");
  exec->add_flag("-t,--tty", arguments->tty, "Give the command a terminal");
  context.Act(
      exec, [&context, arguments] { return Exec(context, *arguments); }, kExitOwnFailure);
}

}  // namespace plimsoll::cli
