#include "kube/publish/topology_publication.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "kube/apiserver/api_path.h"
#include "kube/apiserver/json_fields.h"
#include "kube/publish/topology_object.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;

std::string TopologyPath(const std::string& node_name) {
  return absl::StrCat(kTopologiesPath, "/", EscapedForUrl(node_name));
}

}  // namespace

TopologyPublication::TopologyPublication(ApiClient& client, PublishOptions options,
                                         std::function<void(const std::string&)> note)
    : client_(client), options_(std::move(options)), note_(std::move(note)) {}

absl::StatusOr<bool> TopologyPublication::Publish(const DesiredNode& desired, OwnNode& node,
                                                  const Moment&) {
  const NodeIdentity identity = node.identity();
  if (!options_.topology) {
    if (is_removed_) return false;
    const absl::Status status = RemoveTopology(client_, identity.name);
    // A role without these verbs is as it should be for a node that publishes none.
    is_removed_ = status.ok() || absl::IsPermissionDenied(status);
    return is_removed_ ? absl::StatusOr<bool>(false) : status;
  }
  if (desired.report() == nullptr || !desired.report()->topology) return false;
  const absl::StatusOr<json> wanted = TopologyObjectOf(*desired.report(), identity, options_);
  const std::string fault(wanted.status().message());
  if (fault != std::exchange(fault_, fault) && !wanted.ok()) {
    note_(absl::StrCat("the NodeResourceTopology stays as it is: ", fault));
  }
  if (!wanted.ok()) return false;
  const std::string path = TopologyPath(identity.name);
  if (!present_) PLIMSOLL_RETURN_IF_ERROR(Read(path));
  return present_->is_null() ? Create(*wanted) : Update(path, *wanted);
}

absl::Status TopologyPublication::Read(const std::string& path) {
  absl::StatusOr<json> answer = client_.Call({.path = path});
  if (absl::IsNotFound(answer.status())) answer = json();
  PLIMSOLL_RETURN_IF_ERROR(answer.status());
  present_ = *std::move(answer);
  return absl::OkStatus();
}

absl::StatusOr<bool> TopologyPublication::Create(const json& wanted) {
  absl::StatusOr<json> answer =
      client_.Call({.method = "POST", .path = kTopologiesPath, .body = wanted});
  if (answer.ok()) {
    Learn(*std::move(answer), wanted);
    return true;
  }
  present_.reset();
  if (!absl::IsNotFound(answer.status())) return answer.status();
  // The collection is missing, not an object.
  return absl::UnimplementedError(
      "the cluster has no CustomResourceDefinition noderesourcetopologies.topology.node.k8s.io "
      "with version v1alpha2; it comes with scheduler plugins or node-feature-discovery");
}

absl::StatusOr<bool> TopologyPublication::Update(const std::string& path, const json& wanted) {
  if (!IsOwnTopology(*present_)) {
    present_.reset();
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is another exporter's: its label ", kManagedBy, " is not \"", kManager,
                     "\". Delete it and stop that exporter on this node, or set "
                     "publish.topology to false"));
  }
  const std::string version = TextOf(*present_, {"metadata", "resourceVersion"});
  if (!version.empty() && version == written_version_ && wanted == written_) return false;
  const json patch = TopologyPatch(*present_, wanted);
  if (patch.is_null()) {
    Learn(*std::exchange(present_, std::nullopt), wanted);
    return false;
  }
  absl::StatusOr<json> answer = client_.Call({.method = "PATCH",
                                              .path = path,
                                              .body = patch,
                                              .content_type = "application/merge-patch+json"});
  if (!answer.ok()) {
    // Whatever the server has by now: after a lost answer the patch may be done.
    present_.reset();
    return answer.status();
  }
  Learn(*std::move(answer), wanted);
  return true;
}

void TopologyPublication::Learn(json object, const json& wanted) {
  written_version_ = TextOf(object, {"metadata", "resourceVersion"});
  written_ = wanted;
  present_ = std::move(object);
}

absl::Status RemoveTopology(ApiClient& client, const std::string& node_name) {
  const std::string path = TopologyPath(node_name);
  const absl::StatusOr<json> object = client.Call({.path = path});
  if (absl::IsNotFound(object.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(object.status());
  if (!IsOwnTopology(*object)) return absl::OkStatus();
  json options = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  options["preconditions"]["uid"] = TextOf(*object, {"metadata", "uid"});
  const absl::Status status =
      client.Call({.method = "DELETE", .path = path, .body = options}).status();
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

}  // namespace plimsoll::kube
