// Values of kernel parameters that each namespace has its own of.
#ifndef PLIMSOLL_LINUX_NAMESPACES_NAMESPACED_SYSCTLS_H_
#define PLIMSOLL_LINUX_NAMESPACES_NAMESPACED_SYSCTLS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "linux/namespaces/sysctl_name.h"

namespace plimsoll::linux {

struct SysctlSetting {
  std::string name;  // as the client spells it
  Sysctl sysctl;
  std::string value;
};

// By name, as clients spell them.
using SysctlValues = std::map<std::string, std::string>;

// Parses the names. INVALID_ARGUMENT: see ParseSysctlName.
absl::StatusOr<std::vector<SysctlSetting>> ParseSysctls(const SysctlValues& values);

// Writes in the namespaces that the calling thread is in. `root`: the user that is root of the user
// namespace that owns them, 0 for the host's. INVALID_ARGUMENT for a value that the kernel refuses
// and a name that it doesn't know; those before it are written then.
absl::Status WriteSysctls(const std::vector<SysctlSetting>& settings, uint32_t root);

// Files of namespaces: /proc/<pid>/ns/net, or pins. An empty member: there is none.
struct NamespaceFiles {
  std::string network;
  std::string ipc;
  std::string uts;
};

// The two below act in those namespaces, in a thread of its own. INVALID_ARGUMENT for a parameter
// whose namespace is this process's own: it would become the host's. Nothing is done then.

// The values of the parameters that `like` names, without those that can't be read.
absl::StatusOr<SysctlValues> ReadSysctls(const NamespaceFiles& files, const SysctlValues& like);

absl::Status SetSysctls(const NamespaceFiles& files, const SysctlValues& values, uint32_t root);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_NAMESPACES_NAMESPACED_SYSCTLS_H_
