// Calls of a Kubernetes API server: JSON over HTTPS.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(const auto client, MakeApiClient(address));  // https_client.h
//   const auto node = client->Call({.path = "/api/v1/nodes/n1"}, until);
#ifndef PLIMSOLL_KUBE_APISERVER_API_CLIENT_H_
#define PLIMSOLL_KUBE_APISERVER_API_CLIENT_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/steady_time.h"

namespace plimsoll::kube {

struct ApiRequest {
  std::string method = "GET";
  std::string path;     // with a query: "/apis/resource.k8s.io/v1/resourceslices?limit=500"
  nlohmann::json body;  // null: none
  // The type of the body; a PATCH needs its own ("application/merge-patch+json").
  std::string content_type = "application/json";
};

// One event of a watch.
struct WatchEvent {
  std::string type;  // "ADDED", "MODIFIED", "DELETED", "BOOKMARK"
  nlohmann::json object;
};

// Thread-safe. Errors say method, path, and the server's message: UNAUTHENTICATED (401, or
// credentials that can't be read), PERMISSION_DENIED (403), NOT_FOUND (404), ALREADY_EXISTS (409 of
// a creation), ABORTED (409: the object has changed since it was read), OUT_OF_RANGE (410: the
// resourceVersion is too old), INVALID_ARGUMENT (400, 413, 422), RESOURCE_EXHAUSTED (429, once its
// Retry-After waits are used up), UNAVAILABLE (5xx, no connection, an answer that is none or is
// beyond a limit), DEADLINE_EXCEEDED, CANCELLED. No message holds the token.
class ApiClient {
 public:
  virtual ~ApiClient() = default;

  // The answer's object. Waits `patience` at most, Retry-After included.
  virtual absl::StatusOr<nlohmann::json> Call(const ApiRequest& request,
                                              absl::Duration patience = absl::Seconds(10)) = 0;

  // Streams a watch ("...?watch=true&resourceVersion=7&allowWatchBookmarks=true") until the server
  // ends it (OK), an error, `on_event` returns false (OK), or Stop (CANCELLED).
  virtual absl::Status Watch(const std::string& path,
                             const std::function<bool(WatchEvent)>& on_event) = 0;

  // Ends every call, now and later, with CANCELLED.
  virtual void Stop() = 0;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_API_CLIENT_H_
