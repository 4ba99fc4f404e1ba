// Facts about the machine that no topology has: status.nodeInfo and status.addresses.
#ifndef PLIMSOLL_AGENT_NODE_MACHINE_FACTS_H_
#define PLIMSOLL_AGENT_NODE_MACHINE_FACTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::agent {

// A fact that is unknown is empty.
struct MachineFacts {
  std::string host_name;
  std::string kernel_version;
  std::string os_image;      // PRETTY_NAME of os-release
  std::string architecture;  // Go's name: "amd64"
  // Stand in for those that the topology lacks.
  std::string machine_id, boot_id, system_uuid;
  // The first address of an interface that is up and no loopback: IPv4 before IPv6.
  std::string address;
};

// `host` is "/". An error is a passing one, e.g. no descriptors left.
absl::StatusOr<MachineFacts> ReadMachineFacts(const FsRoot& host);

// Go's name of uname(2)'s machine: "amd64" for "x86_64". Others stay as they are.
std::string GoArchitecture(absl::string_view machine);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_NODE_MACHINE_FACTS_H_
