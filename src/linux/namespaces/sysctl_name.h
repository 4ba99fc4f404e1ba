// Names of kernel parameters and the namespace of each.
#ifndef PLIMSOLL_LINUX_NAMESPACES_SYSCTL_NAME_H_
#define PLIMSOLL_LINUX_NAMESPACES_SYSCTL_NAME_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::linux {

enum class SysctlNamespace { kNetwork, kIpc, kUts };

struct Sysctl {
  std::string path;  // below /proc/sys: "net/ipv4/ip_forward"
  SysctlNamespace belongs_to = SysctlNamespace::kNetwork;
};

// Parses "net.ipv4.ip_forward" or "net/ipv4/ip_forward". The first separator decides which of the
// two it is, as in sysctl.d(5): "net/ipv4/conf/eth0.1/forwarding" and
// "net.ipv4.conf.eth0/1.forwarding" are the same. INVALID_ARGUMENT for a malformed name and for a
// parameter of the whole machine.
absl::StatusOr<Sysctl> ParseSysctlName(absl::string_view name);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_NAMESPACES_SYSCTL_NAME_H_
