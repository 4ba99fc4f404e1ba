// Kernel parameters of a pod's namespaces: the client's, and rights of ordinary users.
#ifndef PLIMSOLL_RUNTIME_OBJECTS_POD_SYSCTLS_H_
#define PLIMSOLL_RUNTIME_OBJECTS_POD_SYSCTLS_H_

#include "base/fs_root.h"
#include "linux/namespaces/namespaced_sysctls.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

// Rights of processes without capabilities in a network namespace of a pod's own. The kernel's
// own defaults are for the host, where a port below 1024 stands for a service of the machine.
struct NetworkRights {
  bool ports = true;  // net.ipv4.ip_unprivileged_port_start=0: listen at any port
  bool ping = true;   // net.ipv4.ping_group_range: ICMP echo sockets (icmp(7))
};

// The parameters to be set in the new namespaces of the pod's sandbox, by this process, in the
// host's user namespace. A parameter that the client names is the client's; one that the kernel of
// `host` lacks is left out. Groups of net.ipv4.ping_group_range, the client's too, are those of the
// pod's user namespace.
linux::SysctlValues PodSysctls(const FsRoot& host, const SandboxSpec& spec,
                               const NetworkRights& rights);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OBJECTS_POD_SYSCTLS_H_
