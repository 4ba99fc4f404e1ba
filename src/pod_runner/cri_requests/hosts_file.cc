#include "pod_runner/cri_requests/hosts_file.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pod_runner/cri_requests/to_cri.h"

namespace plimsoll::pod {
namespace {

constexpr char kLoopback[] =
    "127.0.0.1\tlocalhost\n"
    "::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\n"
    "fe00::0\tip6-mcastprefix\n"
    "fe00::1\tip6-allnodes\n"
    "fe00::2\tip6-allrouters\n";

}  // namespace

std::string HostsFile(const Manifest& pod, const PodContext& context, absl::string_view host_file) {
  std::string text;
  if (pod.host_network) {
    text = absl::StrCat("# Kubernetes-managed hosts file (host network).\n", host_file);
    if (!text.empty() && text.back() != '\n') text += '\n';
  } else {
    text = absl::StrCat("# Kubernetes-managed hosts file.\n", kLoopback);
    for (const std::string& ip : context.pod_ips) {
      absl::StrAppend(&text, ip, "\t", HostnameOf(pod), "\n");
    }
  }
  if (pod.host_aliases.empty()) return text;
  absl::StrAppend(&text, "\n# Entries added by HostAliases.\n");
  for (const HostAlias& alias : pod.host_aliases) {
    absl::StrAppend(&text, alias.ip, "\t", absl::StrJoin(alias.hostnames, "\t"), "\n");
  }
  return text;
}

}  // namespace plimsoll::pod
