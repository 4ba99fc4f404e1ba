// The context of the commands of `plimsoll`: global options, the daemon, the chosen action. Each
// command is a file cmd_<name>.cc, which adds its part to the parser. Parsing leaves the action of
// the chosen command, which RunProgramMain runs.
#ifndef PLIMSOLL_CLI_COMMAND_COMMAND_H_
#define PLIMSOLL_CLI_COMMAND_COMMAND_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "cli/terminal/api.h"
#include "cli/terminal/errors.h"
#include "cli/terminal/output.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::cli {

// The action of the command that the command line names.
class ChosenAction {
 public:
  // `run` returns the exit code. An error is printed, and becomes `exit_on_failure`.
  void Choose(std::function<absl::StatusOr<int>()> run, int exit_on_failure) {
    run_ = std::move(run);
    failure_exit_ = exit_on_failure;
  }
  absl::StatusOr<int> Run() const { return run_(); }
  int failure_exit() const { return failure_exit_; }

 private:
  std::function<absl::StatusOr<int>()> run_;
  int failure_exit_ = kExitError;
};

struct CommandContext {
  // Global options.
  std::string address;
  std::string root;
  std::string agent;
  std::string output = "table";

  ChosenAction action;

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

// Adds -c,--container, which names a container of the pod that is the command's argument.
void AddContainerOption(CLI::App& command, std::string* container);

// Takes a number of 0 or more, with a shorter message than CLI::NonNegativeNumber.
CLI::Validator ZeroOrMore();

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_COMMAND_COMMAND_H_
