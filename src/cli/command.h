// The commands of `plimsoll`, one file each (cmd_<name>.cc). Each adds its part to the parser.
// Parsing leaves the action of the chosen command, which main runs.
#ifndef PLIMSOLL_CLI_COMMAND_H_
#define PLIMSOLL_CLI_COMMAND_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/api.h"
#include "cli/errors.h"
#include "cli/output.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::cli {

struct CommandContext {
  // Global options.
  std::string address;
  std::string root;
  std::string agent;
  std::string output = "table";

  // Returns the exit code. An error is printed, and becomes `failure_exit`.
  std::function<absl::StatusOr<int>()> action;
  int failure_exit = kExitError;

  OutputFormat format() const;
  bool for_programs() const {
    return format() == OutputFormat::kJson || format() == OutputFormat::kYaml;
  }
  // `may_start`: starts a daemon of our own where none runs.
  absl::StatusOr<std::unique_ptr<pod::Client>> Connect(bool may_start = true) const;
  // Says on standard error which of the machine's pods the commands' daemon doesn't have.
  void NoteHiddenPods() const;
  // Connects like Connect, for commands that import: the directory of --root may be missing.
  absl::StatusOr<std::unique_ptr<pod::Client>> ConnectToBringIn() const;

  // Makes `run` the action when the command line has `command`.
  void Act(CLI::App* command, std::function<absl::StatusOr<int>()> run,
           int exit_on_failure = kExitError);
};

void AddRunCommand(CLI::App& app, CommandContext& context);
void AddPsCommand(CLI::App& app, CommandContext& context);
void AddPodsCommand(CLI::App& app, CommandContext& context);
void AddInspectCommand(CLI::App& app, CommandContext& context);
void AddLogsCommand(CLI::App& app, CommandContext& context);
void AddExecCommand(CLI::App& app, CommandContext& context);
void AddAttachCommand(CLI::App& app, CommandContext& context);
void AddPortForwardCommand(CLI::App& app, CommandContext& context);
void AddStopCommand(CLI::App& app, CommandContext& context);
void AddRmCommand(CLI::App& app, CommandContext& context);
void AddWaitCommand(CLI::App& app, CommandContext& context);

void AddPruneCommand(CLI::App& app, CommandContext& context);
void AddTopCommand(CLI::App& app, CommandContext& context);
void AddUpdateCommand(CLI::App& app, CommandContext& context);
void AddClassesCommand(CLI::App& app, CommandContext& context);
// Subcommands of `plimsoll classes`.
void AddExplainCommands(CLI::App& classes, CommandContext& context);
void AddAssignCommand(CLI::App& app, CommandContext& context);
void AddNriCommand(CLI::App& app, CommandContext& context);
void AddTopologyCommand(CLI::App& app, CommandContext& context);
void AddKubeletConfigCommand(CLI::App& app, CommandContext& context);
// Adds `images`, `pull` and `rmi` too: they are `image list`, `image pull` and `image remove`.
void AddImageCommand(CLI::App& app, CommandContext& context);
void AddDaemonCommand(CLI::App& app, CommandContext& context);
void AddDoctorCommand(CLI::App& app, CommandContext& context);
void AddEventsCommand(CLI::App& app, CommandContext& context);
// Clients of an agent.
void AddApplyCommand(CLI::App& app, CommandContext& context);
void AddGetCommand(CLI::App& app, CommandContext& context);
void AddDescribeCommand(CLI::App& app, CommandContext& context);
void AddDeleteCommand(CLI::App& app, CommandContext& context);
void AddResizeCommand(CLI::App& app, CommandContext& context);
void AddAllocationsCommand(CLI::App& app, CommandContext& context);
void AddVersionCommand(CLI::App& app, CommandContext& context);
void AddCompletionCommand(CLI::App& app, CommandContext& context);

void AddHelpCommand(CLI::App& app, CommandContext& context);

// True for commands without -o json or yaml.
bool HasOneForm(const std::string& command);

// The text of `--help`.
std::string HelpOf(const CLI::App& app);

// Adds -c,--container, which names a container of the pod that is the command's argument.
void AddContainerOption(CLI::App& command, std::string* container);

// Takes a number of 0 or more, with a shorter message than CLI::NonNegativeNumber.
CLI::Validator ZeroOrMore();

// Adds all commands to the parser.
void BuildApp(CLI::App& app, CommandContext& context);

// Parses, runs, and prints errors. Returns main's result.
int RunProgramMain(int argc, char** argv);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_COMMAND_H_
