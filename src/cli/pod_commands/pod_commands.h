// Commands on the daemon's pods and containers: run, list, watch, change, end.
#ifndef PLIMSOLL_CLI_POD_COMMANDS_POD_COMMANDS_H_
#define PLIMSOLL_CLI_POD_COMMANDS_POD_COMMANDS_H_

#include <CLI/CLI.hpp>

#include "cli/command/command.h"

namespace plimsoll::cli {

void AddRunCommand(CLI::App& app, CommandContext& context);
void AddPsCommand(CLI::App& app, CommandContext& context);
void AddPodsCommand(CLI::App& app, CommandContext& context);
void AddInspectCommand(CLI::App& app, CommandContext& context);
void AddStopCommand(CLI::App& app, CommandContext& context);
void AddRmCommand(CLI::App& app, CommandContext& context);
void AddWaitCommand(CLI::App& app, CommandContext& context);
void AddPruneCommand(CLI::App& app, CommandContext& context);
void AddTopCommand(CLI::App& app, CommandContext& context);
void AddUpdateCommand(CLI::App& app, CommandContext& context);
void AddEventsCommand(CLI::App& app, CommandContext& context);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_POD_COMMANDS_POD_COMMANDS_H_
