// Facts of the machine that kubelet would have for its pods.
#ifndef PLIMSOLL_POD_RUNNER_CRI_REQUESTS_HOST_H_
#define PLIMSOLL_POD_RUNNER_CRI_REQUESTS_HOST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::pod {

// MemTotal of /proc/meminfo, in bytes.
absl::StatusOr<int64_t> MemoryCapacityBytes(const FsRoot& root);

struct ResolvConf {
  std::vector<std::string> servers;
  std::vector<std::string> searches;
  std::vector<std::string> options;
};
// Parses resolv.conf(5). The last "search" or "domain" line counts; unknown lines don't.
ResolvConf ParseResolvConf(absl::string_view text);

// This machine's name in the network.
std::string HostName();

// The addresses by which this machine reaches others, IPv4 before IPv6: of the interfaces that lead
// to the default routes. {"127.0.0.1"} without any.
std::vector<std::string> HostIps();

// A random UUID of version 4, for a pod's uid.
std::string RandomUid();

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_CRI_REQUESTS_HOST_H_
