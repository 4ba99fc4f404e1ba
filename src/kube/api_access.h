// The API server that the configuration names.
#ifndef PLIMSOLL_KUBE_API_ACCESS_H_
#define PLIMSOLL_KUBE_API_ACCESS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kube/apiserver/api_client.h"
#include "kube/config.h"

namespace plimsoll::kube {

// By the kubeconfig, else by the service account of the pod that this runs in. Calls nobody yet.
// FAILED_PRECONDITION: there is neither.
absl::StatusOr<std::unique_ptr<ApiClient>> OpenApi(const Config& config,
                                                   const Environment& environment);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_API_ACCESS_H_
