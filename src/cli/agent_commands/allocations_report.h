// Who has which CPUs, memory and devices, for people: `plimsoll allocations`.
#ifndef PLIMSOLL_CLI_AGENT_COMMANDS_ALLOCATIONS_REPORT_H_
#define PLIMSOLL_CLI_AGENT_COMMANDS_ALLOCATIONS_REPORT_H_

#include <string>

#include "cli/terminal/object_fields.h"

namespace plimsoll::cli {

struct AllocationsShape {
  bool drawing = true;  // of the CPUs
  bool colour = false;  // in the drawing
};

// `allocations`: the agent's (agent/managers/allocation_report.h). Policies, the drawing, and a
// table each of memory by NUMA node, devices, and containers; one without rows is left out.
std::string AllocationsText(const KubeObject& allocations, const AllocationsShape& shape);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_AGENT_COMMANDS_ALLOCATIONS_REPORT_H_
