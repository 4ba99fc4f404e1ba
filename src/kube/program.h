// plimsoll-kube, wired: the API server, plimsolld, the driver, the node's publisher, metrics.
#ifndef PLIMSOLL_KUBE_PROGRAM_H_
#define PLIMSOLL_KUBE_PROGRAM_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "kube/config.h"
#include "service/logging.h"

namespace plimsoll::kube {

class Program {
 public:
  // Serves kubelet when it returns, whether or not the API server and plimsolld answer. `sockets`:
  // inherited ones by path. FAILED_PRECONDITION: another instance uses the state directory, or
  // there is no access to an API server. `log` outlives this.
  static absl::StatusOr<std::unique_ptr<Program>> Start(const KubeProgramConfig& config,
                                                        std::map<std::string, UniqueFd> sockets,
                                                        const Environment& environment, Log* log);
  // Claims under way end first. What is published stays.
  virtual ~Program() = default;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PROGRAM_H_
