#include "kube/publish/remove_published.h"

#include "absl/time/time.h"
#include "base/status.h"
#include "base/text/problems.h"
#include "kube/publish/metadata_patch.h"
#include "kube/publish/node_conditions.h"
#include "kube/publish/own_node.h"
#include "kube/publish/topology_publication.h"

namespace plimsoll::kube {
namespace {

absl::Status OkIfGone(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::Status RemoveFromNode(OwnNode& node) {
  absl::Status status = node.Read();
  if (!status.ok()) return Annotate(OkIfGone(status), "the Node is left as it is");
  // From the object as it was read: neither patch touches the other's part.
  const nlohmann::json metadata = MetadataPatch(node.object(), {});
  const nlohmann::json conditions = ConditionsPatch(node.object(), {}, absl::InfinitePast());
  if (!metadata.is_null()) {
    status = Annotate(OkIfGone(node.Patch("", "application/merge-patch+json", metadata)),
                      "labels and annotations are left");
  }
  if (conditions.is_null()) return status;
  return AlsoTell(status,
                  Annotate(OkIfGone(node.Patch("/status", "application/strategic-merge-patch+json",
                                               conditions)),
                           "conditions are left"));
}

}  // namespace

absl::Status RemovePublished(ApiClient& client, const std::string& node_name) {
  OwnNode node(client, node_name);
  const absl::Status status = RemoveFromNode(node);
  return AlsoTell(status,
                  Annotate(RemoveTopology(client, node_name), "the NodeResourceTopology is left"));
}

}  // namespace plimsoll::kube
