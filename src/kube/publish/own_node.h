// The own Node as the API server has it.
#ifndef PLIMSOLL_KUBE_PUBLISH_OWN_NODE_H_
#define PLIMSOLL_KUBE_PUBLISH_OWN_NODE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kube/apiserver/api_client.h"
#include "kube/publish/topology_object.h"

namespace plimsoll::kube {

// Read once, and then as each answer to a patch has it. Not thread-safe.
class OwnNode {
 public:
  // `client` outlives this.
  OwnNode(ApiClient& client, std::string name);

  bool is_known() const { return !node_.is_null(); }
  const nlohmann::json& object() const { return node_; }
  NodeIdentity identity() const;

  // Errors as the client's. UNAVAILABLE: the answer isn't this Node.
  absl::Status Read();
  // Patches the Node, or its part ("/status"). After NOT_FOUND and ABORTED the Node is unknown.
  absl::Status Patch(absl::string_view part, absl::string_view type, const nlohmann::json& patch);

 private:
  absl::Status Learn(nlohmann::json answer);

  ApiClient& client_;
  const std::string name_;
  const std::string path_;
  nlohmann::json node_;  // null: unknown
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_OWN_NODE_H_
