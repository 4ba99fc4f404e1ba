// What `plimsoll ps` tells.
#ifndef PLIMSOLL_CLI_PS_REPORT_H_
#define PLIMSOLL_CLI_PS_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/api.h"

namespace plimsoll::cli {

struct PsRow {
  cri::Container container;
  cri::PodSandbox pod;          // default where it has gone
  cri::ContainerStatus status;  // of one that has exited and is still there, else default
  bool exited() const { return container.state() == cri::CONTAINER_EXITED; }
  bool has_end() const { return exited() && !status.id().empty(); }
};

// `ends`: with the columns of how they ended. `wide`: whole ids, and more columns.
std::string PsTable(const std::vector<PsRow>& rows, bool ends, bool wide, absl::Time now);
// {"containers": [...]}: each as the list of the CRI has it, with its pod's name and its end.
absl::StatusOr<std::string> PsJson(const std::vector<PsRow>& rows);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_PS_REPORT_H_
