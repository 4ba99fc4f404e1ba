#include "kube/publish/own_node.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "kube/apiserver/api_path.h"
#include "kube/apiserver/json_fields.h"

namespace plimsoll::kube {

OwnNode::OwnNode(ApiClient& client, std::string name)
    : client_(client),
      name_(std::move(name)),
      path_(absl::StrCat("/api/v1/nodes/", EscapedForUrl(name_))) {}

NodeIdentity OwnNode::identity() const {
  return {.name = name_, .uid = TextOf(node_, {"metadata", "uid"})};
}

absl::Status OwnNode::Read() {
  PLIMSOLL_ASSIGN_OR_RETURN(nlohmann::json answer, client_.Call({.path = path_}));
  return Learn(std::move(answer));
}

absl::Status OwnNode::Patch(absl::string_view part, absl::string_view type,
                            const nlohmann::json& patch) {
  absl::StatusOr<nlohmann::json> answer = client_.Call({.method = "PATCH",
                                                        .path = absl::StrCat(path_, part),
                                                        .body = patch,
                                                        .content_type = std::string(type)});
  if (absl::IsNotFound(answer.status()) || absl::IsAborted(answer.status())) node_ = nullptr;
  PLIMSOLL_RETURN_IF_ERROR(answer.status());
  return Learn(*std::move(answer));
}

absl::Status OwnNode::Learn(nlohmann::json answer) {
  if (TextOf(answer, {"metadata", "name"}) != name_ ||
      TextOf(answer, {"metadata", "uid"}).empty()) {
    node_ = nullptr;
    return absl::UnavailableError(
        absl::StrCat("the answer of the API server for ", path_, " is not this Node"));
  }
  node_ = std::move(answer);
  return absl::OkStatus();
}

}  // namespace plimsoll::kube
