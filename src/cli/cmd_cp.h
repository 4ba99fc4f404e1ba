// plimsoll cp, for command.h's BuildApp.
#ifndef PLIMSOLL_CLI_CMD_CP_H_
#define PLIMSOLL_CLI_CMD_CP_H_

#include "cli/command.h"

namespace plimsoll::cli {

void AddCpCommand(CLI::App& app, CommandContext& context);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_CMD_CP_H_
