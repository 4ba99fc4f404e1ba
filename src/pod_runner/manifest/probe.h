// Probes and hooks of containers, as plain structs. Times are whole seconds.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_PROBE_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_PROBE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace plimsoll::pod {

struct ExecAction {
  std::vector<std::string> command;  // never empty
};

struct HttpGetAction {
  std::string host;  // empty: the pod's address
  int64_t port = 0;  // a named port is resolved already
  std::string path = "/";
  std::string scheme = "HTTP";  // "HTTP", "HTTPS"
  std::vector<std::pair<std::string, std::string>> headers;
};

struct TcpSocketAction {
  std::string host;  // empty: the pod's address
  int64_t port = 0;
};

// The health check of gRPC (grpc.health.v1).
struct GrpcAction {
  int64_t port = 0;
  std::string service;
};

struct SleepAction {
  int64_t seconds = 0;
};

// A probe never sleeps, a hook never calls gRPC.
using Action = std::variant<ExecAction, HttpGetAction, TcpSocketAction, GrpcAction, SleepAction>;

// Defaults and ranges are Kubernetes'.
struct Probe {
  Action action;
  int64_t initial_delay_s = 0;    // 0 and up
  int64_t timeout_s = 1;          // 1 and up
  int64_t period_s = 10;          // 1 and up
  int64_t success_threshold = 1;  // 1 for liveness and startup probes
  int64_t failure_threshold = 3;  // 1 and up
  // The container's grace period after a failed liveness or startup probe, in place of the pod's.
  std::optional<int64_t> grace_period_s;
};

struct Lifecycle {
  std::optional<Action> post_start;
  std::optional<Action> pre_stop;
  std::string stop_signal;  // "SIGUSR1"; empty: the image's
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_PROBE_H_
