// The CRI's RPCs about the node: Version, Status, RuntimeConfig and its update.
#ifndef PLIMSOLL_CRI_STATUS_RPCS_H_
#define PLIMSOLL_CRI_STATUS_RPCS_H_

#include <utility>

#include "absl/status/status.h"
#include "cri/node_info.h"
#include "cri/runtime/v1/api.pb.h"

namespace plimsoll::cri {

// Thread-safe; every method may block. Errors are those that the client sees.
class StatusRpcs {
 public:
  explicit StatusRpcs(NodeInfo info) : info_(std::move(info)) {}

  absl::Status Version(const ::runtime::v1::VersionRequest& request,
                       ::runtime::v1::VersionResponse* response);
  absl::Status Status(const ::runtime::v1::StatusRequest& request,
                      ::runtime::v1::StatusResponse* response);
  absl::Status RuntimeConfig(const ::runtime::v1::RuntimeConfigRequest& request,
                             ::runtime::v1::RuntimeConfigResponse* response);
  absl::Status UpdateRuntimeConfig(const ::runtime::v1::UpdateRuntimeConfigRequest& request,
                                   ::runtime::v1::UpdateRuntimeConfigResponse* response);

 private:
  const NodeInfo info_;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_STATUS_RPCS_H_
