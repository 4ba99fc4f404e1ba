// Addresses of API servers, with the proofs that client and server show each other.
#ifndef PLIMSOLL_KUBE_APISERVER_SERVER_ADDRESS_H_
#define PLIMSOLL_KUBE_APISERVER_SERVER_ADDRESS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::kube {

// A text of its own, or a file's, which is read again at each use: tokens and certificates are
// replaced while programs run. The file counts where both are set.
struct FileOrText {
  std::string file;
  std::string text;
  bool empty() const { return file.empty() && text.empty(); }
};

struct ApiServerAddress {
  std::string host;  // "10.96.0.1", "fd00::1", "api.example"
  uint16_t port = 443;
  std::string prefix;       // of every path, as "/clusters/c1"; mostly empty
  std::string server_name;  // that the server's certificate must be for; empty: the host
  FileOrText authorities;   // PEM; empty: those that the machine trusts
  FileOrText token;         // empty: none is sent
  FileOrText certificate;   // the client's, PEM; empty: none, and no key
  FileOrText key;
  std::string space;  // the namespace of the service account or context; may be empty
};

inline constexpr char kServiceAccountDirectory[] = "/var/run/secrets/kubernetes.io/serviceaccount";

// Takes host, port and prefix from "https://HOST[:PORT][/PREFIX]". INVALID_ARGUMENT, without an
// echo of a password in the URL.
absl::Status SetServerUrl(absl::string_view url, ApiServerAddress& address);

// The address in a pod's service account: KUBERNETES_SERVICE_HOST and _PORT of the environment, and
// the files "token", "ca.crt" and "namespace" of the directory. FAILED_PRECONDITION: no pod.
absl::StatusOr<ApiServerAddress> InClusterAddress(
    const std::function<const char*(const char*)>& environment,
    const std::string& directory = kServiceAccountDirectory);

// The address in the context of a kubeconfig; empty: its current-context. Relative file names are
// taken from the kubeconfig's directory. INVALID_ARGUMENT says file, line and what to write
// instead, for what this client doesn't do: exec plug-ins, auth providers, passwords, proxies,
// impersonation, servers that are not verified.
absl::StatusOr<ApiServerAddress> KubeconfigAddress(const std::string& path,
                                                   const std::string& context = "");
// The same for a kubeconfig's text. `path` is for messages and relative names.
absl::StatusOr<ApiServerAddress> ParseKubeconfig(const std::string& text, const std::string& path,
                                                 const std::string& context = "");

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_SERVER_ADDRESS_H_
