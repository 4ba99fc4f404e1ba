// The API server that the configuration names.
#ifndef PLIMSOLL_KUBE_API_ACCESS_H_
#define PLIMSOLL_KUBE_API_ACCESS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kube/apiserver/api_client.h"
#include "kube/config.h"

namespace plimsoll::kube {

// By the kubeconfig, else by the service account of the pod that this runs in. Calls nobody yet.
// FAILED_PRECONDITION: there is neither.
// `warn` is called for a kubeconfig without credentials: a server may let anybody in.
absl::StatusOr<std::unique_ptr<ApiClient>> OpenApi(
    const KubeProgramConfig& config, const Environment& environment,
    const std::function<void(const std::string&)>& warn);

// Looks at the files that the configuration names, as the start would find them: the kubeconfig,
// and the state directory if it is there. Changes nothing.
absl::Status CheckFiles(const KubeProgramConfig& config,
                        const std::function<void(const std::string&)>& warn);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_API_ACCESS_H_
