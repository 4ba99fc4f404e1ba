// A pod's /etc/hosts, as kubelet writes it (pkg/kubelet/kubelet_pods.go).
#ifndef PLIMSOLL_POD_RUNNER_CRI_REQUESTS_HOSTS_FILE_H_
#define PLIMSOLL_POD_RUNNER_CRI_REQUESTS_HOSTS_FILE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::pod {

// `host_file`: the host's /etc/hosts, which a pod on the host's network begins with. The pod's
// addresses and its host name have a line each.
std::string HostsFile(const Manifest& pod, const PodContext& context, absl::string_view host_file);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_CRI_REQUESTS_HOSTS_FILE_H_
