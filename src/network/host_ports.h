// Host ports: one address and port of the host can serve a single pod only.
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

// The requested host ports, whether or not a plugin serves them.
std::vector<PortMapping> HostPortsOf(const Record& record);

// True when both need one port at one address. No address means all addresses of the host; 0.0.0.0
// and :: mean all of their family.
bool Conflict(const PortMapping& a, const PortMapping& b);

// The first of `asked` that conflicts with one of `held`.
std::optional<PortMapping> FirstConflict(const std::vector<PortMapping>& asked,
                                         const std::vector<PortMapping>& held);

// "8080/tcp", "8080/tcp at 192.0.2.1".
std::string PortText(const PortMapping& mapping);

// INVALID_ARGUMENT: two of the pod's own ports need the same host port. FAILED_PRECONDITION:
// another pod holds a port that plugins would serve for `record`; of two rules for one port, the
// plugins' tables use only the first. Records from an earlier boot hold nothing, and `remains`
// (ids) hold nothing against this one.
absl::Status CheckHostPorts(const Record& record, const std::vector<std::string>& remains,
                            const std::map<std::string, absl::StatusOr<Record>>& others);

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_HOST_PORTS_H_
