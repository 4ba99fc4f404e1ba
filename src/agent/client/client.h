// A client of an agent's API at its unix socket.
//
//   AgentClient client({.socket = "/run/plimsoll/agent.sock"});
//   PLIMSOLL_ASSIGN_OR_RETURN(const nlohmann::json pod, client.Get("default", "web"));
#ifndef PLIMSOLL_AGENT_CLIENT_CLIENT_H_
#define PLIMSOLL_AGENT_CLIENT_CLIENT_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/http/socket_path.h"
#include "base/unique_fd.h"

namespace plimsoll::agent {

struct AgentClientOptions {
  std::string socket = kDefaultAgentSocket;  // its path
  // For an answer to begin and to go on; watches wait without an end.
  absl::Duration patience = absl::Minutes(2);
};

// Each call has a connection of its own. Thread-safe.
//
// Errors of every call: those of the agent, with its code and message; UNAVAILABLE with the payload
// of IsNoAgent: nothing listens at the socket; PERMISSION_DENIED with the payload of MayNotConnect:
// this user may not connect; UNAVAILABLE: the connection broke; DEADLINE_EXCEEDED; CANCELLED:
// Abandon was called.
class AgentClient {
 public:
  explicit AgentClient(AgentClientOptions options);
  AgentClient(const AgentClient&) = delete;
  AgentClient& operator=(const AgentClient&) = delete;

  // The pods of the manifest, in its order. `file`: its name in errors.
  absl::StatusOr<std::vector<nlohmann::json>> Apply(absl::string_view manifest,
                                                    const std::string& file = "manifest") const;
  // An empty namespace: all pods.
  absl::StatusOr<std::vector<nlohmann::json>> List(const std::string& pod_namespace) const;
  absl::StatusOr<nlohmann::json> Get(const std::string& pod_namespace,
                                     const std::string& name) const;
  // nullopt: the pod's own grace period. Returns before the pod has ended.
  absl::Status Delete(const std::string& pod_namespace, const std::string& name,
                      std::optional<int64_t> grace_s) const;
  absl::StatusOr<nlohmann::json> Resize(const std::string& pod_namespace, const std::string& name,
                                        const nlohmann::json& patch) const;
  // Calls `change` with "ADDED" and each pod that is there, then with each change ("MODIFIED",
  // "DELETED"). An empty name: all pods of the namespace; an empty namespace: all. OK once `change`
  // returns false; UNAVAILABLE when the agent ends the watch.
  using OnChange = std::function<bool(const std::string& type, const nlohmann::json& pod)>;
  absl::Status Watch(const std::string& pod_namespace, const std::string& name,
                     const OnChange& change) const;

  absl::StatusOr<nlohmann::json> Node() const;
  // The agent's configuration, by the keys of its file. NOT_FOUND: an older agent.
  absl::StatusOr<nlohmann::json> Config() const;
  // Who has which CPUs, memory and devices. NOT_FOUND: an older agent.
  absl::StatusOr<nlohmann::json> Allocations() const;
  const std::string& socket() const { return options_.socket; }
  // Oldest first. Empty strings: of all namespaces; of all pods. A name needs its namespace.
  absl::StatusOr<std::vector<nlohmann::json>> Events(const std::string& pod_namespace,
                                                     const std::string& name) const;
  // The ResourceQuotas of a namespace; an empty one: of all.
  absl::StatusOr<std::vector<nlohmann::json>> Quotas(const std::string& pod_namespace) const;

  // Waits between calls. CANCELLED as soon as Abandon was called.
  absl::Status Rest(absl::Duration time) const;
  // Ends all calls, now and later.
  void Abandon() const;

 private:
  using Query = std::vector<std::pair<std::string, std::string>>;
  struct Call {
    std::string method;
    std::vector<std::string> path;
    Query query = {};
    std::string body_type = {};
    absl::string_view body = {};
  };
  // Gives `take` the body's pieces of a successful response, until it returns false.
  using Take = std::function<bool(std::string piece)>;
  absl::Status Run(const Call& call, absl::Duration patience, const Take& take) const;
  absl::StatusOr<nlohmann::json> Ask(const Call& call) const;
  absl::StatusOr<std::vector<nlohmann::json>> AskForList(const Call& call) const;

  const AgentClientOptions options_;
  const UniqueFd stop_;  // eventfd
};

// True: no agent listens at the socket.
bool IsNoAgent(const absl::Status& status);
// True: the kernel refuses this user the socket. False for a PERMISSION_DENIED of the agent's own.
bool MayNotConnect(const absl::Status& status);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_CLIENT_CLIENT_H_
