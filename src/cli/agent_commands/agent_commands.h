// Commands on the objects of an agent.
#ifndef PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_COMMANDS_H_
#define PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_COMMANDS_H_

#include <CLI/CLI.hpp>

#include "cli/command/command.h"

namespace plimsoll::cli {

void AddApplyCommand(CLI::App& app, CommandContext& context);
void AddGetCommand(CLI::App& app, CommandContext& context);
void AddDescribeCommand(CLI::App& app, CommandContext& context);
void AddDeleteCommand(CLI::App& app, CommandContext& context);
void AddResizeCommand(CLI::App& app, CommandContext& context);
void AddAllocationsCommand(CLI::App& app, CommandContext& context);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_COMMANDS_H_
