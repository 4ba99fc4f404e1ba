// plimsoll allocations
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/agent_commands/agent_commands.h"
#include "cli/agent_commands/agent_connect.h"
#include "cli/agent_commands/allocations_report.h"
#include "cli/command/command.h"

namespace plimsoll::cli {
namespace {

absl::StatusOr<int> ShowAllocations(const CommandContext& context, bool drawing) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, AgentOf(context));
  const absl::StatusOr<KubeObject> allocations = client->Allocations();
  if (!allocations.ok()) {
    return WithAgentHint(allocations.status(),
                         "`plimsoll topology` shows which CPUs the runtime's containers run on.");
  }
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintJson(
        allocations->dump(1, ' ', false, KubeObject::error_handler_t::replace), context.format()));
    return kExitOk;
  }
  Print(AllocationsText(*allocations, {.drawing = drawing, .colour = UseColour()}));
  return kExitOk;
}

}  // namespace

void AddAllocationsCommand(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "allocations",
      "Show who has which CPUs, memory and devices of the agent's node.\n\n"
      "The drawing has a line for each NUMA node, with its cores in brackets. A CPU has the letter "
      "of its holder, \".\" if containers share it, \"#\" if it is reserved.");
  auto tables = std::make_shared<bool>(false);
  command->add_flag("--no-drawing", *tables, "Only the tables");
  context.Act(command, [&context, tables] { return ShowAllocations(context, !*tables); });
}

}  // namespace plimsoll::cli
