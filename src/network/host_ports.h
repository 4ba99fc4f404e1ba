// Host ports: at one address of the host, one pod's alone can be served.
#ifndef PLIMSOLL_NETWORK_HOST_PORTS_H_
#define PLIMSOLL_NETWORK_HOST_PORTS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "network/attachment.h"

namespace plimsoll::network {

// What was asked for, whether or not a plugin serves it.
std::vector<PortMapping> HostPortsOf(const Record& record);

// Whether both want one port at one address. No address is each of the host's, 0.0.0.0 and :: are
// each of their family.
bool Conflict(const PortMapping& a, const PortMapping& b);

// The first of `asked` that conflicts with one of `held`.
std::optional<PortMapping> FirstConflict(const std::vector<PortMapping>& asked,
                                         const std::vector<PortMapping>& held);

// "8080/tcp", "8080/tcp at 192.0.2.1".
std::string PortText(const PortMapping& mapping);

// INVALID_ARGUMENT: the pod's own ports want one of the host's. FAILED_PRECONDITION: another pod
// holds a port that plugins would serve for `record`; of two rules
// for one port, their tables know the first alone. What a boot before that of `record` has left
// on record holds nothing.
absl::Status CheckHostPorts(const Record& record,
                            const std::map<std::string, absl::StatusOr<Record>>& others);

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_HOST_PORTS_H_
