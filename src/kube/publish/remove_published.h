// Removal of all that plimsoll-kube has published of a node, when it leaves the node for good.
#ifndef PLIMSOLL_KUBE_PUBLISH_REMOVE_PUBLISHED_H_
#define PLIMSOLL_KUBE_PUBLISH_REMOVE_PUBLISHED_H_

#include <string>

#include "absl/status/status.h"
#include "kube/apiserver/api_client.h"

namespace plimsoll::kube {

// Labels and annotations, conditions, and the NodeResourceTopology; those of others stay. Events
// end by themselves, an hour after they were written by default. The error of one kind doesn't keep
// the others from being removed; the errors are returned together. OK where nothing is left, or the
// Node is gone (whose topology object the cluster removes with it). No publisher of the node may
// run.
absl::Status RemovePublished(ApiClient& client, const std::string& node_name);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_REMOVE_PUBLISHED_H_
