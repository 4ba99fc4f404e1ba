// The commands of `plimsoll`, one file each (cmd_<name>.cc). Each adds its part to the parser; the
// chosen one leaves an action, which main runs.
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
#include "pod/client.h"

namespace plimsoll::cli {

struct CommandContext {
  // Global options.
  std::string address;
  std::string root;
  std::string output = "table";

  // The exit code, or an error that becomes `failure_exit`.
  std::function<absl::StatusOr<int>()> action;
  int failure_exit = kExitError;

  OutputFormat format() const;
  bool for_programs() const {
    return format() == OutputFormat::kJson || format() == OutputFormat::kYaml;
  }
  // `may_start`: a daemon of our own, where none runs.
  absl::StatusOr<std::unique_ptr<pod::Client>> Connect(bool may_start = true) const;
  // As Connect, for commands that bring something in: the directory of --root need not be there.
  absl::StatusOr<std::unique_ptr<pod::Client>> ConnectToBringIn() const;

  // Makes `run` the action when `command` is the one that was given.
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
// Below `plimsoll classes`.
void AddExplainCommands(CLI::App& classes, CommandContext& context);
void AddAssignCommand(CLI::App& app, CommandContext& context);
void AddTopologyCommand(CLI::App& app, CommandContext& context);
// With `images`, `pull` and `rmi`, which are `image list`, `image pull` and `image remove`.
void AddImageCommand(CLI::App& app, CommandContext& context);
void AddDaemonCommand(CLI::App& app, CommandContext& context);
void AddDoctorCommand(CLI::App& app, CommandContext& context);
void AddEventsCommand(CLI::App& app, CommandContext& context);
void AddVersionCommand(CLI::App& app, CommandContext& context);
void AddCompletionCommand(CLI::App& app, CommandContext& context);

void AddHelpCommand(CLI::App& app, CommandContext& context);

// What `--help` prints.
std::string HelpOf(const CLI::App& app);

// Takes a number of 0 or more; its message is shorter than that of CLI::NonNegativeNumber.
CLI::Validator ZeroOrMore();

// The whole parser.
void BuildApp(CLI::App& app, CommandContext& context);

// Parses and runs; what main returns. Prints errors itself.
int RunProgramMain(int argc, char** argv);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_COMMAND_H_
