// The text of `plimsoll ps`.
#ifndef PLIMSOLL_CLI_POD_COMMANDS_PS_REPORT_H_
#define PLIMSOLL_CLI_POD_COMMANDS_PS_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/terminal/api.h"

namespace plimsoll::cli {

struct PsRow {
  cri::Container container;
  cri::PodSandbox pod;          // default where the pod was removed
  cri::ContainerStatus status;  // of an exited container that still exists, else default
  bool exited() const { return container.state() == cri::CONTAINER_EXITED; }
  bool has_end() const { return exited() && !status.id().empty(); }
};

// `ends`: adds the columns about exits. `wide`: whole ids, and more columns.
std::string PsTable(const std::vector<PsRow>& rows, bool ends, bool wide, absl::Time now);
// {"containers": [...]}: each as in the CRI's list, with its pod's name and its exit.
absl::StatusOr<std::string> PsJson(const std::vector<PsRow>& rows);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_POD_COMMANDS_PS_REPORT_H_
