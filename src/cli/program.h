// The program `plimsoll`: its parser with all commands, and its run.
#ifndef PLIMSOLL_CLI_PROGRAM_H_
#define PLIMSOLL_CLI_PROGRAM_H_

#include <CLI/CLI.hpp>
#include <string>

#include "cli/command/command.h"

namespace plimsoll::cli {

// Commands on the parser itself.
void AddCompletionCommand(CLI::App& app, CommandContext& context);
void AddHelpCommand(CLI::App& app, CommandContext& context);

// True for commands without -o json or yaml.
bool HasOneForm(const std::string& command);

// The text of `--help`.
std::string HelpOf(const CLI::App& app);

// Adds all commands to the parser.
void BuildApp(CLI::App& app, CommandContext& context);

// Parses, runs, and prints errors. Returns main's result.
int RunProgramMain(int argc, char** argv);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_PROGRAM_H_
