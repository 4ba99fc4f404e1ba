// conmon as the monitor.
#ifndef PLIMSOLL_RUNTIME_OCI_CONMON_H_
#define PLIMSOLL_RUNTIME_OCI_CONMON_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/oci/monitor.h"

namespace plimsoll::runtime {

// `path` empty: from PATH. `host` holds proc/. NOT_FOUND when there is no such program.
absl::StatusOr<std::unique_ptr<Monitor>> LoadConmon(const std::string& path, FsRoot host);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_CONMON_H_
