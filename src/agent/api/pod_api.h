// The API of an agent: Kubernetes' paths, answered by a PodService.
#ifndef PLIMSOLL_AGENT_API_POD_API_H_
#define PLIMSOLL_AGENT_API_POD_API_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/api/answer.h"
#include "agent/http/request.h"
#include "agent/pods/status/pod_service.h"

namespace plimsoll::agent {

// Beside the pods. Called from several threads at once; a null function's path is NOT_FOUND.
struct Pages {
  // OK: healthy. The message of an error is /healthz' text.
  std::function<absl::Status()> health;
  // Prometheus' text format.
  std::function<std::string()> metrics;
  // The agent's configuration in force.
  std::function<nlohmann::json()> config;
  // The v1 ResourceQuotas of a namespace; of all for an empty one.
  std::function<absl::StatusOr<std::vector<nlohmann::json>>(const std::string& pod_namespace)>
      quotas;
  // Who has which CPUs, memory and devices (agent/managers/allocation_report.h).
  std::function<nlohmann::json()> allocations;
};

// The paths, with `pod` for /api/v1/namespaces/{namespace}/pods/{name}:
//
//   GET    /api/v1/pods, /api/v1/namespaces/{namespace}/pods   watch, fieldSelector=metadata.name=
//   POST   /api/v1/pods                                        a manifest: all its pods, or none
//   GET    pod
//   DELETE pod                                                 gracePeriodSeconds
//   GET    pod/log                    container, follow, previous, tailLines, timestamps
//   POST   pod/exec                   command (a word each), container, stdin, tty
//   PATCH  pod/resize
//   GET    /api/v1/node
//   GET    /api/v1/events, /api/v1/namespaces/{namespace}/events
//                                     fieldSelector=involvedObject.name= with a namespace
//   GET    /api/v1/resourcequotas, /api/v1/namespaces/{namespace}/resourcequotas
//   GET    /api/v1/namespaces/{namespace}/resourcequotas/{name}
//   GET    /healthz, /metrics, /configz, /allocations
//
// An error is a v1 Status object. A watch is lines of {"type": "ADDED", "object": {...}}; it begins
// with the pods that are there. Thread-safe.
class PodApi {
 public:
  PodApi(PodService* pods, Pages pages) : pods_(pods), pages_(std::move(pages)) {}

  void Serve(const HttpRequest& request, Answer& answer) const;

 private:
  PodService* const pods_;
  const Pages pages_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_API_POD_API_H_
