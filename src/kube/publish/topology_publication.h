// The NodeResourceTopology of the own node, kept as plimsolld reports it.
#ifndef PLIMSOLL_KUBE_PUBLISH_TOPOLOGY_PUBLICATION_H_
#define PLIMSOLL_KUBE_PUBLISH_TOPOLOGY_PUBLICATION_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "kube/apiserver/api_client.h"
#include "kube/publish/publication.h"
#include "kube/publish/publish_options.h"

namespace plimsoll::kube {

// Reads the object once, then patches it where it differs, on the condition that it still is the
// version that was read. An object without this program's label is another exporter's and is left
// alone (FAILED_PRECONDITION). UNIMPLEMENTED: the cluster has no such resource.
class TopologyPublication : public Publication {
 public:
  // `client` outlives this. Without options.topology an object of an earlier run is removed, once.
  // `note` gets the reason why a topology can't be written, once.
  TopologyPublication(ApiClient& client, PublishOptions options,
                      std::function<void(const std::string&)> note);
  absl::string_view name() const override { return "the NodeResourceTopology"; }
  absl::StatusOr<bool> Publish(const DesiredNode& desired, OwnNode& node,
                               const Moment& at) override;
  void Forget() override { present_.reset(); }

 private:
  absl::Status Read(const std::string& path);
  absl::StatusOr<bool> Create(const nlohmann::json& wanted);
  absl::StatusOr<bool> Update(const std::string& path, const nlohmann::json& wanted);
  void Learn(nlohmann::json object, const nlohmann::json& wanted);

  ApiClient& client_;
  const PublishOptions options_;
  const std::function<void(const std::string&)> note_;
  std::optional<nlohmann::json> present_;  // nullopt: unknown; null: there is none
  // The server may drop fields that it doesn't know: an object that is still the version of the
  // last write counts as written, however it looks.
  nlohmann::json written_;
  std::string written_version_;
  std::string fault_;  // as last noted
  bool is_removed_ = false;
};

// Removes the node's object if it is this program's. OK where there is none, or another's.
absl::Status RemoveTopology(ApiClient& client, const std::string& node_name);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_TOPOLOGY_PUBLICATION_H_
