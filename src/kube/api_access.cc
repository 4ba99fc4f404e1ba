#include "kube/api_access.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "base/text/problems.h"
#include "kube/apiserver/https_client.h"
#include "kube/apiserver/server_address.h"

namespace plimsoll::kube {
namespace {

using WarnSink = std::function<void(const std::string&)>;

absl::StatusOr<ApiServerAddress> AddressOf(const KubeProgramConfig& config,
                                           const Environment& environment) {
  if (!config.kubeconfig.empty()) return KubeconfigAddress(config.kubeconfig);
  absl::StatusOr<ApiServerAddress> address = InClusterAddress(environment);
  if (absl::IsFailedPrecondition(address.status())) {
    return AlsoSay(address.status(), "outside a pod, name a kubeconfig (kubeconfig, --kubeconfig)");
  }
  return address;
}

void WarnOfAnonymous(const KubeProgramConfig& config, const ApiServerAddress& address,
                     const WarnSink& warn) {
  if (!address.token.empty() || !address.certificate.empty()) return;
  warn(absl::StrCat("kubeconfig: ", config.kubeconfig,
                    ": the context's user has no credentials, so the API server is asked as "
                    "system:anonymous, which it rarely allows; right would be tokenFile, or "
                    "client-certificate and client-key"));
}

absl::Status CheckStateDirectory(const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  const absl::StatusOr<struct stat> seen = host.Stat(path);
  if (absl::IsNotFound(seen.status())) return absl::OkStatus();
  if (!seen.ok()) return Annotate(seen.status(), "stateDirectory");
  if (S_ISDIR(seen->st_mode)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("stateDirectory: \"", path, "\" is ",
                                                 KindOfFile(seen->st_mode), ", not a directory"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ApiClient>> OpenApi(const KubeProgramConfig& config,
                                                   const Environment& environment,
                                                   const WarnSink& warn) {
  PLIMSOLL_ASSIGN_OR_RETURN(const ApiServerAddress address, AddressOf(config, environment));
  WarnOfAnonymous(config, address, warn);
  return MakeApiClient(address);
}

absl::Status CheckFiles(const KubeProgramConfig& config, const WarnSink& warn) {
  absl::Status problems = CheckStateDirectory(config.state_directory);
  if (config.kubeconfig.empty()) return problems;
  const absl::StatusOr<ApiServerAddress> address = KubeconfigAddress(config.kubeconfig);
  if (address.ok()) WarnOfAnonymous(config, *address, warn);
  return AlsoTell(problems, address.status());
}

}  // namespace plimsoll::kube
