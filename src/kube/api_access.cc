#include "kube/api_access.h"

#include "base/status.h"
#include "kube/apiserver/https_client.h"
#include "kube/apiserver/server_address.h"

namespace plimsoll::kube {
namespace {

absl::StatusOr<ApiServerAddress> AddressOf(const Config& config, const Environment& environment) {
  if (!config.kubeconfig.empty()) return KubeconfigAddress(config.kubeconfig);
  absl::StatusOr<ApiServerAddress> address = InClusterAddress(environment);
  if (absl::IsFailedPrecondition(address.status())) {
    return AlsoSay(address.status(), "outside a pod, name a kubeconfig (kubeconfig, --kubeconfig)");
  }
  return address;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ApiClient>> OpenApi(const Config& config,
                                                   const Environment& environment) {
  PLIMSOLL_ASSIGN_OR_RETURN(const ApiServerAddress address, AddressOf(config, environment));
  return MakeApiClient(address);
}

}  // namespace plimsoll::kube
