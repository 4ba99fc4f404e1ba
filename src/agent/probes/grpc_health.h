// gRPC's health check, asked as kubelet does.
#ifndef PLIMSOLL_AGENT_PROBES_GRPC_HEALTH_H_
#define PLIMSOLL_AGENT_PROBES_GRPC_HEALTH_H_

#include <functional>
#include <string>

#include "absl/time/time.h"
#include "agent/probes/probe_kind.h"

namespace plimsoll::agent {

// Asks the server at `address` ("10.0.0.1:9000") for the state of `service`; empty: of all of it.
// Without TLS. `given_up` is asked every 50 ms, and ends the call with kUnknown.
ProbeOutcome CheckGrpcHealth(const std::string& address, const std::string& service,
                             absl::Duration timeout, const std::function<bool()>& given_up);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PROBES_GRPC_HEALTH_H_
