// Commands on the machine and its daemon: classes, topology, plugins, images, health.
#ifndef PLIMSOLL_CLI_NODE_COMMANDS_NODE_COMMANDS_H_
#define PLIMSOLL_CLI_NODE_COMMANDS_NODE_COMMANDS_H_

#include <CLI/CLI.hpp>

#include "cli/command/command.h"

namespace plimsoll::cli {

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
void AddVersionCommand(CLI::App& app, CommandContext& context);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_NODE_COMMANDS_NODE_COMMANDS_H_
