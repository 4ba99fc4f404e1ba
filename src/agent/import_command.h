// plimsoll-agent import-kubelet-state.
#ifndef PLIMSOLL_AGENT_IMPORT_COMMAND_H_
#define PLIMSOLL_AGENT_IMPORT_COMMAND_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/config.h"
#include "base/text/command_line.h"

namespace plimsoll::agent {

inline constexpr char kImportCommand[] = "import-kubelet-state";

struct ImportFlags {
  AgentFlags agent;  // config, state_directory and runtime_endpoint
  std::string kubelet_root = "/var/lib/kubelet";
  std::vector<std::string> pods;  // "UID=NAMESPACE/NAME"
  bool dry_run = false;
};
// `argv` begins with the command. As ParseFlags.
std::optional<EarlyExit> ParseImportFlags(int argc, const char* const* argv, ImportFlags& flags);

struct ImportOutcome {
  std::string text;  // for people
  bool is_complete = false;
};
// Reads kubelet's two files, and keeps what pods had in the agent's database, for their admission.
// Writes nothing of kubelet's. FAILED_PRECONDITION: an agent runs on the state directory, or a
// newer one made its database. NOT_FOUND: kubelet's directory has neither file. INVALID_ARGUMENT: a
// file or flag is faulty. Errors of the runtime only while a name is missing.
absl::StatusOr<ImportOutcome> ImportKubeletState(const ImportFlags& flags);

// The program; `argv` as ParseImportFlags. 0: all was imported; 1: not all, or an error; 2: a wrong
// flag.
int RunImportCommand(int argc, const char* const* argv);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_IMPORT_COMMAND_H_
