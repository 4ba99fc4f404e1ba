// Commands on the streams of containers: logs, exec, attach, cp, port-forward.
#ifndef PLIMSOLL_CLI_STREAM_COMMANDS_STREAM_COMMANDS_H_
#define PLIMSOLL_CLI_STREAM_COMMANDS_STREAM_COMMANDS_H_

#include <CLI/CLI.hpp>

#include "cli/command/command.h"

namespace plimsoll::cli {

void AddLogsCommand(CLI::App& app, CommandContext& context);
void AddExecCommand(CLI::App& app, CommandContext& context);
void AddCpCommand(CLI::App& app, CommandContext& context);
void AddAttachCommand(CLI::App& app, CommandContext& context);
void AddPortForwardCommand(CLI::App& app, CommandContext& context);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_STREAM_COMMANDS_STREAM_COMMANDS_H_
