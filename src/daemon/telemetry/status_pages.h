// The daemon's pages over HTTP.
//
//   /metrics   its metrics, in Prometheus' text format
//   /healthz   200 while it is alive, 503 if a restart would mend it
//   /readyz    200 while it is ready for pods, else 503; a line for each condition in either case
#ifndef PLIMSOLL_DAEMON_TELEMETRY_STATUS_PAGES_H_
#define PLIMSOLL_DAEMON_TELEMETRY_STATUS_PAGES_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/telemetry/node_health.h"
#include "service/http_server.h"

namespace plimsoll::daemon {

// Called in the server's thread, which serves one request at a time.
struct StatusSources {
  std::function<std::string()> metrics;
  std::function<absl::Status()> alive;
  std::function<std::vector<HealthCondition>()> conditions;
};

// Serves the pages at http://<address> until it is destroyed. "127.0.0.1:0" takes a free port.
// UNAVAILABLE.
absl::StatusOr<std::unique_ptr<HttpServer>> ServeStatusPages(const std::string& address,
                                                             StatusSources sources,
                                                             HttpServer::Warn warn = nullptr);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_TELEMETRY_STATUS_PAGES_H_
