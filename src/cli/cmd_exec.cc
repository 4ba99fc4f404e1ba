// plimsoll exec
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/lookup.h"

namespace plimsoll::cli {
namespace {

// What is shorter than this was not cut, whatever its last line says.
constexpr size_t kShortestCut = 1 << 20;

struct ExecArguments {
  std::string name;
  std::vector<std::string> command;
  int64_t timeout_s = 0;
  bool interactive = false;
  bool tty = false;
};

// A pod stands for its first ordinary container, as in kubectl.
absl::StatusOr<cri::Container> Target(Client& client, const std::string& name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client.ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(auto containers, client.ListContainers());
  PLIMSOLL_ASSIGN_OR_RETURN(const PodOrContainer found, FindPodOrContainer(pods, containers, name));
  const auto* pod = std::get_if<cri::PodSandbox>(&found);
  if (pod == nullptr) return std::get<cri::Container>(found);
  std::sort(containers.begin(), containers.end(),
            [](const auto& a, const auto& b) { return a.created_at() < b.created_at(); });
  for (const cri::Container& container : containers) {
    const auto role = container.labels().find(kRoleLabel);
    if (container.pod_sandbox_id() != pod->id() || container.state() != cri::CONTAINER_RUNNING ||
        (role != container.labels().end() && role->second != "container")) {
      continue;
    }
    return container;
  }
  return WithHint(
      absl::FailedPreconditionError(absl::StrCat("pod ", name, " has no running container")),
      "`plimsoll ps --all` shows how they ended.");
}

// Whether the daemon cut the stream, which then ends in a line that says so; takes the line away.
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

absl::StatusOr<int> Exec(const CommandContext& context, const ExecArguments& arguments) {
  if (arguments.interactive || arguments.tty) {
    return WithHint(absl::UnimplementedError("exec with --stdin or --tty is not there yet"),
                    "Give the command whole, for example: plimsoll exec NAME -- sh -c 'ls | wc'");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(const cri::Container container, Target(*client, arguments.name));
  if (container.state() != cri::CONTAINER_RUNNING) {
    return WithHint(absl::FailedPreconditionError(
                        absl::StrCat("container ", container.metadata().name(), " is not running")),
                    "`plimsoll ps` lists what is.");
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
                         ".\n  Have it write to a file or a volume instead.\n"));
  return response->exit_code() == 0 ? kExitOwnFailure : response->exit_code();
}

}  // namespace

void AddExecCommand(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<ExecArguments>();
  CLI::App* exec = app.add_subcommand(
      "exec",
      "Run a command in a running container.\n\n"
      "Output is printed when the command has ended, at most 16 MiB of it: of more the rest is "
      "lost, which is told on standard error. The exit code is the command's, 125 when Plimsoll "
      "itself failed or output of a successful command was lost. Ctrl-C ends the command. Put -- "
      "before the command.");
  exec->add_option("name", arguments->name,
                   "Name or id of a container, POD/CONTAINER, or a pod: its first container")
      ->type_name("CONTAINER")
      ->required();
  exec->add_option("command", arguments->command, "The command and its arguments")
      ->type_name("COMMAND")
      ->required();
  exec->add_option("--timeout", arguments->timeout_s, "Kill it after so many seconds; 0: never")
      ->type_name("SECONDS")
      ->check(ZeroOrMore());
  exec->add_flag("-i,--stdin", arguments->interactive, "Not there yet");
  exec->add_flag("-t,--tty", arguments->tty, "Not there yet");
  context.Act(
      exec, [&context, arguments] { return Exec(context, *arguments); }, kExitOwnFailure);
}

}  // namespace plimsoll::cli
